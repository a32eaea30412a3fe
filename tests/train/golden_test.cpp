// SPDX-License-Identifier: Apache-2.0
// A recorded run: whatever changes the numbers of training, on purpose or not, shows here.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/run/training_run.h"
#include "train/step/trainer.h"

namespace twill {
namespace {

std::vector<double> recorded_losses() {
  std::ifstream file(TWILL_SOURCE_DIR "/tests/golden/tiny_losses.txt");
  std::vector<double> losses;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') losses.push_back(std::stod(line));
  return losses;
}

class Golden : public testing::TestWithParam<const char*> {};

// Backends and instruction sets round differently: the cpu backend stays within 8e-8 of the record
// on AVX-512. 1e-5 is a hundred times that, and a hundred times less than any change of formula
// makes.
TEST_P(Golden, TinyRunRepeatsItsLosses) {
  const std::vector<double> want = recorded_losses();
  ASSERT_EQ(want.size(), 20u);
  const RunConfig config = resolved(
      read_run_config("", {"model.layers=2", "model.width=32", "model.heads=2", "model.context=32",
                           "train.steps=20", "train.micro_batch=4", "schedule.warmup_steps=5",
                           "optimizer.lr=5e-3", "threads=2", std::string("device=") + GetParam()}),
      256);
  const TrainingData data = open_run_data(config);
  const Context context = open_context(config);
  Trainer trainer(context, config, data);
  trainer.begin();
  for (std::size_t step = 0; step < want.size(); ++step)
    EXPECT_NEAR(trainer.step().loss, want[step], 1e-5) << "step " << step + 1;
}

INSTANTIATE_TEST_SUITE_P(Devices, Golden, testing::Values("reference", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace twill
