// SPDX-License-Identifier: Apache-2.0
#include "train/step/step.h"

#include <algorithm>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "papers/recipe_run.h"
#include "train/fake_run.h"

namespace twill {
namespace {

using Names = std::vector<std::string_view>;

std::vector<std::string>& seen() {
  static std::vector<std::string> ranges;
  return ranges;
}

// Its profiler writes down the ranges that are pushed.
KernelTable watched(KernelTable table) {
  table.push_range = [](const char* name) { seen().emplace_back(name); };
  table.pop_range = [] {};
  return table;
}

// The pieces of one step, in the order in which they ran.
Names pieces_of(const Settings& settings, const KernelTable& table, int step) {
  FakeRun run(settings, watched(table));
  run.losses(step);
  seen().clear();
  run.losses(1);
  Names pieces;
  const Names known = Step::names();
  for (const std::string& range : seen()) {
    const auto found = std::ranges::find(known, range);
    if (found != known.end()) pieces.push_back(*found);
  }
  return pieces;
}

TEST(Step, IsOneListOfPieces) {
  EXPECT_EQ(Step::names(), (Names{"gradients", "reduce", "norm", "update", "renew"}));
}

class PiecesOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recipes, PiecesOf,
                         testing::Values("dense", "fst", "step", "mst", "venom"));

// A plain step, and the third of mst, which moves the topology.
TEST_P(PiecesOf, AreTheSameOnHostAndDevice) {
  for (const int step : {1, 5}) {
    EXPECT_EQ(pieces_of(busy(GetParam()), reference_table(), step), Step::names());
    EXPECT_EQ(pieces_of(busy(GetParam()), fake_device_table(), step), Step::names());
  }
}

// An interval of 6: updates of the topology in the steps 5, 11, … (from 0).
Settings moving(const std::string& recipe) {
  return busy(recipe) + Settings{"recipe.phase.0.topology.interval=6", "recipe.health.every=0"};
}

// A mask that moves lies where the old one lay: what was recorded stays.
TEST(Step, KeepsItsRecordingsWhereAMaskedTopologyMoves) {
  FakeRun run(moving("rigl"));
  run.losses(5);
  const FakeDeviceCounts before = run.counts();
  // The first and later micro-batches, norm, update.
  EXPECT_EQ(before.recordings, 4);
  ASSERT_TRUE(run.trainer.step().topology_update);
  const int replays = run.counts().replays;
  EXPECT_FALSE(run.trainer.step().topology_update);
  EXPECT_EQ(run.counts().recordings, before.recordings);
  EXPECT_EQ(run.counts().replays, replays + 4);
}

// Packed, kept entries lie elsewhere.
TEST(Step, IsRecordedAnewWhereAPackedTopologyMoves) {
  FakeRun run(moving("rigl") + Settings{"recipe.execution=packed"}, packing_fake_device_table());
  run.losses(5);
  const int before = run.counts().recordings;
  EXPECT_EQ(before, 4);
  ASSERT_TRUE(run.trainer.step().topology_update);
  run.losses(2);  // plain, then recorded
  EXPECT_EQ(run.counts().recordings, 2 * before);
}

// Waits once for a plain step; a move of the topology asks for the norm and looks at masks.
TEST(Step, OfAKeptTopologyWaitsOnce) {
  FakeRun run(moving("set"));
  run.losses(1);
  for (int step = 1; step < 5; ++step) {
    const int before = run.counts().waits;
    run.losses(1);
    EXPECT_EQ(run.counts().waits - before, 1) << "step " << step;
  }
}

class NotFinite : public testing::TestWithParam<int> {};
// A step that is recorded, one that is replayed, and one that would move the topology.
INSTANTIATE_TEST_SUITE_P(Step, NotFinite, testing::Values(1, 3, 5));

TEST_P(NotFinite, ChangesNoWeightAndNoTopology) {
  FakeRun run(moving("rigl"));
  run.losses(GetParam());
  Parameter& table = run.trainer.builder().parameters()[1];
  const std::vector<float> kept = host_floats(run.context, table.value);
  const std::vector<float> broken(kept.size(), std::numeric_limits<float>::infinity());
  copy_in(run.context, table.value, broken.data());
  wait(run.context);
  const std::vector<float> weights = run.weights(), moments = run.moments();
  const double density = run.trainer.sparsity().topology().density();
  const StepResult result = run.trainer.step();
  EXPECT_FALSE(result.finite);
  EXPECT_FALSE(result.topology_update);
  EXPECT_EQ(run.trainer.progress().updates, GetParam());
  EXPECT_EQ(run.weights(), weights);
  EXPECT_EQ(run.moments(), moments);
  EXPECT_EQ(run.trainer.sparsity().topology().density(), density);
}

}  // namespace
}  // namespace twill
