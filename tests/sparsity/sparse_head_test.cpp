// SPDX-License-Identifier: Apache-2.0
// The head in the scope of recipes that project, sample and round: it trains masked and packed, resumes, and
// is exported as it was trained.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/decoder.h"
#include "ops/products/product.h"
#include "papers/recipe_run.h"
#include "train/run/checkpoint.h"
#include "twill/error.h"

namespace twill::sparse_head_test {
namespace {

Settings with_head(const std::string& recipe, const std::string& execution = "masked") {
  return busy(recipe) + Settings{"model.tied_head=false", R"(recipe.layers=["ffn", "head"])",
                                 "recipe.execution=" + execution};
}

const SparseLayer& head_of(const TinyTrainer& tiny) {
  for (const SparseLayer& layer : tiny.trainer.sparsity().layers())
    if (layer.seam->family == LayerFamily::kHead) return layer;
  throw Error("no head in scope");
}

// Kernels by the site they work for.
struct HeadProducts : OpObserver {
  void before(std::string_view) override {}
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  void product(const Context&, const Product& product) override {
    if (product.label.site != "head") return;
    const bool is_packed = product.a.layout == packed() || product.b.layout == packed();
    ++(is_packed ? packed_calls : dense_calls);
  }
  int packed_calls = 0, dense_calls = 0;
};

class SparseHead : public testing::TestWithParam<const char*> {};

// The bounds of PackedRecipe.FollowsMaskedExecution.
TEST_P(SparseHead, TrainsPackedAsItDoesMasked) {
  TinyTrainer masked(with_head(GetParam())), packed_run(with_head(GetParam(), "packed"));
  HeadProducts of_masked, of_packed;
  for (int step = 0; step < 12; ++step) {
    masked.context.observer = &of_masked;
    packed_run.context.observer = &of_packed;
    const StepResult a = masked.trainer.step(), b = packed_run.trainer.step();
    masked.context.observer = packed_run.context.observer = nullptr;
    ASSERT_NEAR(a.loss, b.loss, 1e-3 * a.loss) << "step " << step;
    ASSERT_NEAR(a.grad_norm, b.grad_norm, 1e-2 * a.grad_norm) << "step " << step;
  }
  EXPECT_TRUE(head_of(packed_run).seam->route.forward.packed);
  EXPECT_EQ(of_masked.packed_calls, 0);
  EXPECT_GE(of_packed.packed_calls, 12);
}

TEST_P(SparseHead, ResumesToTheSameBits) {
  for (const char* execution : {"masked", "packed"}) {
    TinyTrainer whole(with_head(GetParam(), execution)), begun(with_head(GetParam(), execution)),
        resumed(with_head(GetParam(), execution));
    const TempDir dir;
    begun.losses(6);
    load_checkpoint(save_checkpoint(dir.path(), begun.trainer, 1), resumed.trainer);
    whole.losses(6);
    EXPECT_EQ(whole.losses(5), resumed.losses(5)) << execution;
    EXPECT_EQ(whole.weights(), resumed.weights()) << execution;
  }
}

bool has_zeros_of_24(const View& weight) {
  const float* w = weight.as<float>();
  for (std::int64_t i = 0; i < weight.num_elements(); i += 4)
    if (std::count(w + i, w + i + 4, 0.0f) < 2) return false;
  return true;
}

TEST_P(SparseHead, IsExportedAsItWasTrained) {
  TinyTrainer tiny(with_head(GetParam()));
  const TempDir dir;
  tiny.losses(6);
  const std::string path = save_checkpoint(dir.path(), tiny.trainer, 1);
  Builder builder(tiny.context, {.training = false, .max_batch = 2, .max_time = 16});
  Decoder model(builder, load_model_config(path));
  builder.commit();
  load_weights(path, builder);
  for (const LinearSeam& seam : builder.linear_seams())
    EXPECT_EQ(has_zeros_of_24(seam.weight->value), seam.family != LayerFamily::kAttention)
        << seam.name;
}

INSTANTIATE_TEST_SUITE_P(Recipes, SparseHead, testing::Values("fst", "s-ste"));

TEST(SparseHead, TakesASimulatedNumberFormat) {
  const Settings rounded = with_head("s-ste") + Settings{"recipe.phase.0.quantise.format=fp8"};
  TinyTrainer tiny(rounded), again(rounded), exact(with_head("s-ste"));
  const std::vector<double> losses = tiny.losses(8);
  EXPECT_TRUE(head_of(tiny).seam->route.rounds());
  EXPECT_EQ(losses, again.losses(8));
  const std::vector<double> plain = exact.losses(8);
  EXPECT_NE(losses, plain);
  EXPECT_NEAR(losses.back(), plain.back(), 0.2 * plain.back());
}

// A tied head's products may be rounded: no projection changes the embedding's weight.
TEST(SparseHead, ATiedOneMayBeRounded) {
  EXPECT_NO_THROW(TinyTrainer(busy("ste") + Settings{"recipe.layers=head",
                                                     "recipe.phase.0.weights.pattern=dense",
                                                     "recipe.phase.0.quantise.format=fp8"})
                      .losses(2));
}

}  // namespace
}  // namespace twill::sparse_head_test
