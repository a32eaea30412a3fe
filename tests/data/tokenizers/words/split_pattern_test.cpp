// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/words/split_pattern.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/seeds.h"

namespace twill {
namespace {

// PCRE2 is the judge of the scanner: at every place of the text.
void expect_equal_matches(const std::string& text, SplitPattern::Matcher& judge) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    const std::size_t length = gpt2_ascii_match(text, at);
    if (length == 0) continue;
    const SplitPattern::Found found = judge.find(text, at);
    ASSERT_EQ(found.begin, at) << testing::PrintToString(text);
    ASSERT_EQ(found.end - at, length) << testing::PrintToString(text) << " at " << at;
  }
}

TEST(Gpt2AsciiMatch, EqualsPcreOnAllTriples) {
  const SplitPattern pattern(kGpt2Pattern);
  SplitPattern::Matcher judge(pattern);
  for (int a = 0; a < 128; ++a)
    for (int b = 0; b < 128; ++b)
      for (const char c : {'s', 'l', ' ', '\n', '1', '.', '\'', '\x1c'})
        expect_equal_matches({static_cast<char>(a), static_cast<char>(b), c}, judge);
}

TEST(Gpt2AsciiMatch, EqualsPcreOnRandomTexts) {
  SCOPED_TRACE(seed_note());
  const SplitPattern pattern(kGpt2Pattern);
  SplitPattern::Matcher judge(pattern);
  const std::vector<std::string> pieces = {
      "a",   "Z", "0", " ",  "  ",     "\n",   "\t",     "\r\n", ".",  "'s", "'ll",
      "'re", "'", "é", "中", "\u00a0", "🙂", "\u0301", "\x1c", "\v", "²",  "\u180e"};
  Random random;
  const Values picks = random.integers(60000, 0, std::ssize(pieces) - 1);
  for (std::size_t i = 0; i + 12 <= picks.size(); i += 12) {
    std::string text;
    for (std::size_t j = i; j < i + 12; ++j) text += pieces[static_cast<std::size_t>(picks[j])];
    expect_equal_matches(text, judge);
  }
}

TEST(SplitPattern, LongRunsStayQuick) {
  const SplitPattern pattern(kGpt2Pattern);
  SplitPattern::Matcher matcher(pattern);
  std::string text = std::string(1 << 20, ' ') + "x";
  EXPECT_EQ(matcher.find(text, 0).end, (1u << 20) - 1);
  EXPECT_EQ(gpt2_ascii_match(text, 0), (1u << 20) - 1);
}

TEST(SplitPattern, SpacesAreThoseOfUnicode) {
  const SplitPattern pattern(R"(\s+)");
  SplitPattern::Matcher matcher(pattern);
  const std::string text = "a\u180eb";  // a space for PCRE2, not for Unicode since 6.3
  EXPECT_EQ(matcher.find(text, 0).begin, text.size());
  EXPECT_EQ(matcher.find("a\u00a0", 0).begin, 1u);
}

TEST(SplitPattern, LettersOfUnicode16) {
  const SplitPattern pattern(R"(\p{L}+|[^\p{L}]+)");
  SplitPattern::Matcher matcher(pattern);
  EXPECT_EQ(matcher.find("a\U00013542!", 0).end, 5u);
}

TEST(SplitPattern, RefusesWhatIsNoExpression) {
  expect_error([] { SplitPattern("(a"); }, "the splitting pattern is no regular expression");
  expect_error([] { SplitPattern("\\C"); }, "the splitting pattern is no regular expression");
}

TEST(SplitPattern, GivesUpOnEndlessBacktracking) {
  const SplitPattern pattern("(a+)+$|b");
  SplitPattern::Matcher matcher(pattern);
  expect_error([&] { matcher.find(std::string(64, 'a') + "!", 0); },
               "the splitting pattern gave up at byte 0");
}

}  // namespace
}  // namespace twill
