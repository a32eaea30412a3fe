// SPDX-License-Identifier: Apache-2.0
// Two trainers that add up what they have are one trainer with the micro-batches of both.
#include "train/step/reducer.h"

#include <barrier>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "papers/recipe_run.h"
#include "train/fake_run.h"

namespace twill {
namespace {

// Where two threads add up, each with its own memory.
struct MeetingOfTwo {
  std::barrier<> all{2};
  std::span<const View> views[2];
};

template <class T>
void sum_into_both(View a, View b) {
  for (std::int64_t i = 0; i < a.num_elements(); ++i)
    a.as<T>()[i] = b.as<T>()[i] = a.as<T>()[i] + b.as<T>()[i];
}

class OneOfTwo final : public Reducer {
 public:
  OneOfTwo(MeetingOfTwo& meeting, std::int64_t rank) : meeting_(meeting), rank_(rank) {}

  std::int64_t processes() const override { return 2; }
  std::int64_t rank() const override { return rank_; }
  void add_up(const Context&, std::span<const View> views) override {
    meeting_.views[rank_] = views;
    meeting_.all.arrive_and_wait();
    const auto& [mine, other] = meeting_.views;
    ASSERT_EQ(mine.size(), other.size());
    for (std::size_t i = 0; rank_ == 0 && i < mine.size(); ++i) {
      ASSERT_EQ(mine[i].shape(), other[i].shape());
      mine[i].dtype() == DType::kF64 ? sum_into_both<double>(mine[i], other[i])
                                     : sum_into_both<float>(mine[i], other[i]);
    }
    views_of_last_call = views.size();
    meeting_.all.arrive_and_wait();
  }

  std::size_t views_of_last_call = 0;

 private:
  MeetingOfTwo& meeting_;
  std::int64_t rank_;
};

// A run of fake_run.h that begins with a reducer.
struct ReducedRun {
  ReducedRun(const Settings& settings, const KernelTable& kernels, Reducer* reducer)
      : config(tiny_config(settings)),
        table(kernels),
        context(table, 1),
        trainer(context, config, open_run_data(config)) {
    trainer.begin(reducer);
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& parameter : trainer.builder().parameters()) {
      const std::vector<float> values = host_floats(context, parameter.value);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  RunConfig config;
  KernelTable table;
  Context context;
  Trainer trainer;
};

struct Processes {
  std::vector<double> losses[2];
  std::vector<float> weights[2];
  std::size_t views = 0;
};

Processes run_two(const Settings& settings, const KernelTable& table, int steps) {
  MeetingOfTwo meeting;
  OneOfTwo reducers[2] = {{meeting, 0}, {meeting, 1}};
  Processes two;
  const auto work = [&](int rank) {
    ReducedRun run(settings, table, &reducers[rank]);
    for (int step = 0; step < steps; ++step) two.losses[rank].push_back(run.trainer.step().loss);
    two.weights[rank] = run.weights();
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  two.views = reducers[0].views_of_last_call;
  return two;
}

struct ReducerCase {
  const char* name;
  Settings settings;
  KernelTable (*table)();
};

// Gradients of both halves are added in f32 where one trainer adds them up on its way: a few roundings of
// the largest gradient. AdamW in its first steps moves every weight by about lr whatever the size of its
// gradient, so weights are compared where eps is large enough that it does not.
class TwoProcesses : public testing::TestWithParam<ReducerCase> {};

TEST_P(TwoProcesses, AreOne) {
  Settings settings = GetParam().settings + Settings{"optimizer.eps=0.01", "optimizer.clip=0"};
  const KernelTable table = GetParam().table();
  constexpr int kSteps = 4;
  const Processes two = run_two(settings + Settings{"train.batch_tokens=128"}, table, kSteps);
  ReducedRun one(settings + Settings{"train.batch_tokens=256"}, table, nullptr);
  for (int step = 0; step < kSteps; ++step) {
    const double loss = one.trainer.step().loss;
    EXPECT_EQ(two.losses[0][step], two.losses[1][step]);
    EXPECT_NEAR(two.losses[0][step], loss, 1e-6 * loss) << "step " << step;
  }
  EXPECT_EQ(two.weights[0], two.weights[1]);
  const std::vector<float> want = one.weights();
  ASSERT_EQ(two.weights[0].size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(two.weights[0][i], want[i], 1e-6) << i;
  // The gradient of every parameter, or of what is kept of it, and the loss.
  EXPECT_EQ(two.views, one.trainer.builder().parameters().size() + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Reducer, TwoProcesses,
    testing::Values(ReducerCase{"dense", {"train.micro_batch=4"}, [] { return reference_table(); }},
                    ReducerCase{"dropout", {"model.dropout=0.2"}, [] { return reference_table(); }},
                    ReducerCase{"dense_cpu", {}, [] { return KernelTable(cpu_table()); }},
                    ReducerCase{"fst", {"recipe=fst"}, [] { return reference_table(); }},
                    ReducerCase{"kept_entries",
                                {"recipe=static", "recipe.execution=packed"},
                                [] { return KernelTable(cpu_table()); }}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace twill
