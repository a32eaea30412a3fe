// SPDX-License-Identifier: Apache-2.0
#include "train/library/trainer_source.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "ops/transfer.h"
#include "sparsity/weights/deployment.h"

namespace twill {
namespace {

View weight_of(Builder& builder, const std::string& layer) {
  const auto seam = std::ranges::find(builder.linear_seams(), layer, &LinearSeam::name);
  TWILL_CHECK(seam != builder.linear_seams().end(), "a projected layer is one of the model's");
  return seam->weight->value;
}

// Of the layer, where its projection keeps one.
std::optional<HostCopy> mask_of(const Trainer& trainer, const std::string& layer) {
  for (const auto& [name, view] : trainer.sparsity().state_tensors())
    if (name == layer + ".mask") return HostCopy(trainer.context(), view);
  return std::nullopt;
}

}  // namespace

void TrainerSource::load(Builder& builder) const {
  const std::deque<Parameter>& from = trainer_.builder().parameters();
  std::deque<Parameter>& to = builder.parameters();
  TWILL_CHECK(from.size() == to.size(), "both are models of one config");
  for (std::size_t p = 0; p < to.size(); ++p) {
    const HostCopy values(trainer_.context(), from[p].value);
    std::memcpy(to[p].value.bytes(), values.view().bytes(),
                static_cast<std::size_t>(to[p].value.num_bytes()));
  }
  for (const Deployment& deployment : trainer_.sparsity().deployments()) {
    const std::optional<HostCopy> mask = mask_of(trainer_, deployment.layer);
    deploy(builder.context(), deployment, mask ? mask->view() : ConstView(),
           weight_of(builder, deployment.layer));
  }
}

}  // namespace twill
