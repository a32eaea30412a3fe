// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_export.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/bf16.h"
#include "base/require.h"
#include "exchange/hf_config.h"
#include "exchange/hf_tensors.h"
#include "exchange/source_tokenizer.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/paths.h"
#include "io/tensors/safetensors.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// What an export consists of; anything else in a folder is somebody's work.
bool is_export_file(const std::string& name) {
  constexpr std::string_view kNames[] = {"config.json",
                                         "generation_config.json",
                                         "model.safetensors.index.json",
                                         "tokenizer.json",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "vocab.json",
                                         "merges.txt",
                                         "vocab.txt",
                                         "vocab.bpe",
                                         "encoder.json",
                                         "added_tokens.json",
                                         "tok512.bin"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         (name.starts_with("model") && name.ends_with(".safetensors"));
}

bool is_former_export(const std::string& folder) {
  try {
    return parse_json_value(read_file(folder + "/config.json")).find(kTwillVersionKey) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

void require_no_other_files(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    // A process killed while it wrote leaves NAME.tmp.
    const std::size_t whole = name.ends_with(".tmp") ? name.size() - 4 : name.size();
    require(is_export_file(name.substr(0, whole)),
            "{} holds {}, which is no file of an export and would be lost; move it away first",
            folder, name);
  }
}

void require_free(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  require(fs::is_directory(folder, error), "{} is not a folder; choose another one", folder);
  if (fs::is_empty(folder, error)) return;
  require(is_former_export(folder),
          "{} is not empty and not an export of Twill's; choose another folder", folder);
  require_no_other_files(folder);
}

std::int64_t bytes_of(const HfTensor& tensor, DType dtype) {
  return tensor.placement.shape.num_elements() * size_of(dtype);
}

// Neighbours go together until a file is full; one tensor is never divided.
std::vector<std::vector<HfTensor>> divide(std::vector<HfTensor> tensors, DType dtype,
                                          std::int64_t max_bytes) {
  std::vector<std::vector<HfTensor>> shards(1);
  std::int64_t bytes = 0;
  for (HfTensor& tensor : tensors) {
    const std::int64_t more = bytes_of(tensor, dtype);
    if (!shards.back().empty() && bytes + more > max_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += more;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

class Exporter {
 public:
  Exporter(Builder& builder, const ModelConfig& config, const HfExportOptions& options,
           std::string folder)
      : builder_(builder), config_(config), options_(options), folder_(std::move(folder)) {}

  void write_weights() {
    const auto shards = divide(hf_tensors(config_), options_.dtype, options_.max_shard_bytes);
    for (std::size_t i = 0; i < shards.size(); ++i)
      write_shard(shards.size() == 1
                      ? std::string("model.safetensors")
                      : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size()),
                  shards[i]);
    if (shards.size() == 1) return;
    const JsonObject index{{"metadata", JsonObject{{"total_size", total_bytes_}}},
                           {"weight_map", weight_map_}};
    write("model.safetensors.index.json", to_json(index));
  }

  void write(const std::string& name, const std::string& content) const {
    write_file(folder_ + "/" + name, content);
  }

 private:
  void write_shard(const std::string& name, const std::vector<HfTensor>& tensors) {
    std::vector<ProducedTensor> produced;
    for (const HfTensor& tensor : tensors) {
      produced.push_back({tensor.name, options_.dtype, tensor.placement.shape,
                          [this, &tensor] { return value_of(tensor.placement); }});
      weight_map_.emplace_back(tensor.name, name);
      total_bytes_ += bytes_of(tensor, options_.dtype);
    }
    stream_safetensors(folder_ + "/" + name, produced, {{"format", "pt"}});
  }

  ConstView value_of(const Placement& placement) {
    const std::int64_t count = placement.shape.num_elements();
    scratch_.resize(static_cast<std::size_t>(count));
    const ConstView parameter =
        placement.parameter.empty()
            ? ConstView()
            : ConstView(parameter_named(builder_, placement.parameter).value);
    const ConstView value = take(placement, parameter, scratch_.data());
    if (options_.dtype == DType::kF32) return value;
    rounded_.resize(scratch_.size());
    std::transform(value.as<float>(), value.as<float>() + count, rounded_.begin(), to_bf16);
    return view_of(static_cast<const Bf16*>(rounded_.data()), placement.shape);
  }

  Builder& builder_;
  const ModelConfig& config_;
  const HfExportOptions& options_;
  std::string folder_;
  std::vector<float> scratch_;
  std::vector<Bf16> rounded_;
  JsonObject weight_map_;
  std::int64_t total_bytes_ = 0;
};

std::vector<WrittenFile> files_in(const std::string& folder) {
  std::vector<WrittenFile> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    files.push_back(
        {entry.path().filename().string(), static_cast<std::int64_t>(entry.file_size(ignored))});
  std::ranges::sort(files, {}, &WrittenFile::name);
  return files;
}

}  // namespace

void require_exportable(const ModelConfig& config, const HfExportOptions& options) {
  require_free(options.folder);
  require_expressible(config);
}

std::vector<WrittenFile> export_hf(Builder& builder, const ModelConfig& config,
                                   const Tokenizer* tokenizer, const HfExportOptions& options) {
  require_exportable(config, options);
  if (tokenizer != nullptr) require_tokenizer_fits(*tokenizer, config.vocab, options.folder);
  const std::string folder = without_trailing_slash(options.folder);
  const std::string temporary = folder + ".unfinished";
  std::error_code ignored;
  require_no_other_files(temporary);
  fs::remove_all(temporary, ignored);  // of a process killed before
  create_directories(temporary);
  try {
    Exporter exporter(builder, config, options, temporary);
    exporter.write_weights();
    TextEnds ends;
    if (tokenizer != nullptr) ends = {tokenizer->begin_of_text(), tokenizer->end_of_text()};
    const char* dtype = options.dtype == DType::kF32 ? "float32" : "bfloat16";
    exporter.write("config.json", to_json(hf_config(config, dtype, ends)));
    exporter.write("generation_config.json", to_json(hf_generation_config(ends)));
    if (tokenizer != nullptr)
      for (const TokenizerFile& file : exported_tokenizer_files(*tokenizer))
        exporter.write(file.name, file.content);
    publish_directory(temporary, folder);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  return files_in(folder);
}

}  // namespace twill
