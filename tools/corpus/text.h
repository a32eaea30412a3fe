// SPDX-License-Identifier: Apache-2.0
// Small helpers for English text: plurals, number words, articles and capitals.
#pragma once

#include <string>
#include <string_view>

namespace twill_corpus {

std::string capitalize(std::string_view text);
std::string plural(std::string_view noun);

// "forty-two" for 42; valid for 0 to 999.
std::string number_word(int n);

// "The Miller and the Key": small words stay small unless they come first.
std::string title_case(std::string_view text);

// Turns the marker "@" into "a" or "an" and starts every sentence with a capital letter.
std::string polish(std::string_view text);

}  // namespace twill_corpus
