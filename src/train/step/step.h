// SPDX-License-Identifier: Apache-2.0
// One training step is one list of pieces, the same wherever it runs:
//
//   gradients | reduce | norm | update | renew
//
//   gradients  of all micro-batches, for one mean over all their targets
//   reduce     over the processes of a run: without a reducer there is one
//   norm       of the gradients; those outside a kept topology are hidden first
//   update     clipping, pulls on pruned weights and AdamW; before it, where due, the second moments
//              are watched and the topology moves
//   renew      masks, projected and packed weights; a sample of health, where due
//
// A host runs the pieces. A device records gradients, norm and update (train/step/recorder.h) and
// replays them while its arrangement stays; the host then learns loss and norm at the end of the step.
// Where it must know them earlier it waits there: in front of an update of the topology, of a look at
// the moments, and of a sample. Loss or norm that are not finite change no weight.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "data/data.h"
#include "models/model.h"
#include "sparsity/engine/engine.h"
#include "train/run/run_config.h"
#include "train/step/device_step.h"
#include "train/step/optimizer.h"
#include "train/step/recorder.h"
#include "train/step/reducer.h"
#include "train/step/step_targets.h"

namespace twill {

class Step {
 public:
  // Where a run stands in front of the step.
  struct Place {
    std::int64_t step = 0;     // from 0
    std::int64_t updates = 0;  // applied so far
    std::int64_t windows = 0;  // that each process has learnt from
  };
  struct Result {
    double loss = 0.0;
    double lr = 0.0;
    double grad_norm = 0.0;
    bool finite = true;
    bool moved_topology = false;
    bool updated = false;  // AdamW was applied
  };

  // The parts are borrowed; the builder is committed.
  Step(const Context& context, const RunConfig& config, Model& model, Optimizer& optimizer,
       SparsityEngine& sparsity, const Data& data, Reducer* reducer = nullptr);
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // In place of the config's schedule: see Trainer.
  void set_schedule(std::function<double(std::int64_t step)> schedule) {
    schedule_ = std::move(schedule);
  }

  // Gives up between micro-batches when `stop` is set: no weight has changed then.
  std::optional<Result> run(const Place& place, const std::atomic<bool>& stop);

  // Names of the pieces, in order.
  static std::vector<std::string_view> names();

 private:
  struct Piece;
  static std::span<const Piece> pieces();

  void begin();
  bool gradients();  // false: given up
  bool reduce();
  bool norm();
  bool update();
  bool renew();
  // Whether loss and norm must be known in front of a piece.
  bool never_asks() const { return false; }
  bool update_asks() const;
  bool renew_asks() const;
  void settle();

  Pass pass_of(std::int64_t index) const;
  void count_targets();
  void load(std::int64_t index);
  void micro_batch(std::int64_t index);
  void measure_norm();
  // Of this process in one step; of all.
  std::int64_t windows() const { return config_.accumulation() * config_.train.micro_batch; }
  std::int64_t passes() const { return config_.accumulation() * processes_; }
  // The first of this process's examples in the step at work.
  std::int64_t first() const { return place_.windows * processes_ + rank_ * windows(); }

  const Context& context_;
  const RunConfig& config_;
  Model& model_;
  Optimizer& optimizer_;
  SparsityEngine& sparsity_;
  const Data& data_;
  std::function<double(std::int64_t)> schedule_;  // empty: the config's
  Recorder recorder_;
  std::optional<DeviceStep> device_;  // absent: a host's step
  std::int64_t arrangement_ = 0;      // of the sparsity, that recordings were made for
  BatchStorage batch_;                // of a host's step, all micro-batches
  Reducer* reducer_;                  // nullptr: there is one process
  std::int64_t processes_ = 1;
  std::int64_t rank_ = 0;
  StepTargets targets_;

  // Of the step at work.
  Place place_;
  Result result_;
  const std::atomic<bool>* stop_ = nullptr;
  bool moves_ = false;       // the topology, behind it
  bool is_settled_ = false;  // loss and norm are known
};

}  // namespace twill
