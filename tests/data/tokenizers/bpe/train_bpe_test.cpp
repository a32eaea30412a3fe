// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/train_bpe.h"

#include <gtest/gtest.h>

#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"

namespace twill {
namespace {

std::string merges_of(const Tokenizer& tokenizer) { return tokenizer.files()[3].content; }

TEST(CountWords, AnyNumberOfThreadsAgrees) {
  const std::string text = read_file(TWILL_SOURCE_DIR "/assets/corpus.txt") + "<|endoftext|>x\xFF";
  ThreadPool one(1);
  ThreadPool three(3);
  const auto expected = count_words(text, one);
  const auto got = count_words(text, three);
  ASSERT_EQ(got.size(), expected.size());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].word, expected[i].word);
    EXPECT_EQ(got[i].count, expected[i].count);
    bytes += got[i].count * std::ssize(got[i].word);
  }
  EXPECT_EQ(bytes, std::ssize(text) - 13);  // without <|endoftext|>
}

TEST(TrainBpe, TakesTheCommonestPairAndTheLowerIds) {
  // "ab" 5 times, "cd" 5 times: a tie, and "ab" has the lower ids. Then "abc" of what is left.
  const auto tokenizer = train_bpe({{"ab", 2}, {"abc", 3}, {"cd", 5}}, {260, 2});
  EXPECT_EQ(merges_of(*tokenizer), "#version: 0.2\na b\nc d\nab c\n");
  EXPECT_EQ(tokenizer->vocab_size(), 260);
  EXPECT_EQ(tokenizer->end_of_text(), 259);
}

TEST(TrainBpe, CountsOverlapsAnew) {
  // "aaaa": (a, a) three times; after the join "aa aa".
  const auto tokenizer = train_bpe({{"aaaa", 4}}, {300, 2});
  EXPECT_EQ(merges_of(*tokenizer), "#version: 0.2\na a\naa aa\n");
}

TEST(TrainBpe, EndsWhereNoPairIsCommonEnough) {
  const auto tokenizer = train_bpe({{"ab", 1}, {"cd", 2}}, {300, 2});
  EXPECT_EQ(tokenizer->vocab_size(), 258);
  expect_error([] { train_bpe({}, {256, 2}); }, "a vocabulary of 256 tokens is out of range");
}

// What tests/golden/small_bpe was made by; Hugging Face's trainer gives the same merges.
TEST(TrainBpe, OwnCorpusGivesTheGoldenMerges) {
  ThreadPool pool(2);
  const auto words = count_words(read_file(TWILL_SOURCE_DIR "/assets/corpus.txt"), pool);
  const auto tokenizer = train_bpe(words, {1000, 2});
  EXPECT_EQ(merges_of(*tokenizer),
            read_file(TWILL_SOURCE_DIR "/tests/golden/small_bpe/merges.txt"));
}

}  // namespace
}  // namespace twill
