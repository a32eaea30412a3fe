// SPDX-License-Identifier: Apache-2.0
// venom.md 7, V6: the six products of a sparse FFN are dense products with explicitly masked
// operands, and together they are a gradient.
#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "ops/selection/venom.h"
#include "papers/broken.h"
#include "papers/ffn_kit.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kTokens = 8, kWidth = 4, kHidden = 16;
constexpr std::int32_t kTokenOrder[] = {3, 0, 5, 2, 7, 4, 1, 6};

class Venom_V6 : public SeededTest {};

Numbers mask_of(const Context& context, const Numbers& a, GroupAxis along, std::int64_t v,
                std::int64_t m) {
  const Tensor x = tensor_of(a);
  Tensor mask(DType::kU8, a.shape());
  venom_select(context, {.x = x.view(),
                         .mask = mask.view(),
                         .row_order = view_of(kTokenOrder, {kTokens}),
                         .along = along,
                         .v = v,
                         .m = m});
  return numbers_in(mask.view());
}

// What the six products must have been, from integers.
void expect_masked_products(const Context& context, const FfnRun& run, const Numbers& x,
                            const Numbers& dy, const Numbers& us, const Numbers& ds) {
  const auto along = GroupAxis::kWithinRow, tokens = GroupAxis::kWithinColumn;
  const Numbers z = product(x, transposed(us)), a = relu2(z);
  const Numbers mask = mask_of(context, a, along, 2, 8), ah = masked(a, mask);
  const Numbers da = product(dy, ds), dz = masked(relu2_gradient(da, z), mask);
  const Numbers ah_tokens = masked(ah, mask_of(context, ah, tokens, 1, 4));
  const Numbers dz_tokens = masked(dz, mask_of(context, dz, tokens, 1, 4));
  EXPECT_NE(ah, a);
  EXPECT_NE(ah_tokens, ah);
  EXPECT_NE(dz_tokens, dz);
  EXPECT_EQ(run.up.c, z);
  EXPECT_EQ(run.y, product(ah, transposed(ds)));
  EXPECT_EQ(run.down_dgrad.c, da);
  EXPECT_EQ(run.dx, product(dz, us));
  EXPECT_EQ(run.dd, product(transposed(dy), ah_tokens));
  EXPECT_EQ(run.du, product(transposed(dz_tokens), x));
}

TEST_F(Venom_V6, MaskedProductsAreDenseOnes) {
  Random random;
  const Numbers x = small_integers(random, kTokens, kWidth, -3, 3);
  const Numbers dy = small_integers(random, kTokens, kWidth, -3, 3);
  const Numbers u = small_integers(random, kHidden, kWidth, -3, 3);
  const Numbers d = small_integers(random, kWidth, kHidden, -3, 3);
  const Numbers us = small_integers(random, kHidden, kWidth, -3, 3);
  const Numbers ds = small_integers(random, kWidth, kHidden, -3, 3);
  for (const KernelTable* table : paper_tables()) {
    SCOPED_TRACE(table->name);
    FfnKit kit(*table, kTokens, kWidth, kHidden);
    kit.set_weights(u, d);
    const Tensor us_in = tensor_of(us), ds_in = tensor_of(ds);
    kit.up().route.forward.operand = kit.up().route.dgrad.operand = dense(us_in.view());
    kit.down().route.forward.operand = kit.down().route.dgrad.operand = dense(ds_in.view());
    FfnSeam& seam = kit.seam();
    seam.selects = true;
    seam.v = 2;
    seam.m = 8;
    seam.transposed_m = 4;
    seam.order = TokenOrder::kFixed;
    seam.fixed_order = view_of(kTokenOrder, {kTokens});
    expect_masked_products(kit.context, kit.run(x, dy), x, dy, us, ds);
  }
}

// Differences of 2e-4 move no mask here, so the function is the masked one.
TEST_F(Venom_V6, BackwardIsTheGradientOfTheMaskedFunction) {
  LayerBench bench(4, 4, {.table = paper_tables()[0], .selects_activations = true});
  const FeedForward layer(bench.builder, "ffn",
                          {.width = 4, .hidden = 16, .activation = Activation::kRelu2});
  bench.builder.commit();
  FfnSeam& seam = bench.builder.ffn_seams().front();
  seam.selects = true;
  seam.v = 2;
  seam.m = 8;
  Pass pass = bench.pass();
  pass.as_trained = true;
  const Tensor residual(DType::kF64, bench.out.view().shape());
  bench.check([&] { layer.forward(pass, bench.x.view(), residual.view(), bench.out.view()); },
              [&] { bench.backward(layer, pass); });
}

}  // namespace
}  // namespace twill
