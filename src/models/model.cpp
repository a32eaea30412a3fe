// SPDX-License-Identifier: Apache-2.0
#include "models/model.h"

#include "base/require.h"
#include "ops/numbers/fill.h"

namespace twill {

Model::Model(Builder& builder) : builder_(builder) {
  builder.state(micro_step_, DType::kI32, {1});
  builder.state(step_targets_, DType::kF64, {3});
}

PassLoss Model::loss(const Pass& pass, const Batch& batch) {
  load(pass, batch);
  forward(pass);
  return read_loss(pass);
}

PassLoss Model::loss_and_gradient(const Pass& pass, const Batch& batch, const LossScale& scale) {
  load(pass, batch);
  compute(pass, scale);
  return read_loss(pass);
}

void Model::clear_gradients(const Pass& pass) const {
  if (pass.accumulate) return;
  for (const Parameter& parameter : builder_.parameters())
    if (parameter.clear_gradient) fill(pass.context, {.x = parameter.gradient, .value = 0.0});
}

LanguageModel& as_language_model(Model& model, std::string_view what) {
  auto* found = dynamic_cast<LanguageModel*>(&model);
  require(found != nullptr, "{} needs a model that writes text, and this one does not", what);
  return *found;
}

}  // namespace twill
