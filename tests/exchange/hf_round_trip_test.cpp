// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gtest/gtest.h>

#include "base/bf16.h"
#include "data/byte_tokenizer.h"
#include "exchange/hf_export.h"
#include "exchange/memory_model.h"
#include "exchange/source_tokenizer.h"
#include "io/json/json_value.h"
#include "io/temp_dir.h"
#include "io/tensors/safetensors.h"
#include "models/initialise.h"
#include "models/tiny_models.h"
#include "support/expect_error.h"
#include "support/seeds.h"

namespace twill {
namespace {

// Of five tokens: the tiny models have a vocabulary of eleven.
class TinyTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "tiny"; }
  std::int64_t vocab_size() const override { return 5; }
  std::unique_ptr<TokenEncoder> make_encoder() const override { return nullptr; }
  std::string decode(std::span<const std::int32_t>) const override { return {}; }
  std::size_t find_cut(std::string_view, std::size_t) const override { return 0; }
  std::optional<std::int32_t> end_of_text() const override { return 3; }
  std::vector<TokenizerFile> files() const override { return {{"tokenizer.json", "{}"}}; }
};

class HfRoundTrip : public testing::TestWithParam<NamedModel> {
 protected:
  std::vector<WrittenFile> write(MemoryModel& model, HfExportOptions options = {}) {
    options.folder = dir_ / "out";
    return export_hf(model.builder, model.model.config(), TinyTokenizer(), options);
  }
  MemoryModel& filled() {
    model_.emplace(GetParam().config, 5);
    fill_with_numbers(*model_, test_seed());
    return *model_;
  }
  TempDir dir_;
  std::optional<MemoryModel> model_;
};

bool expressible(const NamedModel& model) {
  return model.config.family == "llama" || model.config.positions == "learned";
}

std::vector<NamedModel> models() {
  std::vector<NamedModel> all;
  for (const NamedModel& model : tiny_models())
    if (expressible(model)) all.push_back(model);
  all.push_back({"llama_tied", tiny_llama()});
  all.back().config.tied_head = true;
  all.back().config = resolved(all.back().config, 11);
  return all;
}

// A GPT without biases comes back with biases of zero: then the logits are compared.
TEST_P(HfRoundTrip, IsBitEqual) {
  MemoryModel& model = filled();
  write(model);
  const std::unique_ptr<ModelSource> source = open_model_source(dir_ / "out");
  EXPECT_EQ(source->dtype(), "F32");
  MemoryModel back(*source, 5);
  if (back.builder.parameters().size() == model.builder.parameters().size()) {
    EXPECT_EQ(back.weights(), model.weights());
  }
  const std::vector<std::int32_t> ids{1, 10, 3, 7};
  EXPECT_EQ(back.logits(ids), model.logits(ids));
}

TEST_P(HfRoundTrip, ShardsHoldTheSame) {
  MemoryModel& model = filled();
  const std::vector<WrittenFile> files = write(model, {.folder = {}, .max_shard_bytes = 1000});
  EXPECT_GT(files.size(), 6u);
  const MemoryModel sharded(dir_ / "out");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/model.safetensors"));
  write(model);  // takes the place of the former export, shards and all
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/model.safetensors.index.json"));
  EXPECT_EQ(MemoryModel(dir_ / "out").weights(), sharded.weights());
  EXPECT_EQ(dir_.num_entries(), 1u) << "no temporaries stay behind";
}

TEST_P(HfRoundTrip, Bf16IsRoundedToNearestEven) {
  MemoryModel& model = filled();
  write(model, {.folder = {}, .dtype = DType::kBf16});
  const std::unique_ptr<ModelSource> source = open_model_source(dir_ / "out");
  EXPECT_EQ(source->dtype(), "BF16");
  const MemoryModel back(*source);
  for (Parameter& parameter : model.builder.parameters())
    for (std::int64_t i = 0; i < parameter.value.num_elements(); ++i)
      parameter.value.as<float>()[i] = to_float(to_bf16(parameter.value.as<float>()[i]));
  if (back.builder.parameters().size() == model.builder.parameters().size()) {
    EXPECT_EQ(back.weights(), model.weights());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, HfRoundTrip, testing::ValuesIn(models()),
                         [](const auto& instance) { return instance.param.name; });

class HfExport : public testing::Test {
 protected:
  HfExport() : model_(resolved(tiny_gpt(), 11)) { initialise(model_.builder.parameters(), 1); }
  void write() {
    export_hf(model_.builder, model_.model.config(), TinyTokenizer(), {.folder = dir_ / "out"});
  }
  TempDir dir_;
  MemoryModel model_;
};

TEST_F(HfExport, ATiedHeadIsWrittenOnce) {
  write();
  const SafetensorsFile file(dir_ / "out/model.safetensors");
  EXPECT_FALSE(file.contains("lm_head.weight"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_TRUE(file.verify_checksum());
  EXPECT_EQ(file.entry("transformer.h.1.attn.c_attn.weight").shape, (Shape{8, 24}));
  const std::string generation = content_of(dir_ / "out/generation_config.json");
  EXPECT_NE(generation.find("\"eos_token_id\": 3"), std::string::npos) << generation;
  EXPECT_EQ(content_of(dir_ / "out/tokenizer.json"), "{}");
}

TEST_F(HfExport, LeavesForeignFoldersAlone) {
  dir_.write("out/notes.txt", "mine");
  expect_error([&] { write(); }, "is not empty and not an export of Twill's");
  std::filesystem::remove_all(dir_ / "out");
  write();
  dir_.write("out/notes.txt", "mine");
  expect_error([&] { write(); }, "holds notes.txt, which is no file of an export");
  EXPECT_EQ(content_of(dir_ / "out/notes.txt"), "mine");
  std::filesystem::remove_all(dir_ / "out");
  dir_.write("out", "a file");
  expect_error([&] { write(); }, "is not a folder");
  std::filesystem::remove_all(dir_ / "out");
  dir_.write("out.unfinished/config.json.tmp", "of a killed process");
  write();
  std::filesystem::remove_all(dir_ / "out");
  dir_.write("out.unfinished/notes.txt", "mine");
  expect_error([&] { write(); }, "out.unfinished holds notes.txt, which is no file of an export");
  EXPECT_EQ(content_of(dir_ / "out.unfinished/notes.txt"), "mine");
}

TEST_F(HfExport, RefusesATokenizerThatIsTooLarge) {
  expect_error(
      [&] {
        export_hf(model_.builder, model_.model.config(), ByteTokenizer(), {.folder = dir_ / "out"});
      },
      "the tokenizer (byte) has 256 tokens, the model only 11: they do not belong together");
  EXPECT_EQ(dir_.num_entries(), 0u);
}

TEST(SourceTokenizer, TheByteTokenizerIsKnownAgain) {
  const TempDir dir;
  for (const TokenizerFile& file : exported_tokenizer_files(ByteTokenizer()))
    dir.write(file.name, file.content);
  EXPECT_EQ(tokenizer_beside(dir.path(), 256), "byte");
  EXPECT_EQ(tokenizer_beside(dir / "model.bin", 256), "byte");
  const JsonValue json = parse_json_value(content_of(dir / "tokenizer.json"));
  const JsonObject& vocabulary = *json.find("model")->find("vocab")->object();
  ASSERT_EQ(vocabulary.size(), 256u);
  // Names as GPT-2 gives them: a space is U+0120, a line end U+010A, letters are themselves.
  EXPECT_EQ(vocabulary[' '], (std::pair<std::string, JsonValue>{"\u0120", 32}));
  EXPECT_EQ(vocabulary['\n'], (std::pair<std::string, JsonValue>{"\u010a", 10}));
  EXPECT_EQ(vocabulary['a'], (std::pair<std::string, JsonValue>{"a", 97}));
  EXPECT_EQ(vocabulary[0xe9], (std::pair<std::string, JsonValue>{"\u00e9", 0xe9}));
  EXPECT_EQ(vocabulary[0xad], (std::pair<std::string, JsonValue>{"\u0143", 0xad}));
}

TEST(SourceTokenizer, FindsWhatLiesBesideTheModel) {
  const TempDir dir;
  EXPECT_EQ(tokenizer_beside(dir / "model.bin", 512), "");
  dir.write("tok512.bin", "");
  EXPECT_EQ(tokenizer_beside(dir / "model.bin", 512), dir / "tok512.bin");
  EXPECT_EQ(tokenizer_beside(dir / "model.bin", 511), "");
  dir.write("tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_beside(dir.path(), 512), dir.path());
}

}  // namespace
}  // namespace twill
