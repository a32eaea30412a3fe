// SPDX-License-Identifier: Apache-2.0
#include "ops/update/masked_decay.h"

#include <cmath>

#include "ops/checks.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "support/sparse_data.h"

namespace twill {
namespace {

struct MaskedDecayProblem {
  Values target, weight, mask;
  double scale = 1.0, rate = 0.0;
  bool in_place = false;  // target is weight

  Outputs run(const Setup& setup) const {
    const Shape shape{static_cast<std::int64_t>(target.size())};
    const Buffer target_in = setup.wide(target), weight_in = setup.wide(weight);
    const Buffer mask_in = setup.buffer(mask, DType::kU8);
    masked_decay(*setup.context(),
                 {.target = target_in.view(shape),
                  .weight = in_place ? target_in.view(shape) : weight_in.view(shape),
                  .mask = mask_in.view(shape),
                  .scale = scale,
                  .rate = rate});
    return {{"target", target_in.values()}};
  }
};

testing::AssertionResult check_one(const Setup& setup, Random& random, std::int64_t count) {
  MaskedDecayProblem problem{random.normal(count), random.normal(count), random_mask(random, count),
                             0.37, 6e-5};
  if (auto result = judge_exact(setup, problem); !result) return result;
  problem.in_place = true;
  problem.rate = -0.3;
  if (auto result = judge_exact(setup, problem); !result) return result << " in place";
  problem.target = awkward_values(random, count);
  return judge_exact(setup, problem) << " with specials";
}

}  // namespace

testing::AssertionResult check_masked_decay(const Setup& setup) {
  Random random;
  for (const std::int64_t count : kAwkwardSizes)
    if (auto result = check_one(setup, random, count); !result) return result << " of " << count;
  return check_one(setup, random, 70'000);
}

namespace {

class MaskedDecay : public TableTest {};

TEST_P(MaskedDecay, IsExact) { EXPECT_TRUE(check_masked_decay(GetParam())); }

// Even of NaN and -0: with scale 1 a kept entry is its own bits.
TEST_P(MaskedDecay, LeavesKeptEntriesAlone) {
  Random random;
  const Values target = awkward_values(random, 500);
  const MaskedDecayProblem problem{target, Values(500, NAN), Values(500, 1.0), 1.0, 0.5};
  EXPECT_TRUE(expect_same_bits("target", problem.run(GetParam())[0].values, target));
}

INSTANTIATE_TEST_SUITE_P(Tables, MaskedDecay, testing::ValuesIn(setups_with_device()), setup_name);

TEST(MaskedDecayErrors, NameTheProblem) {
  const Buffer x(Values(6), DType::kF32), mask(Values(6), DType::kU8);
  const MaskedDecayArgs good{
      .target = x.view({2, 3}), .weight = x.view({2, 3}), .mask = mask.view({2, 3})};
  EXPECT_NO_THROW(validate(good));
  expect_refused(
      good, [](auto& args) { args.weight = {}; }, "[masked_decay] weight is missing");
  expect_refused(
      good, [&](auto& args) { args.weight = x.view({6}); },
      "[masked_decay] weight must have shape (2, 3), got (6)");
  expect_refused(
      good, [](auto& args) { args.scale = NAN; }, "[masked_decay] scale must be finite, got nan");
  expect_refused(
      good, [](auto& args) { args.rate = INFINITY; },
      "[masked_decay] rate must be finite, got inf");
  expect_refused(
      good, [](auto& args) { args.mask = {}; }, "[masked_decay] mask is missing");
  expect_refused(
      good, [&](auto& args) { args.mask = mask.view({6}); },
      "[masked_decay] mask must have shape (2, 3), got (6)");
}

}  // namespace
}  // namespace twill
