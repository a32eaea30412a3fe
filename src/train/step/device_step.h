// SPDX-License-Identifier: Apache-2.0
// Gradients on a backend that records its work: batches are staged, forward and backward run
// recorded (train/step/recorder.h), and the host waits once, at the end of a step. What changes
// between steps is read from memory: batches, and the micro-step that random draws depend on.
#pragma once

#include <cstdint>

#include "data/data.h"
#include "models/model.h"
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
    std::int64_t micro_batches = 1;  // of this process
    std::int64_t processes = 1;
  };
  DeviceStep(const Context& context, Model& model, Optimizer& optimizer, const Data& data,
             Recorder& recorder, Shape shape);

  // Reads the examples of a step from `first` on into host memory, unless they are there.
  void prefetch(std::int64_t first);
  // The same for a step that has not begun: data that fail are asked again by the step that needs them.
  void prefetch_ahead(std::int64_t first);

  // Puts micro-batch `index` of that step where the model reads it.
  void load(std::int64_t first, const Pass& pass, std::int64_t index);
  // Gives it to the queue.
  void micro_batch(std::int64_t first, Pass pass, std::int64_t index, const LossScale& scale);

  struct Result {
    double loss_sum = 0.0;  // over the passes
    double grad_norm = 0.0;
  };
  // Waits for what is queued.
  Result wait_for();

 private:
  struct Batches {
    std::int64_t first = -1;
    BatchStorage examples;  // micro_batches x batch rows, staged
    Tensor micro_steps;     // (micro_batches) i32, staged
  };
  Batches& batches_of(std::int64_t first);

  const Context& context_;
  Model& model_;
  Optimizer& optimizer_;
  const Data& data_;
  Recorder& recorder_;
  Shape shape_;
  Batches batches_[2];  // the step at work, and the next
};

}  // namespace twill
