// SPDX-License-Identifier: Apache-2.0
// A training step on a backend that records its work: batches are staged, forward, backward and
// update run as recorded pieces, and the host waits once, at the end.
//
// The first run of each piece is plain: libraries choose their algorithms in it. The second is
// recorded; all later ones are replayed. What changes between steps is read from memory: batches, the
// micro-step that random draws depend on, and the optimizer's scalars.
#pragma once

#include <cstdint>
#include <memory>

#include "data/data.h"
#include "models/model.h"
#include "nn/pass.h"
#include "ops/kernel_table.h"
#include "tensor/tensor.h"
#include "train/step/optimizer.h"

namespace twill {

class DeviceStep {
 public:
  struct Shape {
    std::int64_t batch = 1;
    std::int64_t time = 1;
    std::int64_t micro_batches = 1;
  };
  DeviceStep(const Context& context, Model& model, Optimizer& optimizer, const Data& data,
             Shape shape);

  // Reads the examples of a step from `first` on into host memory, unless they are there.
  void prefetch(std::int64_t first);

  // What was recorded is out of date: layers or the update run otherwise from here on.
  void forget_recordings();

  // Gives micro-batch `index` of that step to the queue.
  void micro_batch(std::int64_t first, Pass pass, std::int64_t index);
  // Gives the update to the queue; gradients that are not finite change nothing.
  void update(double lr, std::int64_t update_count);

  struct Result {
    double loss = 0.0;
    double grad_norm = 0.0;
  };
  // Waits for the step.
  Result wait_for();

 private:
  // A piece of work that is recorded when it is run for the second time.
  struct Piece {
    bool has_run = false;
    std::unique_ptr<Recording> recording;
  };
  template <class Work>
  void run(Piece& piece, const Work& work);

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
  Shape shape_;
  Batches batches_[2];  // the step at work, and the next
  Piece first_, later_, update_;
};

}  // namespace twill
