// SPDX-License-Identifier: Apache-2.0
#include <ctime>
#include <limits>

#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "data/tokenizers/bpe/byte_level.h"
#include "data/tokenizers/bpe/merges.h"
#include "data/tokenizers/files/bpe_files.h"
#include "data/tokenizers/files/tiktoken_models.h"
#include "data/tokenizers/files/tokenizer_json.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/temp_dir.h"
#include "support/seeds.h"

namespace twill {
namespace {

const std::string kSmall = TWILL_SOURCE_DIR "/tests/golden/small_bpe";

std::string random_bytes(std::int64_t count) {
  Random random;
  std::string text;
  for (const double value : random.integers(count, 0, 255)) text += static_cast<char>(value);
  return text;
}

TEST(ByteLevelBpe, AnyBytesComeBack) {
  SCOPED_TRACE(seed_note());
  const auto tokenizer = open_tokenizer(kSmall);
  const std::string text = random_bytes(20000);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(ByteLevelBpe, AnInvalidByteIsASymbol) {
  const auto tokenizer = open_tokenizer(kSmall);
  // "'s" is a contraction only where a word begins: behind a symbol the apostrophe belongs to it.
  const auto after_invalid = tokenizer->encode("\xFF's");
  const auto after_symbol = tokenizer->encode("\x01's");
  ASSERT_EQ(after_invalid.size(), after_symbol.size());
  EXPECT_TRUE(std::equal(after_invalid.begin() + 1, after_invalid.end(), after_symbol.begin() + 1));
}

TEST(ByteLevelBpe, SpecialTokensAreFoundInTheText) {
  const auto tokenizer = open_tokenizer(kSmall);
  ASSERT_EQ(tokenizer->end_of_text(), 999);
  EXPECT_EQ(tokenizer->vocab_size(), 1000);
  EXPECT_EQ(tokenizer->encode("<|endoftext|><|endoftext|>"), (std::vector<std::int32_t>{999, 999}));
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{999}), "<|endoftext|>");
}

TEST(ByteLevelBpe, ItsFilesReadBackAsItself) {
  const auto tokenizer = open_tokenizer(kSmall);
  const TempDir folder;
  for (const TokenizerFile& file : tokenizer->files()) write_file(folder / file.name, file.content);
  const auto again = open_tokenizer(folder / "tokenizer.json");
  const std::string text = read_file(TWILL_SOURCE_DIR "/assets/corpus.txt").substr(0, 50000);
  EXPECT_EQ(again->encode(text), tokenizer->encode(text));
  // What came from a tokenizer.json leaves as it came.
  EXPECT_EQ(again->files()[0].content, tokenizer->files()[0].content);
  EXPECT_EQ(again->hash(), open_tokenizer(folder / "tokenizer.json")->hash());
}

// The least CPU seconds of this thread over three encodings of one long word.
double seconds_of_word(const Tokenizer& tokenizer, std::size_t bytes) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const std::string text(bytes, 'a');
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = now();
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    least = std::min(least, now() - start);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  return least;
}

// Four times the bytes take 4.4 times the time where it grows with n log n, 16 times where it grows
// with n²: the bound stands between them.
TEST(ByteLevelBpe, TheTimeOfOneLongWordDoesNotGrowWithItsSquare) {
  const auto tokenizer = open_tokenizer(kSmall);
  const double once = seconds_of_word(*tokenizer, 1 << 16);
  EXPECT_LT(seconds_of_word(*tokenizer, 4 << 16), 8.5 * once);
}

TEST(ByteLevelBpe, OneWordOfAMegabyteComesBack) {
  const auto tokenizer = open_tokenizer(kSmall);
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(ByteLevelBpe, TiktokenRanksBecomeMerges) {
  // "ab" joins before "bc", "abc" from "ab" and "c".
  const auto ids =
      tiktoken_tokenizer("YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nYmM= 4\nYWJj 5\n", "x.tiktoken");
  EXPECT_EQ(ids->encode("abc"), (std::vector<std::int32_t>{5}));
  EXPECT_EQ(ids->encode("bc"), (std::vector<std::int32_t>{4}));
  EXPECT_EQ(ids->encode("abca"), (std::vector<std::int32_t>{5, 0}));
  EXPECT_EQ(ids->end_of_text(), 6);
}

// Words of 30 symbols take the scan, those of 60 the heap.
TEST(Merger, EqualsTheDefinition) {
  SCOPED_TRACE(seed_note());
  std::vector<MergeRule> rules;
  for (std::int32_t left = 0; left < 20; ++left)
    for (std::int32_t right = 0; right < 20; ++right)
      if ((left * 7 + right * 13) % 5 == 0) rules.push_back({left, right, (left * 3 + right) % 40});
  const MergeTable table(rules);
  Merger merger(table);
  Random random;
  const Values picks = random.integers(200 * 60, 0, 19);
  for (std::size_t word = 0; word < 200; ++word) {
    std::vector<std::int32_t> symbols;
    for (std::size_t i = 0; i < (word % 2 == 0 ? 30u : 60u); ++i)
      symbols.push_back(static_cast<std::int32_t>(picks[word * 60 + i]));
    std::vector<std::int32_t> expected = symbols;
    while (true) {  // the definition
      std::size_t best = 0;
      std::uint32_t rank = MergeTable::kNone;
      for (std::size_t i = 0; i + 1 < expected.size(); ++i) {
        const std::uint32_t here = table.find(expected[i], expected[i + 1]).rank;
        if (here < rank) rank = here, best = i;
      }
      if (rank == MergeTable::kNone) break;
      expected[best] = table.find(expected[best], expected[best + 1]).result;
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    merger.merge(symbols);
    EXPECT_EQ(symbols, expected);
  }
}

std::string small_json(const std::string& pre_tokenizer, const std::string& model_flags = "") {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab += to_json_line(byte_characters()[static_cast<std::size_t>(byte)]) + ":" +
             std::to_string(byte) + ",";
  return R"({"added_tokens":[{"id":300,"content":"<x>","special":true},{"id":301,"content":"<x>y",)"
         R"("special":true,"rstrip":true,"lstrip":true}],"normalizer":null,"pre_tokenizer":)" +
         pre_tokenizer + R"(,"model":{"type":"BPE",)" + model_flags + R"("vocab":{)" + vocab +
         R"("ab":256,"abc":257,"Ġa":258},"merges":["a b",["Ġ","a"]]}})";
}

TEST(TokenizerJson, LongestAddedTokenWinsAndStrips) {
  const auto tokenizer =
      parse_tokenizer_json(small_json(R"({"type":"ByteLevel","add_prefix_space":false})"));
  EXPECT_EQ(tokenizer->encode("a<x>b"), (std::vector<std::int32_t>{'a', 300, 'b'}));
  EXPECT_EQ(tokenizer->encode("a  <x>y \n b"), (std::vector<std::int32_t>{'a', 301, 'b'}));
  EXPECT_EQ(tokenizer->vocab_size(), 302);
}

TEST(TokenizerJson, PrefixSpaceAndIgnoreMerges) {
  const auto prefixed =
      parse_tokenizer_json(small_json(R"({"type":"ByteLevel","add_prefix_space":true})"));
  EXPECT_EQ(prefixed->encode("a"), (std::vector<std::int32_t>{258}));
  const auto whole = parse_tokenizer_json(
      small_json(R"({"type":"ByteLevel","add_prefix_space":false})", R"("ignore_merges":true,)"));
  EXPECT_EQ(whole->encode("abc"), (std::vector<std::int32_t>{257}));
  EXPECT_EQ(whole->encode("abcd"), (std::vector<std::int32_t>{256, 'c', 'd'}));
}

TEST(TokenizerJson, SplitSequenceCutsByItsPattern) {
  const auto tokenizer = parse_tokenizer_json(small_json(
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"a"},"behavior":)"
      R"("Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})"));
  EXPECT_EQ(tokenizer->encode("ab"), (std::vector<std::int32_t>{'a', 'b'}));
}

}  // namespace
}  // namespace twill
