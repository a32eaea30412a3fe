// SPDX-License-Identifier: Apache-2.0
// Gradients on a backend that records its work: batches are staged, forward and backward run
// recorded (train/step/recorder.h), and the host waits once, at the end of a step. What changes
// between steps is read from memory: tokens, and the micro-step that random draws depend on.
#pragma once

#include <cstdint>

#include "data/mixed_windows.h"
#include "models/decoder.h"
#include "nn/pass.h"
#include "tensor/tensor.h"
#include "train/step/optimizer.h"
#include "train/step/recorder.h"

namespace twill {

class DeviceStep {
 public:
  struct Shape {
    std::int64_t batch = 1;
    std::int64_t time = 1;
    std::int64_t micro_batches = 1;
  };
  DeviceStep(const Context& context, Decoder& model, Optimizer& optimizer,
             const MixedWindows& stream, Recorder& recorder, Shape shape);

  // Reads the windows of a step from `first_window` on into host memory, unless they are there.
  void prefetch(std::int64_t first_window);

  // Gives micro-batch `index` of that step to the queue.
  void micro_batch(std::int64_t first_window, Pass pass, std::int64_t index);

  struct Result {
    double loss = 0.0;
    double grad_norm = 0.0;
  };
  // Waits for what is queued.
  Result wait_for();

 private:
  struct Batches {
    std::int64_t first_window = -1;
    Tensor tokens;  // (micro_batches, batch, time) i32, staged
    Tensor targets;
    Tensor micro_steps;  // (micro_batches) i32, staged
  };
  Batches& batches_of(std::int64_t first_window);

  const Context& context_;
  Decoder& model_;
  Optimizer& optimizer_;
  const MixedWindows& stream_;
  Recorder& recorder_;
  Shape shape_;
  Batches batches_[2];  // the step at work, and the next
};

}  // namespace twill
