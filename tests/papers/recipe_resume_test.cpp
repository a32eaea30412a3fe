// SPDX-License-Identifier: Apache-2.0
// Stop and resume at any step, in any phase, is bit-equal: weights, moments, masks, scales, clusters,
// phase, alarms and FLOPs. So are runs that are evaluated or interrupted on the way.
#include <gtest/gtest.h>

#include "papers/recipe_run.h"

namespace twill {
namespace {

// A method that nobody has published, in TOML alone.
constexpr const char* kMadeUp = R"(
summary = "soft 2:4 weights, MVUE gradients, a pull on what is dropped, a dense finish"
layers  = ["ffn", "attention"]
[[phase]]
until   = 0.7
weights = { pattern = "2:4", projection = "soft" }
wgrad   = "mvue"
decay   = { on = "gradients", lambda = 1e-3 }
[[phase]]
until   = 1.0
)";

const TempDir& recipe_dir() {
  static const TempDir dir;
  return dir;
}

constexpr std::string_view kPacked = "-packed";  // behind the name: in packed execution

Settings settings_of(const std::string& recipe) {
  if (recipe.ends_with(kPacked))
    return settings_of(recipe.substr(0, recipe.size() - kPacked.size())) +
           Settings{"recipe.execution=packed"};
  if (recipe != "made-up") return busy(recipe);
  return busy(recipe_dir().write("made-up.toml", kMadeUp));
}

std::vector<std::string> all_recipes() {
  std::vector<std::string> names{"made-up"};
  for (const BuiltInRecipe& recipe : built_in_recipes()) names.emplace_back(recipe.name);
  for (const char* recipe :
       {"made-up", "ste", "fst", "s-ste", "static", "set", "rigl", "mst", "venom", "relu2-24"})
    names.push_back(std::string(recipe) + std::string(kPacked));
  return names;
}

class EveryRecipe : public testing::TestWithParam<std::string> {};

TEST_P(EveryRecipe, ResumesToTheBitAtEveryStep) {
  const Settings settings = settings_of(GetParam());
  TinyTrainer whole(settings);
  std::vector<MemoryState> saved;
  for (int step = 0; step < 24; ++step) {
    saved.push_back(state_of(whole));
    ASSERT_TRUE(whole.trainer.step().finite);
  }
  const MemoryState end = state_of(whole);
  for (int step = 0; step < 24; ++step) {
    TinyTrainer resumed(settings);
    restore(saved[static_cast<std::size_t>(step)], resumed);
    resumed.losses(24 - step);
    ASSERT_EQ(state_of(resumed) == end, true) << "stopped at step " << step;
  }
}

TEST_P(EveryRecipe, CheckpointsHoldAllOfIt) {
  const TempDir dir;
  const Settings settings = settings_of(GetParam());
  TinyTrainer whole(settings), resumed(settings);
  whole.losses(13);
  load_checkpoint(save_checkpoint(dir.path(), whole.trainer, 1), resumed.trainer);
  // A dense run has nothing to write beside weights and moments.
  if (whole.trainer.sparsity().has_state()) {
    EXPECT_EQ(state_of(resumed) == state_of(whole), true);
  }
  EXPECT_EQ(whole.losses(5), resumed.losses(5));
}

// Where a run is stopped inside a step, that step has begun: what it did once is not done again.
TEST_P(EveryRecipe, EvaluationsAndGivenUpStepsChangeNothing) {
  const Settings settings = settings_of(GetParam());
  const std::atomic<bool> stop{true};
  TinyTrainer whole(settings), disturbed(settings), resumed(settings);
  for (int step = 0; step < 24; ++step) {
    whole.trainer.step();
    EXPECT_FALSE(disturbed.trainer.step_unless(stop));
    restore(state_of(disturbed), resumed);
    disturbed.trainer.step();
    resumed.trainer.step();
    ASSERT_EQ(state_of(whole) == state_of(disturbed), true) << "step " << step;
    ASSERT_EQ(state_of(whole) == state_of(resumed), true) << "step " << step;
    disturbed.trainer.evaluate();
    disturbed.trainer.evaluate_master();
    disturbed.trainer.evaluate_as_trained();
    ASSERT_EQ(state_of(whole) == state_of(disturbed), true) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, EveryRecipe, testing::ValuesIn(all_recipes()),
                         [](const auto& recipe) {
                           std::string name = recipe.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(MadeUpRecipe, TrainsAndKeepsItsName) {
  TinyTrainer tiny(settings_of("made-up"));
  EXPECT_EQ(tiny.config.recipe.name, "made-up");
  const double before = tiny.trainer.evaluate();
  tiny.losses(24);
  EXPECT_LT(tiny.trainer.evaluate(), before);
  EXPECT_EQ(tiny.trainer.sparsity().phase_index(), 1);
}

TEST(StepRecipe, SettledMomentsEndThePhaseEarly) {
  TinyTrainer tiny(busy("step"));
  // 1 / (1 - 0.8) = 5 steps of measurement, all far below 1e6.
  tiny.losses(5);
  EXPECT_EQ(tiny.trainer.sparsity().phase_index(), 0);
  tiny.losses(1);
  EXPECT_EQ(tiny.trainer.sparsity().phase_index(), 1);
  EXPECT_TRUE(tiny.trainer.sparsity().freezes_second_moments());
  TinyTrainer late(busy("step") + Settings{"recipe.phase.0.early_end.after=0.4"});
  late.losses(10);
  EXPECT_EQ(late.trainer.sparsity().phase_index(), 0) << "not before 0.4 of 24 steps";
  late.losses(1);
  EXPECT_EQ(late.trainer.sparsity().phase_index(), 1);
  TinyTrainer never(busy("step") + Settings{"recipe.phase.0.early_end.below=0"});
  never.losses(12);
  EXPECT_EQ(never.trainer.sparsity().phase_index(), 0);
  never.losses(1);
  EXPECT_EQ(never.trainer.sparsity().phase_index(), 1);
}

TEST(Alarm, OnAlarmDenseGoesDenseForGood) {
  const TempDir dir;
  // Weights that do not move flip no mask: a collapse.
  const Settings settings =
      busy("ste") + Settings{"optimizer.lr=0", "recipe.health.every=2", "recipe.on_alarm=dense"};
  TinyTrainer tiny(settings), resumed(settings),
      warned(settings + Settings{"recipe.on_alarm=warn"});
  tiny.losses(5);  // the first sample behind a tenth of 24 steps
  ASSERT_TRUE(tiny.trainer.sparsity().take_sample()->alarm.starts_with("flip-rate collapse"));
  EXPECT_TRUE(tiny.trainer.sparsity().forced_dense());
  EXPECT_EQ(tiny.trainer.evaluate(), tiny.trainer.evaluate_master());
  tiny.losses(3);
  load_checkpoint(save_checkpoint(dir.path(), tiny.trainer, 1), resumed.trainer);
  EXPECT_TRUE(resumed.trainer.sparsity().forced_dense());
  EXPECT_FALSE(resumed.trainer.sparsity().projects_weights());
  EXPECT_EQ(resumed.losses(16), tiny.losses(16));
  EXPECT_EQ(state_of(resumed) == state_of(tiny), true);
  warned.losses(6);
  EXPECT_FALSE(warned.trainer.sparsity().forced_dense());
  EXPECT_TRUE(warned.trainer.sparsity().projects_weights());
}

TEST(Flops, AStepTakenBackIsNotCounted) {
  TinyTrainer tiny(busy("fst"));
  tiny.losses(2);
  const double before = tiny.trainer.sparsity().flops().spent;
  const Progress progress = tiny.trainer.progress();
  tiny.trainer.step();
  EXPECT_GT(tiny.trainer.sparsity().flops().spent, before);
  tiny.trainer.take_back(progress);
  EXPECT_EQ(tiny.trainer.sparsity().flops().spent, before);
  EXPECT_EQ(tiny.trainer.progress(), progress);
}

}  // namespace
}  // namespace twill
