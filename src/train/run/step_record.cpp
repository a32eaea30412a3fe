// SPDX-License-Identifier: Apache-2.0
#include "train/run/step_record.h"

namespace twill {

MetricRecord step_record(const StepResult& result, const Trainer& trainer) {
  const RunConfig& config = trainer.config();
  MetricRecord record;
  record.add("step", result.step)
      .add("tokens", result.tokens)
      .add("loss", result.loss)
      .add("lr", result.lr)
      .add("grad_norm", result.grad_norm)
      .add("tokens_per_s", tokens_per_second(result, config));
  if (config.recipe.is_dense()) return record;
  const Flops& flops = trainer.sparsity().flops();
  record.add("phase", trainer.sparsity().phase_index())
      .add("flops", flops.spent)
      .add("flops_dense", flops.dense)
      .add("flops_without_head", flops.spent_without_head)
      .add("flops_dense_without_head", flops.dense_without_head);
  if (result.topology_update) record.add("topology_update", true);
  return record;
}

}  // namespace twill
