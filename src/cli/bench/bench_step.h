// SPDX-License-Identifier: Apache-2.0
// twill bench step: the time of a training step, op by op, against the floor set by its own
// products and against the roofs of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "train/step/roof.h"
#include "train/step/step_profile.h"

namespace twill::cli {

// What was measured, ready to be shown.
struct StepBench {
  std::vector<double> seconds;  // of each step, sorted
  StepProfile::Ops ops;         // of one more step
  std::vector<ProductTime> products;
  std::vector<NamedProduct> kernels;  // of the same step's layers
  int product_repeats = 0;            // of which the best counts
  Roof roof;
  double peak_flops = 0.0;   // per second, by the datasheet; 0: not known
  double model_flops = 0.0;  // of a step, as in StepShares::mfu
  std::int64_t tokens = 0;   // of a step
  bool on_device = false;    // with memory of its own
  std::int64_t table_bytes = 0;
  std::int64_t used_bytes = 0;  // host: most that the process had; device: taken by the trainer
  DeviceReadings readings;      // behind the last of the steps

  double median() const { return seconds[seconds.size() / 2]; }
  double floor() const { return floor_seconds(products); }
};

int bench_step(const BenchCommand& command);

void print_report(const StepBench& bench);
std::string json_report(const StepBench& bench);

}  // namespace twill::cli
