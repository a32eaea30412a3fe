// SPDX-License-Identifier: Apache-2.0
#include "data/parallel_encode.h"

#include <gtest/gtest.h>

#include "data/tokenizers/files/llama2c_file.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/seeds.h"

namespace twill {
namespace {

const std::string kGolden = TWILL_SOURCE_DIR "/tests/golden/";

std::string long_text() {
  const std::string corpus = read_file(TWILL_SOURCE_DIR "/assets/corpus.txt");
  return corpus.substr(0, 300000) + "<|endoftext|>[SEP]\xFF  中文 é\u0301 \n\n" +
         std::string(200000, 'x') + corpus.substr(300000);
}

class AnyTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(AnyTokenizer, ThreadsAndPiecesChangeNothing) {
  const auto tokenizer = open_tokenizer(GetParam());
  const std::string text = long_text();
  const std::vector<std::int32_t> expected = tokenizer->encode(text);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<std::int32_t> ids;
    ParallelEncoder(*tokenizer, pool).encode(text, ids);
    EXPECT_EQ(ids, expected) << threads << " threads";
    ids.clear();
    StreamEncoder stream(*tokenizer, pool);
    for (std::size_t at = 0; at < text.size(); at += 99991)
      stream.feed(std::string_view(text).substr(at, 99991), ids);
    stream.finish(ids);
    EXPECT_EQ(ids, expected) << threads << " threads, streamed";
  }
}

TEST_P(AnyTokenizer, EveryCutIsOne) {
  SCOPED_TRACE(seed_note());
  const auto tokenizer = open_tokenizer(GetParam());
  const std::vector<std::string> pieces = {
      "a",     "é",   " ",  "  ",    "\n", "12", ".", "'s", "中", "\xFF", "<|endoftext|>",
      "[SEP]", "the", "\t", "\u2581"};
  Random random;
  const Values picks = random.integers(4000, 0, std::ssize(pieces) - 1);
  const auto encoder = tokenizer->make_encoder();
  for (std::size_t i = 0; i + 10 <= picks.size(); i += 10) {
    std::string text;
    for (std::size_t j = i; j < i + 10; ++j) text += pieces[static_cast<std::size_t>(picks[j])];
    const std::vector<std::int32_t> expected = tokenizer->encode(text);
    for (std::size_t limit = 1; limit <= text.size(); ++limit) {
      // What stands behind the cut is not known to find_cut().
      const std::size_t cut = tokenizer->find_cut(std::string_view(text).substr(0, limit), limit);
      ASSERT_LE(cut, limit);
      if (cut == 0) continue;
      std::vector<std::int32_t> ids;
      encoder->encode(text.substr(0, cut), ids);
      encoder->encode_rest(text.substr(cut), ids);
      ASSERT_EQ(ids, expected) << testing::PrintToString(text) << " cut at " << cut;
    }
  }
}

TEST_P(AnyTokenizer, DecodingOneByOneIsDecoding) {
  const auto tokenizer = open_tokenizer(GetParam());
  const std::vector<std::int32_t> ids =
      tokenizer->encode("One day, 中文 é🙂 \n it's  \xFF<|endoftext|> [SEP] end.");
  StreamDecoder decoder(*tokenizer);
  std::string text;
  for (const std::int32_t id : ids) text += decoder.push(id);
  text += decoder.flush();
  EXPECT_EQ(text, tokenizer->decode(ids));
}

INSTANTIATE_TEST_SUITE_P(
    All, AnyTokenizer, testing::Values("byte", kGolden + "small_bpe", kGolden + "small_wordpiece"),
    [](const auto& instance) { return "Number" + std::to_string(instance.index); });

TEST(StreamDecoder, HoldsBackHalfACharacter) {
  const auto tokenizer = open_tokenizer("byte");
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.push(0xA9), "é");
  EXPECT_EQ(decoder.push(0xF0), "");
  expect_error([&] { decoder.push(256); }, "id 256 is outside 0 to 255");
  EXPECT_EQ(decoder.flush(), "\xF0");
}

}  // namespace
}  // namespace twill
