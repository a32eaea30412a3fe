// SPDX-License-Identifier: Apache-2.0
// What decay and a recomputed scale do to flip rates, in short runs: directions, not numbers.
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
  TinyTrainer tiny(Settings{"model.layers=1", "train.steps=60", "optimizer.lr=5e-3",
                            "train.micro_batch=2", "recipe.health.every=3",
                            "train.seed=" + std::to_string(seed)} +
                   recipe);
  LateHealth late;
  for (const HealthSample& sample : samples_of(tiny)) {
    if (sample.step <= 30) continue;
    late.flip_rate += sample.overall.flip_rate / 10.0;
    late.beta += sample.overall.beta / 10.0;
  }
  return late;
}

TEST(Fst_D3, FlipRatesFallAlongTheGridOfLambda) {
  for (const int seed : {1, 2, 3}) {
    double before = late_health({"recipe=ste"}, seed).flip_rate;
    EXPECT_GT(before, 0.0);
    for (const char* lambda : {"0.03", "0.3", "3"}) {
      const double rate =
          late_health({"recipe=sr-ste", std::string("recipe.phase.0.decay.lambda=") + lambda}, seed)
              .flip_rate;
      EXPECT_LT(rate, before) << "lambda " << lambda << ", seed " << seed;
      before = rate;
    }
  }
}

TEST(Sste_S6, ARecomputedScaleRaisesBetaAndFlips) {
  for (const int seed : {1, 2, 3}) {
    const LateHealth frozen = late_health({"recipe=s-ste"}, seed);
    const LateHealth moving =
        late_health({"recipe=s-ste", "recipe.phase.0.weights.scale=recomputed"}, seed);
    EXPECT_GT(moving.beta, frozen.beta) << seed;
    EXPECT_GT(moving.flip_rate, frozen.flip_rate) << seed;
  }
}

}  // namespace
}  // namespace twill
