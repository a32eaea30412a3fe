// SPDX-License-Identifier: Apache-2.0
#include "train/step/device_step.h"

#include <cmath>
#include <exception>

#include "ops/transfer.h"

namespace twill {
namespace {

void abandon_recording(const KernelTable& kernels, Queue& queue) {
  try {
    static_cast<void>(kernels.end_recording(queue));
  } catch (const std::exception&) {
    // The first error is the one to report.
  }
}

}  // namespace

DeviceStep::DeviceStep(const Context& context, Model& model, Optimizer& optimizer, const Data& data,
                       Shape shape)
    : context_(context), model_(model), optimizer_(optimizer), data_(data), shape_(shape) {
  const Memory& staging = staging_memory(context);
  for (Batches& batches : batches_) {
    batches.examples = BatchStorage(data.layout(), shape.micro_batches * shape.batch, staging);
    batches.micro_steps = Tensor(DType::kI32, {shape.micro_batches}, staging);
  }
}

DeviceStep::Batches& DeviceStep::batches_of(std::int64_t first) {
  const std::int64_t examples = shape_.micro_batches * shape_.batch;
  return batches_[(first / examples) % 2];
}

void DeviceStep::prefetch(std::int64_t first) {
  Batches& batches = batches_of(first);
  if (batches.first == first) return;
  batches.first = -1;  // until it is whole
  data_.fill(first, batches.examples.rows(0, shape_.micro_batches * shape_.batch));
  batches.first = first;
}

void DeviceStep::forget_recordings() {
  for (Piece* piece : {&first_, &later_, &update_}) *piece = {};
}

template <class Work>
void DeviceStep::run(Piece& piece, const Work& work) {
  const KernelTable& kernels = context_.kernels();
  const bool may_record = kernels.begin_recording != nullptr && context_.observer == nullptr;
  if (!may_record || !piece.has_run) {
    work();
    piece.has_run = true;
    return;
  }
  if (!piece.recording) {
    kernels.begin_recording(context_.queue());
    try {
      work();
    } catch (...) {
      // What follows must find a queue that runs again; the half recording is of no use.
      abandon_recording(kernels, context_.queue());
      throw;
    }
    piece.recording = kernels.end_recording(context_.queue());
  }
  kernels.replay(*piece.recording, context_.queue());
}

void DeviceStep::micro_batch(std::int64_t first, Pass pass, std::int64_t index) {
  const ProfilerRange range(context_.kernels(), "micro_batch");
  prefetch(first);
  Batches& batches = batches_of(first);
  model_.load(pass, batches.examples.rows(index * shape_.batch, shape_.batch));
  auto* micro_step = batches.micro_steps.view().as<std::int32_t>() + index;
  *micro_step = static_cast<std::int32_t>(pass.micro_step);
  pass.micro_step_at = model_.micro_step_place();
  copy_in(context_, model_.micro_step_place(), micro_step);
  const double share = 1.0 / static_cast<double>(shape_.micro_batches);
  run(index == 0 ? first_ : later_, [&] {
    model_.compute(pass, share);
    model_.add_mean_loss(pass, optimizer_.loss_sum(), pass.accumulate);
  });
}

void DeviceStep::update(double lr, std::int64_t update_count) {
  const ProfilerRange range(context_.kernels(), "update");
  optimizer_.set_scalars(context_, lr, update_count);
  run(update_, [&] { optimizer_.update_on_device(context_); });
}

DeviceStep::Result DeviceStep::wait_for() {
  double done[2] = {};  // loss and squared norm
  copy_out(context_, done, optimizer_.loss_and_norm2());
  return {.loss = done[0] / static_cast<double>(shape_.micro_batches),
          .grad_norm = std::sqrt(done[1])};
}

}  // namespace twill
