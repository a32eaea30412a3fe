// SPDX-License-Identifier: Apache-2.0
// Hugging Face folders as others write them, and broken ones.
#include "exchange/hf_source.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/f16.h"
#include "exchange/hf_config.h"
#include "exchange/hf_tensors.h"
#include "exchange/memory_model.h"
#include "exchange/safetensors_set.h"
#include "io/json/json_value.h"
#include "io/temp_dir.h"
#include "io/tensors/safetensors.h"
#include "models/tiny_models.h"
#include "support/expect_error.h"

namespace twill {
namespace {

// The tensors of a small GPT-2 as a file has them; tests change them before they are written.
class HfFolder : public testing::Test {
 protected:
  struct Entry {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };

  HfFolder() : config_(resolved(tiny_gpt(), 11)) {
    for (const HfTensor& tensor : hf_tensors(config_)) {
      Entry entry{tensor.name, tensor.placement.shape, {}};
      for (std::int64_t i = 0; i < entry.shape.num_elements(); ++i)
        entry.values.push_back(static_cast<float>(++next_) / 64.0f);
      tensors_.push_back(std::move(entry));
    }
  }

  Entry& named(const std::string& name) { return *std::ranges::find(tensors_, name, &Entry::name); }
  void write() const {
    dir_.write("config.json", to_json(hf_config(config_, "float32", {})));
    std::vector<TensorEntry> entries;
    for (const Entry& entry : tensors_)
      entries.push_back({entry.name, view_of(entry.values.data(), entry.shape)});
    write_safetensors(dir_ / "model.safetensors", entries, {});
  }
  void expect_refused(std::string_view text) const {
    write();
    expect_error([&] { open_model_source(dir_.path()); }, text);
  }

  TempDir dir_;
  ModelConfig config_;
  std::vector<Entry> tensors_;
  int next_ = 0;
};

TEST_F(HfFolder, MatricesAreTransposed) {
  write();
  MemoryModel model(dir_.path());
  const float* theirs = named("transformer.h.0.mlp.c_fc.weight").values.data();  // (8, 32)
  const Parameter& ours = parameter_named(model.builder, "blocks.0.ffn.input.weight");
  ASSERT_EQ(ours.shape, (Shape{32, 8}));
  for (int out = 0; out < 32; ++out)
    for (int in = 0; in < 8; ++in)
      ASSERT_EQ(ours.value.as<float>()[out * 8 + in], theirs[in * 32 + out]);
}

TEST_F(HfFolder, NamesWithoutPrefixBuffersAndACopyOfTheHeadAreFine) {
  write();
  const std::vector<float> weights = MemoryModel(dir_.path()).weights();
  for (Entry& entry : tensors_) entry.name = std::string(without_prefix(entry.name));
  tensors_.push_back({"h.0.attn.bias", {1, 1, 5, 5}, std::vector<float>(25)});
  tensors_.push_back({"h.0.attn.masked_bias", {}, {0.0f}});
  tensors_.push_back({"lm_head.weight", {11, 8}, std::vector<float>(88)});
  write();
  EXPECT_EQ(MemoryModel(dir_.path()).weights(), weights);
}

TEST_F(HfFolder, HalfPrecisionIsReadExactly) {
  write();
  const std::vector<float> weights = MemoryModel(dir_.path()).weights();
  // The same numbers, all exact in half precision, under a header that says F16.
  std::string header = "{";
  std::string data;
  for (const Entry& entry : tensors_) {
    std::string shape = to_string(entry.shape);
    shape.front() = '[';
    shape.back() = ']';
    const std::size_t begin = data.size();
    for (const float value : entry.values) {
      const F16 half = to_f16(value);
      ASSERT_EQ(to_float(half), value);
      data.append(reinterpret_cast<const char*>(&half), 2);
    }
    header += fmt::format(R"({}"{}":{{"dtype":"F16","shape":{},"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", entry.name, shape, begin, data.size());
  }
  header += "}";
  const std::uint64_t length = header.size();
  dir_.write("model.safetensors",
             std::string(reinterpret_cast<const char*>(&length), 8) + header + data);
  const std::unique_ptr<ModelSource> source = open_model_source(dir_.path());
  EXPECT_EQ(source->dtype(), "F16");
  EXPECT_EQ(MemoryModel(*source).weights(), weights);
}

TEST_F(HfFolder, RefusesAMissingTensor) {
  std::erase_if(tensors_, [](const Entry& e) { return e.name == "transformer.h.1.ln_2.bias"; });
  expect_refused("model.safetensors: tensor 'transformer.h.1.ln_2.bias' is missing");
}

TEST_F(HfFolder, RefusesAnUnknownTensor) {
  tensors_.push_back({"transformer.h.2.ln_1.weight", {8}, std::vector<float>(8)});
  expect_refused("tensor 'transformer.h.2.ln_1.weight' has no place in a GPT-2 model");
}

TEST_F(HfFolder, RefusesAnotherShape) {
  named("transformer.wpe.weight").shape = {8, 5};
  expect_refused("tensor 'transformer.wpe.weight' is (8, 5), expected (5, 8) by its config");
}

TEST_F(HfFolder, RefusesOneNameTwice) {
  tensors_.push_back({"wpe.weight", {5, 8}, std::vector<float>(40)});
  expect_refused("has 'wpe.weight' twice, with and without prefix");
}

TEST_F(HfFolder, RefusesADamagedFileOfOurs) {
  write();
  std::string bytes = content_of(dir_ / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  dir_.write("model.safetensors", bytes);
  expect_error([&] { open_model_source(dir_.path()); },
               "model.safetensors: checksum mismatch: the file is damaged");
}

TEST_F(HfFolder, RefusesIntegers) {
  write();
  std::string bytes = content_of(dir_ / "model.safetensors");
  bytes.replace(bytes.find(R"("dtype":"F32")"), 13, R"("dtype":"I32")");
  dir_.write("model.safetensors", bytes);
  expect_error([&] { open_model_source(dir_.path()); }, "is I32, expected F32, F16, BF16 or F64");
}

TEST_F(HfFolder, ConfigErrorsNameTheFile) {
  write();
  dir_.write("config.json", R"({"model_type":"t5"})");
  expect_error([&] { open_model_source(dir_.path()); }, dir_ / "config.json: model_type = \"t5\"");
}

TEST_F(HfFolder, AFileAloneNeedsItsConfigBesideIt) {
  write();
  const std::string file = dir_ / "model.safetensors";
  const std::vector<float> weights = MemoryModel(dir_.path()).weights();
  EXPECT_EQ(MemoryModel(file).weights(), weights);
  std::filesystem::rename(dir_ / "config.json", dir_ / "model.config.json");
  EXPECT_EQ(MemoryModel(file).weights(), weights);
  std::filesystem::remove(dir_ / "model.config.json");
  expect_error([&] { open_model_source(file); },
               "no model.config.json or config.json beside it: the shape of the model is unknown");
}

TEST(HfSource, FoldersThatHoldNoModel) {
  const TempDir dir;
  expect_error([&] { open_model_source(dir.path()); }, "no config.json in it");
  dir.write("config.json", "{}");
  expect_error([&] { open_model_source(dir.path()); },
               "holds neither model.safetensors nor model.safetensors.index.json");
  dir.write("pytorch_model.bin", "PK\x03\x04");
  expect_error([&] { open_model_source(dir.path()); },
               "pytorch_model.bin: a pickled file can run any code when it is opened");
}

TEST(SafetensorsIndex, Refusals) {
  const auto refuse = [](const char* json, std::string_view text) {
    expect_error([&] { parse_safetensors_index(json); }, text);
  };
  refuse("[]", "no object weight_map");
  refuse(R"({"weight_map":[]})", "no object weight_map");
  refuse(R"({"weight_map":{"a":1}})", "tensor 'a' has a number, expected the name of a file");
  for (const char* name : {"../x", "/etc/passwd", "..", "", "a\\\\b", "a\\u0000b"})
    refuse((std::string(R"({"weight_map":{"a":")") + name + "\"}}").c_str(),
           "expected the name of a file beside the index");
  std::string many;
  for (int i = 0; i < 513; ++i) many += fmt::format(R"({}"t{}":"f{}")", i > 0 ? "," : "", i, i);
  refuse((R"({"weight_map":{)" + many + "}}").c_str(), "names 513 files, expected at most 512");
}

TEST(SafetensorsIndex, MustAgreeWithItsFiles) {
  const TempDir dir;
  const float value = 1.0f;
  for (const char* name : {"a", "b"})
    write_safetensors(dir / name, std::vector<TensorEntry>{{name, view_of(&value, Shape{1})}}, {});
  const auto open = [&](const char* map) {
    dir.write("index.json", std::string(R"({"weight_map":)") + map + "}");
    return SafetensorsSet::open_index(dir / "index.json");
  };
  EXPECT_EQ(open(R"({"a":"a","b":"b"})").members().size(), 2u);
  expect_error([&] { open(R"({"a":"b","b":"b"})"); }, "index.json: tensor 'a' is not in b");
  expect_error([&] { open(R"({"a":"a","c":"b"})"); }, "tensor 'c' is not in b");
  expect_error([&] { open(R"({"a":"gone"})"); }, "gone: No such file");
  write_safetensors(
      dir / "b",
      std::vector<TensorEntry>{{"a", view_of(&value, Shape{1})}, {"b", view_of(&value, Shape{1})}},
      {});
  expect_error([&] { open(R"({"a":"a","b":"b"})"); }, "tensor 'a' is also in");
  std::filesystem::remove(dir / "a");
  expect_error([&] { open(R"({"b":"b"})"); }, "names 1 tensors, its files hold 2");
}

}  // namespace
}  // namespace twill
