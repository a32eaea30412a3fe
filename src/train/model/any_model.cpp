// SPDX-License-Identifier: Apache-2.0
#include "train/model/any_model.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/require.h"
#include "data/corpus.h"
#include "exchange/source_tokenizer.h"
#include "io/config/toml_config.h"
#include "io/paths.h"
#include "train/model/finite_weights.h"
#include "train/run/checkpoint.h"
#include "train/step/host_masters.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// A checkpoint of ours that has proved undamaged.
class CheckpointSource final : public ModelSource {
 public:
  explicit CheckpointSource(std::string checkpoint)
      : checkpoint_(std::move(checkpoint)), config_(load_model_config(checkpoint_)) {}

  const std::string& path() const override { return checkpoint_; }
  std::string_view format() const override { return "Twill"; }
  std::string dtype() const override { return "F32"; }
  const ModelConfig& config() const override { return config_; }
  void load(Builder& builder) const override { load_weights(checkpoint_, builder); }

 private:
  std::string checkpoint_;
  ModelConfig config_;
};

void require_same_model(ModelConfig saved, ModelConfig wanted) {
  for (const FieldDifference& difference : differences(saved, wanted))
    fail("model.{} = {} cannot be changed: the model was trained with {}", difference.key,
         difference.wanted, difference.saved);
}

// A file that is damaged, or not ours, is left to those who can say what is wrong with it.
bool holds_own_model(const std::string& path) {
  std::error_code ignored;
  if (!path.ends_with(".safetensors") && !fs::is_directory(path, ignored)) return false;
  try {
    (void)load_model_config(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Of a path that names the model file of a checkpoint: the checkpoint.
std::string checkpoint_of(const std::string& where) {
  const fs::path path(where);
  const std::string folder = path.parent_path().string();
  return path.filename() == "model.safetensors" && step_of(folder) >= 0 ? folder : where;
}

AnyModel find_foreign(const std::string& where, const std::vector<std::string>& overrides) {
  AnyModel model{
      .source = open_any_source(where), .config = read_run_config("", overrides), .tokenizer = {}};
  // What was set is what differs from the defaults; the value in force is the source's.
  RunConfig defaults = read_run_config("", {});
  for (const FieldDifference& set : differences(defaults.model, model.config.model))
    fail("model.{} = {} cannot be changed: the shape of {} is its own", set.key, set.wanted, where);
  model.config.model = model.source->config();
  model.tokenizer = tokenizer_beside(where, model.config.model.vocab);
  if (!model.tokenizer.empty()) model.config.data.tokenizer = model.tokenizer;
  return model;
}

}  // namespace

std::unique_ptr<ModelSource> open_any_source(const std::string& path) {
  if (!holds_own_model(path)) return open_model_source(path);
  require_undamaged(path, CheckpointFiles::kModel);
  return std::make_unique<CheckpointSource>(path);
}

AnyModel find_model(const RunFolder& folder, const std::vector<std::string>& overrides) {
  const std::string checkpoint = folder.require_checkpoint();
  // Nothing of a file is believed before its checksum is right.
  require_undamaged(checkpoint, CheckpointFiles::kModel);
  auto source = std::make_unique<CheckpointSource>(checkpoint);
  AnyModel model{
      .source = nullptr, .is_run = true, .config = folder.read_config(overrides), .tokenizer = {}};
  if (!overrides.empty()) require_same_model(folder.read_config().model, model.config.model);
  model.config.model = source->config();
  model.tokenizer = path_exists(folder.tokenizer_dir()) ? folder.tokenizer_dir()
                                                        : data_tokenizer(model.config.data);
  model.source = std::move(source);
  return model;
}

AnyModel find_model(const std::string& where, const std::string& runs_dir,
                    const std::vector<std::string>& overrides) {
  if (const std::optional<RunFolder> run = RunFolder::find(checkpoint_of(where), runs_dir))
    return find_model(*run, overrides);
  // A folder that is neither a run nor a Hugging Face model is told what is missing in the latter.
  if (path_exists(where)) return find_foreign(where, overrides);
  fail("no model named {}: neither a run in {} nor a folder or file", where, runs_dir);
}

std::unique_ptr<Tokenizer> open_model_tokenizer(const AnyModel& model) {
  require(!model.tokenizer.empty(),
          "{}: no tokenizer lies beside it; put its tokenizer.json there, or import it with "
          "--tokenizer",
          model.source->path());
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer_if_any(model.tokenizer);
  if (tokenizer == nullptr) return nullptr;
  require_tokenizer_fits(*tokenizer, model.source->config().vocab, model.source->path());
  return tokenizer;
}

RunConfig started_from(const AnyModel& model, RunConfig config) {
  ModelConfig source = model.source->config();
  source.name = config.model.name;
  source.dropout = config.model.dropout;
  source.init = config.model.init;
  // What the user set is what differs from the defaults.
  RunConfig defaults;
  for (const FieldDifference& set : differences(defaults.model, config.model))
    for (const FieldDifference& other : differences(source, config.model))
      require(set.key != other.key || set.wanted == "0",
              "model.{} = {} does not agree with train.start_from, whose model has {}; leave the "
              "model keys out",
              set.key, set.wanted, other.saved);
  config.model = source;
  // Texts have no tokenizer of their own; prepared shards do, and it must fit the model.
  if (config.data.tokenizer == "auto" && data_tokenizer(config.data) == "byte" &&
      !model.tokenizer.empty())
    config.data.tokenizer = model.tokenizer;
  return config;
}

void load_start(const AnyModel& model, Trainer& trainer) {
  HostMasters masters(trainer.builder());
  model.source->load(trainer.builder());
  require_finite_weights(trainer.builder(), model.source->path());
  masters.upload();
}

}  // namespace twill
