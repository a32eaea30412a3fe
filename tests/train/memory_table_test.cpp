// SPDX-License-Identifier: Apache-2.0
// A sparse run's memory beside that of the same run trained dense.
#include "train/step/memory_table.h"

#include <map>

#include <gtest/gtest.h>

#include "train/planned_run.h"

namespace twill {
namespace {

using Regions = std::map<std::string, std::int64_t>;

Regions regions_of(const std::vector<MemoryLine>& table) {
  Regions regions;
  for (const MemoryLine& line : table) regions[line.region] = line.bytes;
  return regions;
}

// Of a trainer that has taken nothing yet.
Regions trainer_regions(const RunConfig& config) {
  const TrainingData data = open_run_data(config);
  const Context context = open_context(config);
  return regions_of(Trainer(context, config, data).memory_table());
}

// Whatever the recipe, the comparison is with what a dense trainer reserves.
TEST(MemoryTable, OfTheSameRunTrainedDenseIsThatOfADenseTrainer) {
  const std::vector<std::vector<std::string>> runs{{},
                                                   {"train.recompute=block"},
                                                   {"model.family=llama", "train.micro_batch=3"},
                                                   {"model.layers=1", "optimizer.moments=bf16"}};
  for (const auto& run : runs) {
    std::vector<std::string> sparse = run;
    sparse.insert(sparse.end(), {"recipe=fst", "recipe.execution=packed"});
    const RunConfig config = tiny_config(sparse);
    const Regions dense = trainer_regions(tiny_config(run));
    EXPECT_EQ(regions_of(dense_memory_table(open_context(config), config)), dense);
    EXPECT_NE(trainer_regions(config), dense);
  }
}

struct MemoryListener : StopAfter {
  using StopAfter::StopAfter;
  void on_begin(const RunConfig&, const RunFacts& told) override { facts = told; }
  RunFacts facts;
};

class MemoryOfARun : public PlannedRun {
 protected:
  RunFacts facts_of(std::vector<std::string> more) const {
    more.push_back("run.dir=" + dir_.path());
    MemoryListener listener(1);
    run_training({.config_file = "", .overrides = planned_settings(more), .resume = ""}, listener,
                 listener.stop);
    return listener.facts;
  }
};

// Nothing is saved today: masters, gradients and moments stay whole, masks and packed weights come
// on top. A region that shrinks is to be shown, not to pass unseen.
TEST_F(MemoryOfARun, PackedExecutionAddsAndSavesNothing) {
  const RunFacts packed = facts_of({"recipe.execution=packed", "recipe.health.every=0"});
  const RunFacts masked = facts_of({"recipe.execution=masked", "recipe.health.every=0"});
  const Regions sparse = regions_of(packed.memory), dense = regions_of(packed.dense_memory);
  for (const char* same :
       {"weights", "gradients", "optimizer", "activations", "program and corpus"})
    EXPECT_EQ(sparse.at(same), dense.at(same)) << same;
  // A mask of bytes of each 64 x 16 matrix, and sums in 64 bytes; masked execution also has a projected
  // copy of floats, which packed execution unpacks where it needs one.
  constexpr std::int64_t kWeights = 2 * 64 * 16;
  EXPECT_EQ(sparse.at("sparsity"), kWeights + 64);
  EXPECT_FALSE(dense.contains("sparsity"));
  // Forward and dgrad, half of the floats each, and what says where they stand.
  EXPECT_GE(sparse.at("packed operands"), 2 * kWeights * 4 / 2);
  EXPECT_FALSE(dense.contains("packed operands"));
  EXPECT_FALSE(regions_of(masked.memory).contains("packed operands"));
  EXPECT_EQ(regions_of(masked.memory).at("sparsity"), kWeights * (1 + 4) + 64);
  EXPECT_TRUE(facts_of({"recipe=dense"}).dense_memory.empty());
}

}  // namespace
}  // namespace twill
