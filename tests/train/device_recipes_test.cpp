// SPDX-License-Identifier: Apache-2.0
// Every recipe on a device whose memory the host does not see: the same bits as on the host, and
// checkpoints that go on with them.
#include <cctype>

#include <gtest/gtest.h>

#include "nn/recompute.h"
#include "papers/recipe_run.h"
#include "support/expected.h"
#include "train/fake_run.h"
#include "train/run/checkpoint.h"

namespace twill {
namespace {

// Everything that sparsity keeps, as bytes and texts.
struct SparsityState {
  std::map<std::string, std::vector<std::uint8_t>> tensors;
  std::map<std::string, std::string> texts;
  friend bool operator==(const SparsityState&, const SparsityState&) = default;
};

SparsityState state_of(const FakeRun& run) {
  SparsityState state{.tensors = {}, .texts = run.trainer.sparsity().state_texts()};
  for (const auto& [name, view] : run.trainer.sparsity().state_tensors()) {
    const HostCopy copy(run.context, view);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(copy.view().bytes());
    state.tensors[name] = {bytes, bytes + view.num_bytes()};
  }
  return state;
}

void expect_equal(const FakeRun& got, const FakeRun& want) {
  for (const FakeRun* run : {&got, &want}) run->trainer.sparsity().write_moments(run->context);
  EXPECT_EQ(got.weights(), want.weights());
  EXPECT_EQ(got.moments(), want.moments());
  EXPECT_TRUE(state_of(got) == state_of(want));
}

// 24 steps on the device and on the host.
void expect_the_bits_of_the_host(const Settings& settings,
                                 const KernelTable& table = fake_device_table()) {
  FakeRun host(settings, reference_table()), device(settings, table);
  for (int step = 0; step < 24; ++step) {
    const StepResult want = host.trainer.step(), got = device.trainer.step();
    ASSERT_EQ(got.loss, want.loss) << "step " << step;
    // A device that is given whole steps adds all squares up at once.
    const auto n = static_cast<double>(host.weights().size());
    ASSERT_NEAR(got.grad_norm, want.grad_norm, (n + 2) * kEpsF64 * want.grad_norm)
        << "step " << step;
    const auto a = device.trainer.sparsity().take_sample(),
               b = host.trainer.sparsity().take_sample();
    ASSERT_EQ(a.has_value(), b.has_value());
    if (!a) continue;
    EXPECT_EQ(a->overall.flip_rate, b->overall.flip_rate);
    EXPECT_EQ(a->overall.kept_energy, b->overall.kept_energy);
    EXPECT_EQ(a->overall_ffn.activation_density, b->overall_ffn.activation_density);
    EXPECT_EQ(a->overall_ffn.dropped_rows, b->overall_ffn.dropped_rows);
  }
  expect_equal(device, host);
  EXPECT_EQ(device.trainer.evaluate(), host.trainer.evaluate());
  EXPECT_EQ(device.trainer.evaluate_master(), host.trainer.evaluate_master());
  EXPECT_EQ(device.trainer.sparsity().flops().spent, host.trainer.sparsity().flops().spent);
  // Of the recipes V:N:M activations alone are steered op by op from the host.
  EXPECT_EQ(device.counts().replays > 0, device.config.recipe.name != "venom");
}

class RecipeOnADevice : public testing::TestWithParam<std::string> {};

TEST_P(RecipeOnADevice, HasTheBitsOfTheHost) {
  const Settings settings = busy(GetParam());
  expect_the_bits_of_the_host(settings);
}

// Kept topologies that move, in arrays of their entries.
class PackedTopology : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recipes, PackedTopology, testing::Values("static", "set", "rigl", "mst"));

TEST_P(PackedTopology, HasTheBitsOfTheHost) {
  expect_the_bits_of_the_host(busy(GetParam()) + Settings{"recipe.execution=packed"},
                              packing_fake_device_table());
}

TEST_P(RecipeOnADevice, ResumesToTheBit) {
  const TempDir dir;
  const Settings settings = busy(GetParam());
  FakeRun whole(settings), resumed(settings), on_host(settings, reference_table());
  whole.losses(13);
  const std::string checkpoint = save_checkpoint(dir.path(), whole.trainer, 1);
  load_checkpoint(checkpoint, resumed.trainer);
  load_checkpoint(checkpoint, on_host.trainer);
  const std::vector<double> losses = whole.losses(8);
  EXPECT_EQ(resumed.losses(8), losses);
  expect_equal(resumed, whole);
  EXPECT_EQ(on_host.losses(8), losses) << "a run that was on a device goes on without one";
}

// The same on a GPU, in bf16: finite, twice the same, resumed the same.
TEST_P(RecipeOnADevice, RepeatsItselfOnAGpu) {
  Device found;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, found).usable)
    GTEST_SKIP() << "no GPU";
  const TempDir dir;
  const Settings settings = busy(GetParam());
  FakeRun whole(settings, *cuda_table()), again(settings, *cuda_table()),
      resumed(settings, *cuda_table());
  for (int step = 0; step < 13; ++step) {
    const StepResult result = whole.trainer.step();
    ASSERT_TRUE(result.finite) << "step " << step;
    ASSERT_EQ(again.trainer.step().loss, result.loss) << "step " << step;
  }
  load_checkpoint(save_checkpoint(dir.path(), whole.trainer, 1), resumed.trainer);
  EXPECT_EQ(resumed.losses(8), whole.losses(8));
  expect_equal(resumed, whole);
}

// Slopes of an activation come from a product, or from a kernel of their own where it is computed again.
TEST(PackedRecipeOnAGpu, RecomputesToTheBit) {
  Device found;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, found).usable)
    GTEST_SKIP() << "no GPU";
  const Settings settings = busy("fst") + Settings{"recipe.execution=packed"};
  FakeRun keeps(settings, *cuda_table());
  const std::vector<double> losses = keeps.losses(6);
  for (const std::string_view name : kRecomputeNames) {
    FakeRun again(settings + Settings{"train.recompute=" + std::string(name)}, *cuda_table());
    EXPECT_EQ(again.losses(6), losses) << name;
  }
}

std::vector<std::string> sparse_recipes() {
  std::vector<std::string> names;
  for (const BuiltInRecipe& recipe : built_in_recipes())
    if (recipe.name != std::string_view("dense")) names.emplace_back(recipe.name);
  return names;
}

std::string recipe_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recipes, RecipeOnADevice, testing::ValuesIn(sparse_recipes()),
                         recipe_name);

}  // namespace
}  // namespace twill
