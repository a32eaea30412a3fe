// SPDX-License-Identifier: Apache-2.0
// A soft projection and what is packed of it are made together; they are what each step gives alone.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "ops/packing/packed_matrix.h"
#include "ops/selection/soft_threshold24.h"
#include "papers/recipe_run.h"
#include "sparsity/engine/engine.h"

namespace twill {
namespace {

bool same_bytes(ConstView a, ConstView b) {
  return a.num_bytes() == b.num_bytes() &&
         std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.num_bytes())) == 0;
}

// The entries of a packed matrix.
Tensor entries_of(const Context& context, const PackedMatrix& packed) {
  Tensor dense(DType::kF32, {packed.shape.rows, packed.shape.cols}, context.memory());
  unpack_matrix(context, {.packed = packed, .dense = dense.view()});
  return dense;
}

// The layer's weight projected, and packed from there.
void expect_two_steps(const Context& context, const SparseLayer& layer) {
  const LinearSeam& seam = *layer.seam;
  Tensor projected(DType::kF32, seam.weight->shape, context.memory());
  soft_threshold24(context, {.x = layer.weight(), .y = projected.view(), .scale = layer.beta});
  EXPECT_TRUE(same_bytes(layer.projected, projected.view())) << seam.name;
  for (const bool transpose : {false, true}) {
    const Operand& side = transpose ? seam.route.dgrad.packed : seam.route.forward.packed;
    ASSERT_TRUE(side) << seam.name;
    const PackedMatrix packed = side.packed_matrix();
    Tensor storage(DType::kU8, {packed.storage.num_bytes()}, context.memory());
    pack_matrix(context, {.dense = projected.view(),
                          .shape = packed.shape,
                          .storage = storage.view(),
                          .transpose = transpose});
    const Tensor want = entries_of(context, {packed.shape, storage.view()});
    EXPECT_TRUE(same_bytes(entries_of(context, packed).view(), want.view())) << seam.name;
  }
}

TEST(SoftPacking, IsWhatProjectionAndPackingGive) {
  TinyTrainer tiny(busy("s-ste") + Settings{"recipe.execution=packed"});
  for (int step = 0; step < 3; ++step) {
    tiny.trainer.step();
    for (const SparseLayer& layer : tiny.trainer.sparsity().layers())
      expect_two_steps(tiny.context, layer);
  }
}

TEST(SoftPacking, MaskedExecutionProjectsAndPacksNothing) {
  TinyTrainer tiny(busy("s-ste"));
  tiny.trainer.step();
  for (const SparseLayer& layer : tiny.trainer.sparsity().layers()) {
    Tensor projected(DType::kF32, layer.seam->weight->shape, tiny.context.memory());
    soft_threshold24(tiny.context,
                     {.x = layer.weight(), .y = projected.view(), .scale = layer.beta});
    EXPECT_TRUE(same_bytes(layer.projected, projected.view()));
    EXPECT_FALSE(layer.seam->route.forward.packed);
  }
}

// Where dgrad takes the master nobody reads the projection with its zeros; passes of fewer tokens than
// packed products take unpack it for themselves.
TEST(SoftPacking, WhatNobodyReadsIsUnpackedForFewTokens) {
  const TempDir dir;
  const std::string recipe = dir.write("forward.toml", R"(
layers = ["ffn"]
[[phase]]
until   = 1.0
weights = { pattern = "2:4", projection = "soft", scale = "min-mse", dgrad = [] }
)");
  // 16 tokens in a pass of an evaluation, 32 in one of a step.
  const Settings few{"eval.windows=1"};
  TinyTrainer masked(busy(recipe) + few);
  TinyTrainer packed(busy(recipe) + few + Settings{"recipe.execution=packed"});
  for (int step = 0; step < 6; ++step) {
    const double a = masked.trainer.step().loss, b = packed.trainer.step().loss;
    ASSERT_NEAR(a, b, 1e-3 * a) << "step " << step;
  }
  for (const SparseLayer& layer : packed.trainer.sparsity().layers()) {
    ASSERT_TRUE(layer.seam->route.forward.packed);
    EXPECT_FALSE(layer.seam->route.dgrad.packed);
    EXPECT_EQ(layer.seam->route.unpacked.bytes(), layer.projected.bytes());
    float* scratch = layer.projected.as<float>();
    std::fill(scratch, scratch + layer.num_weights(), std::numeric_limits<float>::quiet_NaN());
  }
  const double loss = masked.trainer.evaluate();
  EXPECT_NEAR(packed.trainer.evaluate(), loss, 1e-3 * loss);
  for (const SparseLayer& layer : packed.trainer.sparsity().layers()) {
    const float* unpacked = layer.projected.as<float>();
    EXPECT_TRUE(std::none_of(unpacked, unpacked + layer.num_weights(),
                             [](float value) { return std::isnan(value); }))
        << layer.seam->name << " was not unpacked: the passes had enough tokens";
  }
}

}  // namespace
}  // namespace twill
