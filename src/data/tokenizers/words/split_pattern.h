// SPDX-License-Identifier: Apache-2.0
// The regular expressions that cut a text into words before BPE. PCRE2 stays in split_pattern.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizers/words/known_patterns.h"

namespace twill {

// Compiled once; used by any number of threads, each with its own Matcher.
class SplitPattern {
 public:
  // Throws twill::Error when the expression is none.
  explicit SplitPattern(std::string_view expression);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;
  SplitPattern& operator=(SplitPattern&&) noexcept;

  const std::string& expression() const { return expression_; }

  struct Found {
    std::size_t begin;
    std::size_t end;  // begin == end: none
  };

  class Matcher {
   public:
    explicit Matcher(const SplitPattern& pattern);
    ~Matcher();
    Matcher(Matcher&&) noexcept;
    // The first match at or after `from`; empty matches are passed over. The text is valid UTF-8.
    Found find(std::string_view text, std::size_t from);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  std::string expression_;
  std::unique_ptr<Code> code_;
};

// The length of the match of kGpt2Pattern at text[at], found without PCRE2; 0 when a character
// outside ASCII may have a say in it. tests/data/tokenizers/words/split_pattern_test.cpp holds it equal to
// PCRE2.
std::size_t gpt2_ascii_match(std::string_view text, std::size_t at);

// Cuts a text by kGpt2Pattern. One per thread.
class Gpt2Splitter {
 public:
  explicit Gpt2Splitter(const SplitPattern& pattern) : matcher_(pattern) {}

  // The length of the word at text[at]. The text is valid UTF-8.
  std::size_t word_length(std::string_view text, std::size_t at) {
    const std::size_t length = gpt2_ascii_match(text, at);
    // The pattern matches at every place of every text, so a match begins where it is looked for.
    return length != 0 ? length : matcher_.find(text, at).end - at;
  }

 private:
  SplitPattern::Matcher matcher_;
};

// What a pattern sees of a text that is not valid UTF-8: each invalid byte is a control character, so
// a symbol. As long as the text.
std::string with_invalid_bytes_marked(std::string_view text);

}  // namespace twill
