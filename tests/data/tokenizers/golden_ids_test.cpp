// SPDX-License-Identifier: Apache-2.0
// Ids that Hugging Face's tokenizers 0.23.3 gave for some 300 hard strings.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"

namespace twill {
namespace {

struct Golden {
  const char* file;
  const char* tokenizer;
  bool in_data;  // of $TWILL_DATA; else of tests/golden
};

std::string path_of(const Golden& golden) {
  if (!golden.in_data) return std::string(TWILL_SOURCE_DIR "/tests/golden/") + golden.tokenizer;
  const char* given = std::getenv("TWILL_DATA");
  const std::string data = given ? given : TWILL_SOURCE_DIR "/../shared/data";
  return data + "/" + golden.tokenizer;
}

class GoldenIds : public testing::TestWithParam<Golden> {};

TEST_P(GoldenIds, AreEqual) {
  const std::string path = path_of(GetParam());
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "TWILL_DATA has no " << GetParam().tokenizer;
  const auto tokenizer = open_tokenizer(path);
  const auto encoder = tokenizer->make_encoder();
  const std::string lines =
      read_file(std::string(TWILL_SOURCE_DIR "/tests/golden/") + GetParam().file);
  std::string_view rest = lines;
  int count = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const JsonValue entry = parse_json_value(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    std::vector<std::int32_t> expected;
    for (const JsonValue& id : *entry.find("ids")->array())
      expected.push_back(static_cast<std::int32_t>(*id.integer()));
    std::vector<std::int32_t> got;
    encoder->encode(*entry.find("text")->text(), got);
    EXPECT_EQ(got, expected) << to_json_line(entry);
    ++count;
  }
  EXPECT_GT(count, 300);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenIds,
    testing::Values(Golden{"tokenizer_gpt2.jsonl", "gpt2-bpe/tokenizer.json", true},
                    Golden{"tokenizer_gpt2.jsonl", "gpt2-bpe/encoder.json", true},
                    Golden{"tokenizer_bert.jsonl", "bert-vocab/vocab.txt", true},
                    Golden{"tokenizer_small_bpe.jsonl", "small_bpe", false},
                    Golden{"tokenizer_small_wordpiece.jsonl", "small_wordpiece", false}),
    [](const auto& instance) { return "Number" + std::to_string(instance.index); });

}  // namespace
}  // namespace twill
