// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/unicode/utf8.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

TEST(Utf8, EveryCodePointSurvives) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const Utf8Char read = utf8_at(text, 0);
    ASSERT_TRUE(read.valid && read.value == c && read.bytes == text.size())
        << static_cast<unsigned>(c);
    ASSERT_TRUE(is_valid_utf8(text));
    ASSERT_EQ(utf8_before("x" + text, 1 + text.size()), 1u);
  }
}

// The examples of the Unicode Standard, section 3.9, table 3-8 and its neighbours.
TEST(Utf8, LongestInvalidSequencesBecomeOne) {
  EXPECT_EQ(with_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(with_valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(with_valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(with_valid_utf8("\xF4\x91\x92\x93\xFF"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(with_valid_utf8("valid é"), "valid é");
}

TEST(Utf8, KnowsWhatMayStillBecomeWhole) {
  EXPECT_EQ(incomplete_utf8_at_end("a\xE4\xB8"), 2u);
  EXPECT_EQ(incomplete_utf8_at_end("a\xF0\x9F\x99"), 3u);
  EXPECT_EQ(incomplete_utf8_at_end("é"), 0u);
  EXPECT_EQ(incomplete_utf8_at_end("\xFF"), 0u);
  EXPECT_EQ(incomplete_utf8_at_end("\xED\xA0"), 0u);  // a surrogate never is
}

}  // namespace
}  // namespace twill
