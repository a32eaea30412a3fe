// SPDX-License-Identifier: Apache-2.0
// The run of tiny_run.h on a table of the test's choice: the fake device, or the reference table
// for the same kernels in the host's memory.
#pragma once

#include <string>
#include <vector>

#include "ops/transfer.h"
#include "support/fake_device.h"
#include "train/tiny_run.h"

namespace twill {

struct FakeRun {
  explicit FakeRun(const std::vector<std::string>& more = {},
                   const KernelTable& kernels = fake_device_table())
      : config(tiny_config(more)),
        data(open_run_data(config)),
        table(kernels),
        context(table, 1),
        trainer(context, config, data) {
    trainer.begin();
  }

  std::vector<double> losses(int steps) {
    std::vector<double> all;
    for (int step = 0; step < steps; ++step) all.push_back(trainer.step().loss);
    return all;
  }
  // All weights, one behind the other; all first and second moments.
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& parameter : trainer.builder().parameters()) add(all, parameter.value);
    return all;
  }
  std::vector<float> moments() const {
    std::vector<float> all;
    for (const Optimizer::Slot& slot : trainer.optimizer().slots()) {
      add(all, slot.m);
      add(all, slot.v);
    }
    return all;
  }
  // What the device was asked for by training: begin() waits too.
  FakeDeviceCounts counts() const { return fake_device_counts(context); }

  RunConfig config;
  TrainingData data;
  KernelTable table;
  Context context;
  Trainer trainer;

 private:
  void add(std::vector<float>& all, ConstView view) const {
    const std::vector<float> values = host_floats(context, view);
    all.insert(all.end(), values.begin(), values.end());
  }
};

// Micro-batches of 4 windows of 16 tokens, three to a step.
inline std::vector<std::string> in_three_parts(std::vector<std::string> settings = {}) {
  settings.emplace_back("train.batch_tokens=192");
  return settings;
}

}  // namespace twill
