// SPDX-License-Identifier: Apache-2.0
#include "exchange/hf_source.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/require.h"
#include "exchange/hf_config.h"
#include "exchange/hf_tensors.h"
#include "exchange/safetensors_set.h"
#include "io/atomic_file.h"
#include "io/paths.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

ModelConfig read_config(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return parse_hf_config(text);
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

class HfSource final : public ModelSource {
 public:
  HfSource(std::string path, const std::string& config_file, SafetensorsSet tensors)
      : path_(std::move(path)), config_(read_config(config_file)), set_(std::move(tensors)) {
    match();
    // Files of others have no checksum; one that is there must be right.
    for (const auto& file : set_.files()) file->verify_checksum();
  }

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return "Hugging Face"; }
  const ModelConfig& config() const override { return config_; }

  std::string dtype() const override {
    std::set<std::string> names;
    for (const Match& match : matches_) names.insert(match.member.info->dtype_name);
    return fmt::format("{}", fmt::join(names, " and "));
  }

  void load(Builder& builder) const override {
    std::vector<float> scratch;
    for (const auto& [placement, member] : matches_) {
      Parameter& parameter = parameter_named(builder, placement.parameter);
      scratch.resize(static_cast<std::size_t>(placement.shape.num_elements()));
      member.file->read_floats(member.info->name, scratch.data());
      place(scratch.data(), placement, parameter.value);
    }
  }

 private:
  struct Match {
    Placement placement;
    SafetensorsSet::Member member;
  };

  // Every tensor of the model is there, in its shape, and nothing else is.
  void match() {
    std::map<std::string, SafetensorsSet::Member, std::less<>> left;
    for (const auto& [name, member] : set_.members()) {
      const std::string plain(without_prefix(name));
      if (is_buffer(plain) || (config_.tied_head && plain == "lm_head.weight")) continue;
      require(left.try_emplace(plain, member).second, "{}: has '{}' twice, with and without prefix",
              set_.path(), plain);
    }
    for (HfTensor& tensor : hf_tensors(config_)) {
      const auto found = left.find(without_prefix(tensor.name));
      require(found != left.end(), "{}: tensor '{}' is missing", set_.path(), tensor.name);
      require_fits(tensor, *found->second.info);
      matches_.push_back({std::move(tensor.placement), found->second});
      left.erase(found);
    }
    if (left.empty()) return;
    fail("{}: tensor '{}' has no place in a {} model; Twill drops no weights", set_.path(),
         left.begin()->second.info->name, config_.family == "llama" ? "LLaMA" : "GPT-2");
  }

  void require_fits(const HfTensor& tensor, const TensorInfo& info) const {
    require(info.shape == tensor.placement.shape,
            "{}: tensor '{}' is {}, expected {} by its config", set_.path(), info.name,
            to_string(info.shape), to_string(tensor.placement.shape));
    require(is_floating(info), "{}: tensor '{}' is {}, expected F32, F16, BF16 or F64", set_.path(),
            info.name, info.dtype_name);
  }

  std::string path_;
  ModelConfig config_;
  SafetensorsSet set_;
  std::vector<Match> matches_;
};

std::string config_beside(const std::string& file) {
  const fs::path path(file);
  std::string own = (path.parent_path() / path.stem()).string() + ".config.json";
  if (path_exists(own)) return own;
  std::string common = (path.parent_path() / "config.json").string();
  require(path_exists(common),
          "{}: no {} or config.json beside it: the shape of the model is unknown", file,
          fs::path(own).filename().string());
  return common;
}

}  // namespace

std::unique_ptr<ModelSource> open_hf_folder(const std::string& folder) {
  const std::string config = folder + "/config.json";
  const std::string whole = folder + "/model.safetensors", index = whole + ".index.json";
  require(path_exists(config), "{}: no config.json in it: not a Hugging Face model", folder);
  if (path_exists(whole))
    return std::make_unique<HfSource>(folder, config, SafetensorsSet::open_file(whole));
  if (path_exists(index))
    return std::make_unique<HfSource>(folder, config, SafetensorsSet::open_index(index));
  for (const char* pickled : {"/pytorch_model.bin", "/pytorch_model.bin.index.json"})
    if (path_exists(folder + pickled)) refuse_pickle(folder + pickled);
  fail("{}: holds neither model.safetensors nor model.safetensors.index.json", folder);
}

std::unique_ptr<ModelSource> open_hf_file(const std::string& file) {
  return std::make_unique<HfSource>(file, config_beside(file), SafetensorsSet::open_file(file));
}

void refuse_pickle(const std::string& path) {
  fail(
      "{}: a pickled file can run any code when it is opened, so Twill does not read it; convert "
      "it "
      "once where you trust it: load it in Python and write "
      "model.save_pretrained(DIR, safe_serialization=True)",
      path);
}

}  // namespace twill
