// SPDX-License-Identifier: Apache-2.0
// Tiny runs of whole recipes: one block of width 16, with the recipes' intervals short enough that
// everything happens within 24 steps.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "io/temp_dir.h"
#include "train/run/checkpoint.h"
#include "train/tiny_run.h"

namespace twill {

using Settings = std::vector<std::string>;

// What makes a built-in recipe busy in 24 steps.
inline Settings busy(const std::string& recipe) {
  static const std::map<std::string, Settings> kMore{
      {"fst", {"recipe.phase.0.weights.refresh=4"}},
      {"mst",
       {"recipe.phase.0.topology.interval=2", "recipe.phase.0.until=0.3",
        "recipe.phase.1.topology.interval=3", "recipe.phase.1.until=0.6",
        "recipe.phase.2.topology.interval=2"}},
      {"relu2-24",
       {"model.ffn.activation=relu2", "recipe.phase.0.until=0.1",
        "recipe.phase.1.activations.refresh=4"}},
      {"rigl", {"recipe.phase.0.topology.interval=3"}},
      {"set", {"recipe.phase.0.topology.interval=3"}},
      {"step", {"optimizer.beta2=0.8", "recipe.phase.0.early_end.below=1e6"}},
      {"venom",
       {"model.ffn.activation=relu2", "recipe.phase.0.until=0.1", "recipe.phase.1.until=0.8",
        "recipe.phase.1.activations.v=8", "recipe.phase.1.activations.refresh=4"}}};
  Settings settings{"recipe=" + recipe,      "model.layers=1",          "train.steps=24",
                    "recipe.health.every=3", "optimizer.lr=1e-2",       "train.micro_batch=2",
                    "train.batch_tokens=64", "schedule.warmup_steps=2", "eval.windows=2"};
  if (const auto more = kMore.find(recipe); more != kMore.end())
    settings.insert(settings.end(), more->second.begin(), more->second.end());
  return settings;
}

inline Settings operator+(Settings left, const Settings& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// What a checkpoint holds, in memory: files cost more time than steps of these models.
struct MemoryState {
  Progress progress;
  std::vector<std::string> tensors;  // weights, moments, sparsity
  std::map<std::string, std::string> texts;

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

inline std::vector<View> tensors_of(const Trainer& trainer) {
  std::vector<View> views;
  for (const Optimizer::Slot& slot : trainer.optimizer().slots())
    for (const View& view : {slot.parameter->value, slot.m, slot.v}) views.push_back(view);
  for (const auto& [name, view] : trainer.sparsity().state_tensors()) views.push_back(view);
  return views;
}

inline MemoryState state_of(const TinyTrainer& tiny) {
  tiny.trainer.sparsity().write_moments(tiny.context);
  MemoryState state{tiny.trainer.progress(), {}, tiny.trainer.sparsity().state_texts()};
  for (const View& view : tensors_of(tiny.trainer))
    state.tensors.emplace_back(reinterpret_cast<const char*>(view.bytes()),
                               static_cast<std::size_t>(view.num_bytes()));
  return state;
}

inline void restore(const MemoryState& state, TinyTrainer& tiny) {
  const std::vector<View> views = tensors_of(tiny.trainer);
  ASSERT_EQ(views.size(), state.tensors.size());
  for (std::size_t i = 0; i < views.size(); ++i)
    std::memcpy(views[i].bytes(), state.tensors[i].data(), state.tensors[i].size());
  tiny.trainer.progress() = state.progress;
  tiny.trainer.sparsity().restore(tiny.context, state.texts);
}

// The masks of all layers, one behind the other.
inline std::string masks_of(const TinyTrainer& tiny) {
  std::string all;
  for (const SparseLayer& layer : tiny.trainer.sparsity().layers())
    all.append(reinterpret_cast<const char*>(layer.mask.bytes()),
               static_cast<std::size_t>(layer.num_weights()));
  return all;
}

// Weights, moments and progress of `from` in a trainer of any recipe.
inline void copy_training_state(const TinyTrainer& from, TinyTrainer& to) {
  const auto copy = [](const View& a, const View& b) {
    std::copy_n(a.as<float>(), a.num_elements(), b.as<float>());
  };
  for (std::size_t i = 0; i < from.trainer.optimizer().slots().size(); ++i) {
    const Optimizer::Slot& a = from.trainer.optimizer().slots()[i];
    const Optimizer::Slot& b = to.trainer.optimizer().slots()[i];
    copy(a.parameter->value, b.parameter->value);
    copy(a.m, b.m);
    copy(a.v, b.v);
  }
  to.trainer.progress() = from.trainer.progress();
}

// Health samples of a whole run.
inline std::vector<HealthSample> samples_of(TinyTrainer& tiny) {
  std::vector<HealthSample> samples;
  while (tiny.trainer.progress().step < tiny.config.train.steps) {
    tiny.trainer.step();
    if (auto sample = tiny.trainer.sparsity().take_sample()) samples.push_back(std::move(*sample));
  }
  return samples;
}

}  // namespace twill
