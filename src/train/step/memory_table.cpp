// SPDX-License-Identifier: Apache-2.0
#include "train/step/memory_table.h"

#include "models/model.h"
#include "train/run/device_choice.h"
#include "train/step/optimizer.h"

namespace twill {

std::vector<MemoryLine> dense_memory_table(const Context& context, const RunConfig& config) {
  Builder builder(context, {.dtype = storage_type(config, context),
                            .training = true,
                            .max_batch = config.train.micro_batch,
                            .max_time = config.sequence(),
                            .recompute = recompute_of(config.train.recompute)});
  const std::unique_ptr<Model> model = make_model(builder, config.model);
  const Optimizer optimizer(builder, config.optimizer);
  return builder.memory_table();
}

}  // namespace twill
