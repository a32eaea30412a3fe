// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ops/layers/activation.h"
#include "ops/products/gemm.h"
#include "support/tables.h"

namespace twill {
namespace {

class GemmEpilogueSteps : public TableTest {};

// c = f(before as stored): who keeps only `before` computes c again and has the same bits. An f
// that saw the sum before its rounding to bf16 differs in some thousandths of the elements.
TEST_P(GemmEpilogueSteps, AnActivationIsComputedFromWhatIsStored) {
  Random random;
  const auto& on = GetParam();
  const std::int64_t m = 128, n = 264, k = 136;
  const Buffer a = on.buffer(random.normal(m * k)), b = on.buffer(random.normal(n * k, 0.2));
  const Buffer bias = on.buffer(random.normal(n));
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu2}) {
    const Buffer before = on.buffer(rubbish(m * n)), c = on.buffer(rubbish(m * n));
    const Buffer again = on.buffer(rubbish(m * n));
    gemm(*on.context(), {.a = a.view({m, k}),
                         .b = b.view({n, k}),
                         .c = c.view({m, n}),
                         .trans_b = true,
                         .bias = bias.view({n}),
                         .epilogue = GemmEpilogue::kActivation,
                         .activation = kind,
                         .before = before.view({m, n})});
    activation_forward(*on.context(),
                       {.kind = kind, .x = before.view({m, n}), .y = again.view({m, n})});
    const Values values = c.values();
    EXPECT_EQ(values, again.values());
    EXPECT_TRUE(std::ranges::any_of(values, [](double value) { return value > 1.0; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, GemmEpilogueSteps, testing::ValuesIn(setups_with_device()),
                         setup_name);

TEST(GemmSteps, ShareTheOperands) {
  const Buffer memory(Values(64, 0.0), DType::kF32);
  const View all = memory.view({64});
  const auto matrix = [&](std::int64_t begin) { return all.slice(begin, 4).reshaped({2, 2}); };
  GemmArgs args{.a = matrix(0),
                .b = matrix(4),
                .c = matrix(8),
                .bias = all.slice(16, 2),
                .epilogue = GemmEpilogue::kActivation,
                .activation = Activation::kRelu2,
                .before = matrix(12)};
  // Forward: the sum goes to `before`, f from there to c.
  EXPECT_EQ(sum_of(args).c.bytes(), args.before.bytes());
  EXPECT_EQ(sum_of(args).epilogue, GemmEpilogue::kNone);
  EXPECT_FALSE(sum_of(args).before);
  EXPECT_EQ(sum_of(args).bias.bytes(), args.bias.bytes());
  EXPECT_EQ(activation_of(args).kind, Activation::kRelu2);
  EXPECT_EQ(activation_of(args).x.bytes(), args.before.bytes());
  EXPECT_EQ(activation_of(args).y.bytes(), args.c.bytes());
  // Backward: the sum goes to c, and its gradient through f stays there.
  args.epilogue = GemmEpilogue::kActivationGradient;
  EXPECT_EQ(sum_of(args).c.bytes(), args.c.bytes());
  EXPECT_EQ(gradient_of(args).x.bytes(), args.before.bytes());
  EXPECT_EQ(gradient_of(args).dy.bytes(), args.c.bytes());
  EXPECT_EQ(gradient_of(args).dx.bytes(), args.c.bytes());
}

}  // namespace
}  // namespace twill
