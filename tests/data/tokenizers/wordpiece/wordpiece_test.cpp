// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/wordpiece/wordpiece.h"

#include <gtest/gtest.h>

#include "data/tokenizers/files/tokenizer_json.h"
#include "support/expect_error.h"

namespace twill {
namespace {

constexpr const char* kVocab =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\ncafe\n,\n中\n";

TEST(WordPiece, LongestPiecesFirst) {
  const auto tokenizer = wordpiece_tokenizer(kVocab);
  EXPECT_EQ(tokenizer->encode("UNaffable,cafe\u0301 Café"),
            (std::vector<std::int32_t>{5, 6, 7, 9, 8, 8}));
  EXPECT_EQ(tokenizer->encode("unknown"), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(tokenizer->encode("un中un"), (std::vector<std::int32_t>{5, 10, 5}));
  EXPECT_EQ(tokenizer->encode("un[MASK]un[mask]"), (std::vector<std::int32_t>{5, 4, 5, 1, 1, 1}));
  EXPECT_EQ(tokenizer->end_of_text(), 3);
  EXPECT_EQ(tokenizer->begin_of_text(), 2);
}

TEST(WordPiece, InvalidBytesVanish) {
  const auto tokenizer = wordpiece_tokenizer(kVocab);
  // U+FFFD is dropped by the cleaning, as in Hugging Face's tokenizers.
  EXPECT_EQ(tokenizer->encode("un\xFF\xE4\xB8 un"), (std::vector<std::int32_t>{5, 5}));
}

TEST(WordPiece, DecodeJoinsPiecesAndPunctuation) {
  const auto tokenizer = wordpiece_tokenizer(kVocab);
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{5, 6, 7, 9, 8, 8}), "unaffable, cafe cafe");
  expect_error([&] { tokenizer->decode(std::vector<std::int32_t>{11}); },
               "[wordpiece tokenizer] id 11 is outside 0 to 10");
}

TEST(WordPiece, ItsFilesReadBackAsItself) {
  const auto tokenizer = wordpiece_tokenizer(kVocab);
  const auto again = parse_tokenizer_json(tokenizer->files()[0].content);
  for (const char* text : {"UNaffable,cafe\u0301", "[SEP]un, 中", "x"})
    EXPECT_EQ(again->encode(text), tokenizer->encode(text)) << text;
  EXPECT_EQ(tokenizer->files()[2].content, kVocab);
}

TEST(WordPiece, RefusesBadVocabularies) {
  expect_error([] { wordpiece_tokenizer("[UNK]\n\xFF\n"); },
               "line 2: the token is not valid UTF-8");
  expect_error([] { wordpiece_tokenizer("a\nb\n"); }, "the vocabulary has no [UNK]");
  expect_error([] { wordpiece_tokenizer(""); }, "the vocabulary has no tokens");
  expect_error([] { wordpiece_tokenizer("[UNK]\na\na\n"); }, "token 'a' has two ids, 1 and 2");
}

}  // namespace
}  // namespace twill
