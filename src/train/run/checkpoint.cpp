// SPDX-License-Identifier: Apache-2.0
#include "train/run/checkpoint.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/bf16.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "io/paths.h"
#include "io/tensors/safetensors.h"
#include "ops/transfer.h"
#include "sparsity/weights/deployment.h"
#include "tensor/tensor.h"
#include "train/model/finite_weights.h"
#include "train/run/checkpoint_files.h"
#include "train/run/run_folder.h"
#include "train/run/run_mark.h"
#include "train/step/host_masters.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelKey = "twill.model";
constexpr const char* kImportedKey = "twill.imported";
// Says in model.safetensors that the third file belongs to it.
constexpr const char* kSparsityKey = "twill.sparsity";
constexpr std::string_view kDeployPrefix = "twill.deploy.";
constexpr std::string_view kSparsityPrefix = "twill.sparsity.";

std::string parent_of(const std::string& checkpoint) {
  const std::string folder = fs::path(checkpoint).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string hash_of_weights(const Builder& builder) {
  Hasher hasher;
  for (const Parameter& parameter : builder.parameters())
    hasher.add(parameter.value.bytes(), static_cast<std::size_t>(parameter.value.num_bytes()));
  return hash_text(hasher.value());
}

std::vector<TensorEntry> weight_entries(const Builder& builder) {
  std::vector<TensorEntry> entries;
  for (const Parameter& parameter : builder.parameters())
    entries.push_back({parameter.name, parameter.value});
  return entries;
}

std::vector<TensorEntry> moment_entries(const Optimizer& optimizer) {
  std::vector<TensorEntry> entries;
  for (const Optimizer::Slot& slot : optimizer.slots()) {
    entries.push_back({slot.parameter->name + ".m", slot.m});
    entries.push_back({slot.parameter->name + ".v", slot.v});
  }
  return entries;
}

std::map<std::string, std::string> progress_metadata(const Progress& progress) {
  return {{kStepKey, std::to_string(progress.step)},
          {"twill.updates", std::to_string(progress.updates)},
          {"twill.tokens", std::to_string(progress.tokens)},
          {"twill.windows", std::to_string(progress.windows)}};
}

SafetensorsFile open_checked(const std::string& checkpoint, std::string_view name) {
  SafetensorsFile file(file_in(checkpoint, name));
  // Ours always carry one: without it, the damage hit the checksum itself.
  require(file.verify_checksum(), "{}: carries no checksum: damaged, or not a file of Twill's",
          file.path());
  return file;
}

// Every tensor of `entries` and no other.
void require_same_tensors(const SafetensorsFile& file, const std::vector<TensorEntry>& entries) {
  for (const TensorEntry& entry : entries)
    require(file.contains(entry.name),
            "{}: tensor {} is missing: the checkpoint belongs to another model", file.path(),
            entry.name);
  require(file.entries().size() == entries.size(),
          "{}: has {} tensors, expected {}: the checkpoint belongs to another model", file.path(),
          file.entries().size(), entries.size());
}

void read_weights(const SafetensorsFile& file, Builder& builder) {
  require_same_tensors(file, weight_entries(builder));
  for (Parameter& parameter : builder.parameters()) file.read_into(parameter.name, parameter.value);
}

// Every moment is there, in the type that the run keeps or in f32, from which bf16 can be had. Not
// the other way: a run that says f32 shall have had f32 moments from its start.
void require_moments(const SafetensorsFile& file, const Optimizer& optimizer) {
  const std::vector<TensorEntry> wanted = moment_entries(optimizer);
  require_same_tensors(file, wanted);
  if (wanted.empty()) return;
  const bool has_bf16 = file.entry(wanted.front().name).dtype == DType::kBf16;
  const bool keeps_bf16 = wanted.front().view.dtype() == DType::kBf16;
  require(
      keeps_bf16 || !has_bf16,
      "{}: its moments are bf16, but optimizer.moments = \"f32\"; set optimizer.moments=bf16, or "
      "start a new run from the weights with train.start_from",
      file.path());
  if (keeps_bf16 && !has_bf16)
    log_info(fmt::format("{}: f32 moments become bf16 (optimizer.moments)", file.path()));
}

void read_moment(const SafetensorsFile& file, const std::string& name, View moment) {
  if (file.entry(name).dtype == moment.dtype()) return file.read_into(name, moment);
  Tensor saved(wide_type(moment.dtype()), moment.shape());
  file.read_into(name, saved.view());
  const float* values = saved.view().as<float>();
  std::transform(values, values + moment.num_elements(), moment.as<Bf16>(), to_bf16);
}

void require_pair(const SafetensorsFile& model, const SafetensorsFile& state) {
  require(metadata_at(model, kWeightsKey) == metadata_at(state, kWeightsKey),
          "{} and {} belong to different checkpoints", model.path(), state.path());
}

bool is_sparse(const SafetensorsFile& model) { return model.metadata().contains(kSparsityKey); }

void write_tensors(const Folder& folder, std::string_view name,
                   const std::vector<TensorEntry>& entries,
                   const std::map<std::string, std::string>& metadata) {
  AtomicFile file(folder, std::string(name));
  write_safetensors(file, entries, metadata);
}

void write_sparsity(const Folder& folder, const Trainer& trainer, const std::string& weights) {
  const SparsityEngine& sparsity = trainer.sparsity();
  std::deque<HostCopy> on_host;
  std::vector<TensorEntry> entries;
  for (const auto& [name, view] : sparsity.state_tensors())
    entries.push_back({name, on_host.emplace_back(trainer.context(), view).view()});
  std::map<std::string, std::string> metadata{{kWeightsKey, weights}};
  for (const auto& [key, text] : sparsity.state_texts())
    metadata[std::string(kSparsityPrefix) + key] = text;
  for (const auto& [layer, rule] : sparsity.deployments())
    metadata[std::string(kDeployPrefix) + layer] = rule;
  write_tensors(folder, kSparsityFile, entries, metadata);
}

void read_sparsity(const std::string& checkpoint, Trainer& trainer) {
  const SafetensorsFile file(file_in(checkpoint, kSparsityFile));
  SparsityEngine& sparsity = trainer.sparsity();
  std::vector<TensorEntry> entries;
  for (const auto& [name, view] : sparsity.state_tensors()) entries.push_back({name, view});
  require_same_tensors(file, entries);
  for (const auto& [name, view] : sparsity.state_tensors()) {
    Tensor saved(view.dtype(), view.shape());
    file.read_into(name, saved.view());
    copy_in(trainer.context(), view, saved.view().bytes());
  }
  std::map<std::string, std::string> texts;
  for (const auto& [key, text] : file.metadata())
    if (key.starts_with(kSparsityPrefix)) texts[key.substr(kSparsityPrefix.size())] = text;
  sparsity.restore(trainer.context(), texts);
}

// Projects the weights of the layers that the checkpoint names.
void deploy_weights(const std::string& checkpoint, Builder& builder) {
  const SafetensorsFile file(file_in(checkpoint, kSparsityFile));
  // Masters are on the host while files are read.
  const Context host(cpu_table(), 1);
  const Context& context = shares_memory(builder.context()) ? builder.context() : host;
  for (const auto& [key, rule] : file.metadata()) {
    if (!key.starts_with(kDeployPrefix)) continue;
    const std::string layer = key.substr(kDeployPrefix.size());
    const auto seam = std::ranges::find(builder.linear_seams(), layer, &LinearSeam::name);
    require(seam != builder.linear_seams().end(), "{}: layer {} is not one of the model's",
            file.path(), layer);
    const View weight = seam->weight->value;
    Tensor mask(DType::kU8, weight.shape());
    if (rule == "mask") file.read_into(layer + ".mask", mask.view());
    deploy(context, {layer, rule}, mask.view(), weight);
  }
}

// A state with a weight that is not finite goes nowhere, and would push out one that does.
void require_worth_saving(const std::string& folder, const Trainer& trainer) {
  const std::string found = find_nonfinite(trainer.builder());
  if (found.empty()) return;
  const std::vector<std::string> all = list_checkpoints(folder);
  fail(
      "step {}: weights are not finite, and this state is not saved: {}; {}; lower optimizer.lr or "
      "raise optimizer.eps in a new run",
      trainer.progress().step, found,
      all.empty() ? "there was no checkpoint before it"
                  : fmt::format("the last good one is {}", shell_quoted(all.back())));
}

}  // namespace

std::string save_checkpoint(const std::string& folder, Trainer& trainer, std::int64_t keep) {
  create_directories(folder);
  return save_checkpoint(Folder::open(folder), trainer, keep);
}

std::string save_checkpoint(const Folder& folder, Trainer& trainer, std::int64_t keep) {
  trainer.sparsity().write_moments(trainer.context());
  const HostMasters masters(trainer.builder(), &trainer.optimizer());
  require_worth_saving(folder.path(), trainer);
  std::string path =
      publish_checkpoint(folder, trainer.progress().step, [&](const Folder& temporary) {
        const std::string weights = hash_of_weights(trainer.builder());
        ModelConfig model = trainer.config().model;
        std::map<std::string, std::string> about{{kWeightsKey, weights},
                                                 {kModelKey, write_toml(model)}};
        if (trainer.sparsity().has_state()) {
          about[kSparsityKey] = std::string(kSparsityFile);
          write_sparsity(temporary, trainer, weights);
        }
        write_tensors(temporary, kModelFile, weight_entries(trainer.builder()), about);
        auto metadata = progress_metadata(trainer.progress());
        metadata[kWeightsKey] = weights;
        write_tensors(temporary, kStateFile, moment_entries(trainer.optimizer()), metadata);
        write_mark(temporary, mark_of(trainer), weights);
      });
  remove_old_checkpoints(folder, keep);
  return path;
}

std::string save_imported(const std::string& folder, const Builder& builder, ModelConfig model,
                          const std::string& origin) {
  create_directories(folder);
  return publish_checkpoint(Folder::open(folder), 0, [&](const Folder& temporary) {
    write_tensors(temporary, kModelFile, weight_entries(builder),
                  {{kWeightsKey, hash_of_weights(builder)},
                   {kModelKey, write_toml(model)},
                   {kImportedKey, origin}});
  });
}

std::string imported_from(const std::string& checkpoint) {
  try {
    const SafetensorsFile file(file_in(checkpoint, kModelFile));
    const auto found = file.metadata().find(kImportedKey);
    return found == file.metadata().end() ? std::string() : found->second;
  } catch (const Error&) {
    return {};  // require_undamaged() says what is wrong with it
  }
}

void load_checkpoint(const std::string& checkpoint, Trainer& trainer) {
  require_undamaged(checkpoint, CheckpointFiles::kModelAndState);
  warn_of_other_arithmetic(checkpoint, trainer.context());
  const SafetensorsFile model(file_in(checkpoint, kModelFile));
  const SafetensorsFile state(file_in(checkpoint, kStateFile));
  require_moments(state, trainer.optimizer());
  {
    HostMasters masters(trainer.builder(), &trainer.optimizer());
    read_weights(model, trainer.builder());
    for (const Optimizer::Slot& slot : trainer.optimizer().slots()) {
      read_moment(state, slot.parameter->name + ".m", slot.m);
      read_moment(state, slot.parameter->name + ".v", slot.v);
    }
    masters.upload();
  }
  trainer.progress() = {.step = number_at(state, kStepKey),
                        .updates = number_at(state, "twill.updates"),
                        .tokens = number_at(state, "twill.tokens"),
                        .windows = number_at(state, "twill.windows")};
  require(is_sparse(model) == trainer.sparsity().has_state(),
          "{}: belongs to a run {} a sparse recipe", model.path(),
          is_sparse(model) ? "with" : "without");
  if (is_sparse(model)) {
    read_sparsity(checkpoint, trainer);
  } else {
    trainer.sparsity().account().restore_dense(trainer.progress().tokens);
  }
}

void load_weights(const std::string& checkpoint, Builder& builder) {
  const SafetensorsFile model(file_in(checkpoint, kModelFile));
  read_weights(model, builder);
  if (is_sparse(model)) deploy_weights(checkpoint, builder);
}

std::int64_t num_projected_layers(const std::string& checkpoint) {
  if (!is_sparse(SafetensorsFile(file_in(checkpoint, kModelFile)))) return 0;
  const SafetensorsFile file(file_in(checkpoint, kSparsityFile));
  return std::ranges::count_if(
      file.metadata(), [](const auto& entry) { return entry.first.starts_with(kDeployPrefix); });
}

std::string runs_of_checkpoint(const std::string& checkpoint) {
  const std::optional<RunMark> mark = read_mark(checkpoint);
  return mark ? mark->runs : std::string();
}

ModelConfig load_model_config(const std::string& checkpoint) {
  const SafetensorsFile file(file_in(checkpoint, kModelFile));
  ModelConfig config;
  read(TomlDocument::parse_text(metadata_at(file, kModelKey), file.path()), config);
  return config;
}

std::int64_t saved_step(const std::string& checkpoint) {
  return number_at(SafetensorsFile(file_in(checkpoint, kStateFile)), kStepKey);
}

std::string find_damage(const std::string& checkpoint, CheckpointFiles files) {
  try {
    const SafetensorsFile model = open_checked(checkpoint, kModelFile);
    if (files == CheckpointFiles::kModelAndState)
      require_pair(model, open_checked(checkpoint, kStateFile));
    if (files == CheckpointFiles::kModelAndState && path_exists(file_in(checkpoint, kRunFile)))
      require_pair(model, open_checked(checkpoint, kRunFile));
    if (is_sparse(model)) require_pair(model, open_checked(checkpoint, kSparsityFile));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void require_undamaged(const std::string& checkpoint, CheckpointFiles files) {
  const std::string damage = find_damage(checkpoint, files);
  if (damage.empty()) return;
  const std::vector<std::string> all = list_checkpoints(parent_of(checkpoint));
  for (auto older = all.rbegin(); older != all.rend(); ++older) {
    if (step_of(*older) >= step_of(checkpoint) || !find_damage(*older, files).empty()) continue;
    fail("{}; the previous good checkpoint is {}: give this path instead of the run", damage,
         shell_quoted(*older));
  }
  fail("{}; no older good checkpoint is left", damage);
}

}  // namespace twill
