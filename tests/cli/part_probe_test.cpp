// SPDX-License-Identifier: Apache-2.0
// What bench ffn and bench block count as masked decay where the optimizer works on a device.
#include "cli/bench/part_probe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ops/update/update_all.h"
#include "support/fake_device.h"
#include "support/test_clock.h"
#include "train/tiny_run.h"

namespace twill::cli {
namespace {

// AdamW takes 10 ms, and 3 more for every matrix with a mask.
KernelTable update_by_the_clock() {
  KernelTable table = by_test_clock(fake_device_table());
  table.adamw_all = [](const AdamwAllArgs& args, const Device&, Queue&) {
    const auto masked = std::ranges::count_if(
        args.tensors, [](const UpdateTensor& tensor) { return tensor.mask.bytes() != nullptr; });
    test_clock += 10e-3 + 3e-3 * static_cast<double>(masked);
  };
  return table;
}

class PartOnADevice : public testing::Test {
 protected:
  RunConfig config_with(const std::string& recipe) const {
    return tiny_config({"recipe=" + recipe, "recipe.health.every=0", "recipe.execution=masked",
                        "train.micro_batch=2"});
  }

  KernelTable table_ = update_by_the_clock();
  Context context_{table_, 1};
};

TEST_F(PartOnADevice, DecayIsWhatItAddsToTheOptimizer) {
  const RunConfig config = config_with("fst");
  PartProbe probe(context_, config, PartKind::kFfn, PartExecution::kMasked);
  probe.ordinary_step();
  EXPECT_NEAR(probe.decay_inside_update(), 6e-3, 1e-9) << "two matrices";
  EXPECT_FALSE(probe.profile().contains("masked_decay"));
}

TEST_F(PartOnADevice, DenseHasNone) {
  const RunConfig config = config_with("fst");
  PartProbe probe(context_, config, PartKind::kFfn, PartExecution::kDense);
  probe.ordinary_step();
  EXPECT_EQ(probe.decay_inside_update(), 0.0);
}

TEST_F(PartOnADevice, DecayOfWeightsComesWithTheUpdateToo) {
  const RunConfig config = config_with("sr-ste-weights");
  PartProbe probe(context_, config, PartKind::kFfn, PartExecution::kMasked);
  probe.ordinary_step();
  EXPECT_NEAR(probe.decay_inside_update(), 6e-3, 1e-9) << "two matrices";
  EXPECT_FALSE(probe.profile().contains("masked_decay"));
}

// An FFN has none of the names that such a rule may be for.
TEST_F(PartOnADevice, TakesRulesForOtherParameters) {
  RunConfig config = config_with("fst");
  config.optimizer.group.push_back({.match = "*embedding*", .lr_scale = 2.0});
  EXPECT_NO_THROW(PartProbe(context_, config, PartKind::kFfn, PartExecution::kDense));
}

}  // namespace
}  // namespace twill::cli
