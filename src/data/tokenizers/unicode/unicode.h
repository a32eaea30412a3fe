// SPDX-License-Identifier: Apache-2.0
// What Unicode says of a character. utf8proc stays in unicode.cpp.
#pragma once

#include <string>
#include <string_view>

namespace twill {

bool is_white_space(char32_t c);     // the property White_Space
bool is_word_character(char32_t c);  // letters, marks, digits, connectors: \w

// As the normalizer of bert-base-uncased sees characters; see docs/tokenizers.md for the versions of
// Unicode it follows.
bool is_bert_control(char32_t c);
bool is_bert_punctuation(char32_t c);
bool is_nonspacing_mark(char32_t c);
bool is_cjk(char32_t c);

// The text is valid UTF-8.
std::string canonical_decomposition(std::string_view text);  // NFD
std::string canonical_composition(std::string_view text);    // NFC
// Appends the lower-case form of one character: one or more characters, whatever stands around it.
void append_lower_case(std::string& text, char32_t c);

}  // namespace twill
