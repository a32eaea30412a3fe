// SPDX-License-Identifier: Apache-2.0
// twill export, import and verify, from outside.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>

#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/json/json_value.h"
#include "io/temp_dir.h"
#include "io/tensors/safetensors.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

class ExchangeCommand : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments) const {
    return run_twill(arguments, {.folder = dir_.path()});
  }
  void expect_done(const std::vector<std::string>& arguments, const std::string& part) const {
    const ProcessResult result = twill(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << result.out;
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const ProcessResult result = twill(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
  TempDir dir_;
};

TEST_F(ExchangeCommand, VerifyTellsMastersFromDeployedWeights) {
  std::vector<std::string> words{"train"};
  for (const std::string& setting : tiny_settings({"run.name=soft", "recipe=s-ste"}))
    words.push_back(setting);
  ASSERT_EQ(twill(words).exit_code, 0);
  const ProcessResult run = twill({"verify", "soft", "--json", "out.json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  expect_contains(run.out, "masters: the weights that the optimizer changes");
  EXPECT_TRUE(std::regex_search(
      run.out, std::regex("blocks.0.ffn.input.weight .* dense +0\\.[45]\\d* +2:4 along in\\n")))
      << run.out;
  EXPECT_TRUE(
      std::regex_search(run.out, std::regex("blocks.0.attention.qkv.weight .* dense .* dense")))
      << run.out;
  std::ifstream file(dir_ / "out.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  expect_contains(text, "\"deployed\"");
  // What is deployed is what is exported.
  ASSERT_EQ(twill({"export", "soft", "hf"}).exit_code, 0);
  expect_contains(twill({"verify", "hf"}).out, "2:4 along in");
}

TEST_F(ExchangeCommand, ExportImportVerify) {
  std::vector<std::string> words{"train"};
  for (const std::string& setting : tiny_settings({"run.name=first"})) words.push_back(setting);
  ASSERT_EQ(twill(words).exit_code, 0);
  expect_done({"export", "first", "--to", "hf", "out"},
              "AutoModelForCausalLM.from_pretrained(\"out\")");
  expect_done({"export", "first", "out", "--dtype", "bf16"}, "wrote       out/model.safetensors");
  expect_done({"export", "first", "shards", "--max-shard-bytes", "5000"},
              "wrote       shards/model.safetensors.index.json");
  expect_done({"import", "shards", "--name", "second"}, "tokenizer   byte, 256 tokens");
  expect_done({"eval", "second", "eval.windows=4"}, "val_loss");
  expect_done({"sample", "second", "--tokens", "5"}, "\n");
  for (const char* what : {"first", "second", "shards", "out/model.safetensors"})
    expect_done({"verify", what}, "checksum good");
  EXPECT_EQ(SafetensorsFile(dir_ / "out/model.safetensors").entries()[0].dtype_name, "BF16");
  expect_refused({"train", "--resume", "second"}, "has no optimizer state to resume");
  expect_refused({"export", "first", "runs"}, "runs is not empty and not an export of Twill's");
  expect_refused({"import", "nowhere"}, "nowhere");
  expect_refused({"verify", "nowhere"}, "nowhere");
  expect_refused({"export", "nowhere", "x"}, "no model named nowhere");
  dir_.write("model.pt", "PK\x03\x04");
  expect_refused({"import", "model.pt"}, "a pickled file can run any code");
}

// A file of Twill's says itself what it is, inside a run and outside.
TEST_F(ExchangeCommand, AModelFileOfTwillsIsAModel) {
  std::vector<std::string> words{"train"};
  for (const std::string& setting : tiny_settings({"run.name=first"})) words.push_back(setting);
  ASSERT_EQ(twill(words).exit_code, 0);
  const std::string inside = "runs/first/checkpoints/step-00000012/model.safetensors";
  expect_done({"sample", inside, "--tokens", "5"}, "\n");
  expect_done({"eval", inside}, "step           12\n");
  expect_done({"export", inside, "out"}, "wrote       out/model.safetensors");
  dir_.write("alone/my.safetensors", content_of(dir_ / inside));
  const std::string alone = "alone/my.safetensors";
  expect_refused({"sample", alone}, "no tokenizer lies beside it");
  expect_done({"import", alone, "--name", "second", "--tokenizer", "byte"}, "(Twill)");
  dir_.write("alone/tokenizer.json", content_of(dir_ / "out/tokenizer.json"));
  expect_done({"sample", alone, "--tokens", "5"}, "\n");
  expect_done({"export", alone, "again"}, "wrote       again/model.safetensors");
  EXPECT_EQ(content_of(dir_ / "again/model.safetensors"),
            content_of(dir_ / "out/model.safetensors"));
  dir_.write("text.txt", "A text to be measured on.");
  expect_done({"eval", alone, "--text", "text.txt"}, "text.txt");
  expect_refused({"eval", alone}, "is no run of ours");
  expect_done({"train", "train.start_from=" + alone, "train.steps=1", "train.micro_batch=4"},
              "step");
}

TEST_F(ExchangeCommand, VerifyNamesPatterns) {
  std::vector<float> half(64), dense(64, 1.0f);
  for (std::size_t i = 0; i < half.size(); ++i) half[i] = i % 4 < 2 ? 1.0f : 0.0f;
  dense[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<TensorEntry> tensors{
      {"h.0.mlp.c_fc.weight", view_of(half.data(), Shape{8, 8})},
      {"layers.0.mlp.up_proj.weight", view_of(half.data(), Shape{8, 8})},
      {"other", view_of(dense.data(), Shape{8, 8})},
      {"vector", view_of(dense.data(), Shape{64})}};
  write_safetensors(dir_ / "m.safetensors", tensors, {});
  const ProcessResult result = twill({"verify", "m.safetensors", "--json", "m.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line : {"h.0.mlp.c_fc.weight          (8, 8)  F32     0.5000  2:4 along out\n",
                           "layers.0.mlp.up_proj.weight  (8, 8)  F32     0.5000  2:4 along in\n",
                           "other                        (8, 8)  F32     1.0000  dense\n",
                           "other: 1 values are not finite\n",
                           "4 tensors, 1 of them no matrices; 2 values are not finite\n"})
    EXPECT_NE(result.out.find(line), std::string::npos) << line << "\ngot:\n" << result.out;
  const JsonValue json = parse_json_value(content_of(dir_ / "m.json"));
  const JsonValue& first = json.find("tensors")->array()->at(0);
  EXPECT_EQ(*first.find("along_rows")->find("2:4"), JsonValue(true));
  EXPECT_EQ(*first.find("input_axis"), JsonValue("rows"));

  std::string bytes = content_of(dir_ / "m.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  dir_.write("m.safetensors", bytes);
  expect_refused({"verify", "m.safetensors"}, "checksum mismatch: the file is damaged");
}

}  // namespace
}  // namespace twill
