// SPDX-License-Identifier: Apache-2.0
// What decay does to flip rates and recomputing to the scale, in short runs: directions, not numbers.
#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "papers/recipe_run.h"

namespace twill {
namespace {

struct LateHealth {
  double flip_rate = 0.0;
  double beta = 0.0;
};

// Means over the second half of 60 steps.
LateHealth late_health(const Settings& recipe, int seed) {
  TinyTrainer tiny(Settings{"model.layers=1", "model.width=32", "train.steps=60",
                            "optimizer.lr=5e-3", "train.micro_batch=2", "recipe.health.every=1",
                            "train.seed=" + std::to_string(seed)} +
                   recipe);
  LateHealth late;
  for (const HealthSample& sample : samples_of(tiny)) {
    if (sample.step <= 30) continue;
    late.flip_rate += sample.overall.flip_rate / 30.0;
    late.beta += sample.overall.beta / 30.0;
  }
  return late;
}

struct Flips {
  double early_peak = 0.0, late = 0.0;
};

// The sparse 50 of 60 steps, a new mask in each: the highest rate of the first half, and the mean of
// the second.
Flips flips_of_fst(const std::string& lambda, int seed) {
  TinyTrainer tiny({"recipe=fst", "model.layers=1", "model.width=32", "train.steps=60",
                    "optimizer.lr=5e-3", "train.micro_batch=2", "recipe.health.every=1",
                    "recipe.phase.0.weights.refresh=1", "recipe.phase.0.decay.lambda=" + lambda,
                    "train.seed=" + std::to_string(seed)});
  Flips flips;
  for (const HealthSample& sample : samples_of(tiny)) {
    if (sample.step <= 25) flips.early_peak = std::max(flips.early_peak, sample.overall.flip_rate);
    if (sample.step > 25 && sample.step <= 50) flips.late += sample.overall.flip_rate / 25.0;
  }
  return flips;
}

// Over three seeds the rate falls by 15 % from 0 to 1e-4, by a third to 1e-3 and by four fifths to
// 1e-2. Of single seeds it falls by 4 to 25 % from 0 to 1e-4: too close to chance to ask for it.
TEST(Fst_D3, FlipRatesFallAlongTheGridOfLambda) {
  double before = 0.0, plain = 0.0;
  for (const char* lambda : {"0", "1e-4", "1e-3", "1e-2"}) {
    double late = 0.0;
    for (const int seed : {1, 2, 3}) {
      const Flips flips = flips_of_fst(lambda, seed);
      EXPECT_LT(flips.late, 0.2 * flips.early_peak) << "lambda " << lambda << ", seed " << seed;
      EXPECT_GT(flips.late, 0.0);
      late += flips.late / 3.0;
    }
    if (before == 0.0) {
      plain = late;
    } else {
      EXPECT_LT(late, before) << "lambda " << lambda;
    }
    before = late;
  }
  EXPECT_LT(before, 0.5 * plain);
}

// From 1.48 to about 1.6. The flip rate, which the paper sees rise too, goes either way at this size:
// up in 6 of 15 runs over learning rates and weight decays.
TEST(Sste_S6, ARecomputedScaleRisesInTraining) {
  for (const int seed : {1, 2, 3}) {
    const LateHealth frozen = late_health({"recipe=s-ste"}, seed);
    const LateHealth moving =
        late_health({"recipe=s-ste", "recipe.phase.0.weights.scale=recomputed"}, seed);
    EXPECT_GT(moving.beta, frozen.beta + 0.05) << seed;
  }
}

struct FlipCounter : OpObserver {
  void before(std::string_view op) override { counted += op == "mask_difference"; }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  std::int64_t counted = 0;
};

// A count makes the host wait for the device: the sample itself makes one, and the refresh in front of it.
TEST(SrSte, FlipsAreCountedWhereASampleShowsThem) {
  const Settings recipe = busy("sr-ste") + Settings{"recipe.execution=masked"};
  TinyTrainer every(recipe + Settings{"recipe.health.every=1"}), third(recipe);
  FlipCounter counter;
  third.context.observer = &counter;
  const std::vector<HealthSample> all = samples_of(every), some = samples_of(third);
  third.context.observer = nullptr;
  ASSERT_EQ(all.size(), 24u);
  ASSERT_EQ(some.size(), 8u);  // steps 1, 4 ... 22
  const auto layers = static_cast<std::int64_t>(some.front().layers.size());
  EXPECT_EQ(counter.counted, 16 * layers)
      << "8 samples, and the refreshes behind steps 3, 6 ... 24";
  for (std::size_t i = 0; i < some.size(); ++i) {
    const HealthSample &want = all[3 * i], &got = some[i];
    ASSERT_EQ(got.step, want.step);
    EXPECT_EQ(got.overall.flip_rate, want.overall.flip_rate) << got.step;
    EXPECT_EQ(got.overall.interval_flip_rate, want.overall.interval_flip_rate) << got.step;
    EXPECT_EQ(got.overall.interval_flip_rate > 0.0, i > 0) << got.step;
  }
}

}  // namespace
}  // namespace twill
