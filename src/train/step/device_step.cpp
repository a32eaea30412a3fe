// SPDX-License-Identifier: Apache-2.0
#include "train/step/device_step.h"

#include <cmath>
#include <span>

#include "ops/transfer.h"

namespace twill {
DeviceStep::DeviceStep(const Context& context, Decoder& model, Optimizer& optimizer,
                       const MixedWindows& stream, Recorder& recorder, Shape shape)
    : context_(context),
      model_(model),
      optimizer_(optimizer),
      stream_(stream),
      recorder_(recorder),
      shape_(shape) {
  const twill::Shape all{shape.micro_batches, shape.batch, shape.time};
  for (Batches& batches : batches_) {
    batches.tokens = Tensor(DType::kI32, all, staging_memory(context));
    batches.targets = Tensor(DType::kI32, all, staging_memory(context));
    batches.micro_steps = Tensor(DType::kI32, {shape.micro_batches}, staging_memory(context));
  }
}

DeviceStep::Batches& DeviceStep::batches_of(std::int64_t first_window) {
  const std::int64_t windows = shape_.micro_batches * shape_.batch;
  return batches_[(first_window / windows) % 2];
}

void DeviceStep::prefetch(std::int64_t first_window) {
  Batches& batches = batches_of(first_window);
  if (batches.first_window == first_window) return;
  batches.first_window = -1;  // until it is whole
  const std::int64_t windows = shape_.micro_batches * shape_.batch;
  auto* tokens = batches.tokens.view().as<std::int32_t>();
  auto* targets = batches.targets.view().as<std::int32_t>();
  for (std::int64_t w = 0; w < windows; ++w)
    stream_.window(first_window + w, tokens + w * shape_.time, targets + w * shape_.time);
  batches.first_window = first_window;
}

void DeviceStep::micro_batch(std::int64_t first_window, Pass pass, std::int64_t index) {
  const ProfilerRange range(context_.kernels(), "micro_batch");
  prefetch(first_window);
  Batches& batches = batches_of(first_window);
  const std::int64_t tokens = shape_.batch * shape_.time;
  const auto part = [&](Tensor& all) {
    return std::span<const std::int32_t>(all.view().as<std::int32_t>() + index * tokens,
                                         static_cast<std::size_t>(tokens));
  };
  model_.load(pass, part(batches.tokens), part(batches.targets));
  auto* micro_step = batches.micro_steps.view().as<std::int32_t>() + index;
  *micro_step = static_cast<std::int32_t>(pass.micro_step);
  pass.micro_step_at = model_.micro_step_place();
  copy_in(context_, model_.micro_step_place(), micro_step);
  // Windows of a corpus have a target behind every token.
  const double scale = 1.0 / static_cast<double>(shape_.micro_batches * tokens);
  recorder_.run(index == 0 ? "first micro-batch" : "later micro-batch", [&] {
    model_.compute(pass, scale);
    model_.add_loss(pass, optimizer_.loss_sum(), pass.accumulate);
  });
}

DeviceStep::Result DeviceStep::wait_for() {
  double done[2] = {};  // loss and squared norm
  copy_out(context_, done, optimizer_.loss_and_norm2());
  const std::int64_t targets = shape_.micro_batches * shape_.batch * shape_.time;
  return {.loss = done[0] / static_cast<double>(targets), .grad_norm = std::sqrt(done[1])};
}

}  // namespace twill
