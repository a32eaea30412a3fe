// SPDX-License-Identifier: Apache-2.0
#include "train/step/device_step.h"

#include <cmath>

#include "ops/transfer.h"

namespace twill {
DeviceStep::DeviceStep(const Context& context, Model& model, Optimizer& optimizer, const Data& data,
                       Recorder& recorder, Shape shape)
    : context_(context),
      model_(model),
      optimizer_(optimizer),
      data_(data),
      recorder_(recorder),
      shape_(shape) {
  const Memory& staging = staging_memory(context);
  for (Batches& batches : batches_) {
    batches.examples = BatchStorage(data.layout(), shape.micro_batches * shape.batch, staging);
    batches.micro_steps = Tensor(DType::kI32, {shape.micro_batches}, staging);
  }
}

DeviceStep::Batches& DeviceStep::batches_of(std::int64_t first) {
  const std::int64_t examples = shape_.processes * shape_.micro_batches * shape_.batch;
  return batches_[(first / examples) % 2];
}

void DeviceStep::prefetch_ahead(std::int64_t first) {
  try {
    prefetch(first);
  } catch (...) {  // an update is queued that nobody has counted yet: not here
  }
}

void DeviceStep::prefetch(std::int64_t first) {
  Batches& batches = batches_of(first);
  if (batches.first == first) return;
  batches.first = -1;  // until it is whole
  data_.fill(first, batches.examples.rows(0, shape_.micro_batches * shape_.batch));
  batches.first = first;
}

void DeviceStep::load(std::int64_t first, const Pass& pass, std::int64_t index) {
  prefetch(first);
  model_.load(pass, batches_of(first).examples.rows(index * shape_.batch, shape_.batch));
}

void DeviceStep::micro_batch(std::int64_t first, Pass pass, std::int64_t index,
                             const LossScale& scale) {
  const ProfilerRange range(context_.kernels(), "micro_batch");
  load(first, pass, index);
  Batches& batches = batches_of(first);
  auto* micro_step = batches.micro_steps.view().as<std::int32_t>() + index;
  *micro_step = static_cast<std::int32_t>(pass.micro_step);
  pass.micro_step_at = model_.micro_step_place();
  copy_in(context_, model_.micro_step_place(), micro_step);
  recorder_.run(index == 0 ? "first micro-batch" : "later micro-batch", [&] {
    model_.compute(pass, scale);
    model_.add_mean_loss(pass, scale.count, optimizer_.loss_sum(), pass.accumulate);
  });
}

DeviceStep::Result DeviceStep::wait_for() {
  double done[2] = {};  // loss and squared norm
  copy_out(context_, done, optimizer_.loss_and_norm2());
  return {.loss_sum = done[0], .grad_norm = std::sqrt(done[1])};
}

}  // namespace twill
