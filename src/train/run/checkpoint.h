// SPDX-License-Identifier: Apache-2.0
// A checkpoint is a folder step-00000120 with model.safetensors (master weights and the model's
// config), state.safetensors (moments, step, position in the data), run.safetensors (whose it is:
// train/run/run_mark.h) and, of a sparse recipe, sparsity.safetensors (masks, scales, phase, and how
// weights are projected). It appears whole or not at all. Equal states are equal bytes in all files
// but run.safetensors. Whoever reads the model alone may name its file instead of the folder, whatever
// it is called; its sparsity.safetensors then lies beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/folder.h"
#include "models/model_config.h"
#include "nn/builder.h"
#include "train/step/trainer.h"

namespace twill {

// Writes `folder`/step-…; then removes all but the newest `keep`. Returns the path.
std::string save_checkpoint(const Folder& folder, Trainer& trainer, std::int64_t keep);
// The same below a path, which is made where it is missing.
std::string save_checkpoint(const std::string& folder, Trainer& trainer, std::int64_t keep);

// A model from elsewhere as the first checkpoint of a run: weights without optimizer state, from
// which no run resumes. `origin` says where it came from. Returns the path.
std::string save_imported(const std::string& folder, const Builder& builder, ModelConfig model,
                          const std::string& origin);

// Where an imported checkpoint came from; empty for one that training wrote, or a
// damaged one.
std::string imported_from(const std::string& checkpoint);

// Puts weights, moments and progress back. Throws twill::Error naming the file and what is wrong.
void load_checkpoint(const std::string& checkpoint, Trainer& trainer);

// Weights only, into a model of any mode: those that are exported, which in a sparse phase are the
// projected ones (sparsity/weights/deployment.h). This and load_model_config read a checkpoint that
// require_undamaged() has let pass: a large file is hashed once.
void load_weights(const std::string& checkpoint, Builder& builder);

// How many layers load_weights() projects; 0 for a dense model or behind a dense finish.
std::int64_t num_projected_layers(const std::string& checkpoint);

// What was trained (sparsity/plan/what_runs.h); empty for dense, and for checkpoints that do not say.
std::string runs_of_checkpoint(const std::string& checkpoint);

// The model's resolved config, as saved beside the weights.
ModelConfig load_model_config(const std::string& checkpoint);

// Complete checkpoints in `folder`, oldest first. A missing folder has none.
std::vector<std::string> list_checkpoints(const std::string& folder);

// The step in the name of a checkpoint's folder.
std::int64_t step_of(const std::string& checkpoint);

// The step that its state says. Believes the file: see require_undamaged().
std::int64_t saved_step(const std::string& checkpoint);

// Which files of a checkpoint a reader needs.
enum class CheckpointFiles { kModel, kModelAndState };

// Opens the files and checks them completely. Empty when good, else what is wrong.
std::string find_damage(const std::string& checkpoint, CheckpointFiles files);

// Throws when `checkpoint` is damaged, naming the newest older checkpoint that is good.
void require_undamaged(const std::string& checkpoint, CheckpointFiles files);

// A run that goes on behind `step` takes another way from there: later checkpoints of the folder are
// kept, but renamed to replaced-step-…, so that none of them is taken for the newest.
void set_aside_later(const Folder& folder, std::int64_t step);

}  // namespace twill
