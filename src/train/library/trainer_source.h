// SPDX-License-Identifier: Apache-2.0
// The model of a trainer as a model that lies somewhere: its weights as they leave the house.
#pragma once

#include <string>
#include <string_view>

#include "exchange/model_source.h"
#include "train/step/trainer.h"

namespace twill {

class TrainerSource final : public ModelSource {
 public:
  // Borrows the trainer, behind begin().
  explicit TrainerSource(Trainer& trainer) : trainer_(trainer) {}

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return "Twill"; }
  std::string dtype() const override { return "F32"; }
  const ModelConfig& config() const override { return trainer_.config().model; }
  // In a sparse phase the projected weights, as load_weights() gives them of a checkpoint.
  void load(Builder& builder) const override;

 private:
  Trainer& trainer_;
  std::string path_ = "the model in training";
};

}  // namespace twill
