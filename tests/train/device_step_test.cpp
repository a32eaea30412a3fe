// SPDX-License-Identifier: Apache-2.0
#include "train/step/device_step.h"

#include <cmath>
#include <ostream>

#include <gtest/gtest.h>

#include "support/judge.h"
#include "train/fake_run.h"

namespace twill {
namespace {

using Settings = std::vector<std::string>;

struct Case {
  const char* name;
  Settings settings;
};
std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

KernelTable without_recording() {
  KernelTable table = fake_device_table();
  table.begin_recording = nullptr;
  return table;
}

class Watcher : public OpObserver {
 public:
  void before(std::string_view) override { ++ops; }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  int ops = 0;
};

// Where nothing is clipped a step on the device is the maths of a step on the host, rounding for
// rounding: gradients have the scale 1 / (micro-batches · 64 tokens), of which the 64 is exact,
// losses are summed in the same order, and adamw_all has the bits of adamw. The norm alone is
// summed in another order, over n elements in f64 on both sides: |Δ norm²| <= 2 n 2^-53 norm², half
// of that for the norm, and one rounding of each root.
class AsTheHost : public testing::TestWithParam<Case> {};

TEST_P(AsTheHost, TrainsToTheBit) {
  const Settings& settings = GetParam().settings;
  FakeRun host(settings, reference_table()), device(settings);
  for (int step = 0; step < 6; ++step) {
    const StepResult want = host.trainer.step(), got = device.trainer.step();
    EXPECT_EQ(got.loss, want.loss) << "step " << step;
    EXPECT_EQ(got.lr, want.lr);
    EXPECT_EQ(got.tokens, want.tokens);
    const auto n = static_cast<double>(device.weights().size());
    EXPECT_NEAR(got.grad_norm, want.grad_norm, (n + 2) * kEpsF64 * want.grad_norm);
  }
  EXPECT_EQ(device.weights(), host.weights());
  EXPECT_EQ(device.moments(), host.moments());
  EXPECT_EQ(device.trainer.progress(), host.trainer.progress());
  EXPECT_EQ(device.trainer.evaluate(), host.trainer.evaluate());
  EXPECT_GT(device.counts().replays, 0);
}

const Settings kUnclipped{"optimizer.clip=0"};
INSTANTIATE_TEST_SUITE_P(
    Device, AsTheHost,
    testing::Values(Case{"plain", kUnclipped}, Case{"three_parts", in_three_parts(kUnclipped)},
                    Case{"rotary_rms_swiglu",
                         {"optimizer.clip=0", "model.positions=rotary", "model.norm=rms",
                          "model.ffn.activation=swiglu", "model.bias=false"}},
                    Case{"untied",
                         {"optimizer.clip=0", "model.tied_head=false", "model.kv_heads=1"}},
                    Case{"bf16_moments", {"optimizer.clip=0", "optimizer.moments=bf16"}},
                    Case{"recomputed", {"optimizer.clip=0", "train.recompute=block"}}),
    case_name);

// Scales of clipping differ by the norm's part δ = (n + 2) 2^-53, some 1e-12 here. The first update
// of AdamW is at most lr and does not feel the scale of its gradient but through eps: it changes by
// less than lr δ, and so does the weight before it is rounded, which may then make one ulp.
TEST(DeviceStep, ClipsByTheGlobalNorm) {
  const Settings clipped{"optimizer.clip=0.01", "schedule.warmup_steps=1"};
  FakeRun host(clipped, reference_table()), device(clipped);
  const StepResult want = host.trainer.step(), got = device.trainer.step();
  EXPECT_GT(want.grad_norm, 0.02) << "nothing is clipped";
  EXPECT_EQ(got.loss, want.loss);
  const std::vector<float> a = device.weights(), b = host.weights();
  const double delta = static_cast<double>(a.size() + 2) * kEpsF64;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], want.lr * delta + 2 * kEpsF32 * std::abs(b[i])) << i;
  // Second moments are of the clipped gradient: their sum is (1 - beta2) clip², each rounded once.
  double sum = 0.0;
  for (const Optimizer::Slot& slot : device.trainer.optimizer().slots())
    for (const float v : host_floats(device.context, slot.v)) sum += static_cast<double>(v);
  const double beta2 = device.config.optimizer.beta2;
  EXPECT_NEAR(sum, (1.0 - beta2) * 1e-4, 2 * kEpsF32 * sum);
}

TEST(DeviceStep, RecordsTheSecondRunAndReplaysTheRest) {
  FakeRun run;
  run.losses(1);
  EXPECT_EQ(run.counts().recordings, 0);
  // Micro-batch, norm and update.
  for (int step = 2; step <= 5; ++step) {
    run.losses(1);
    EXPECT_EQ(run.counts().recordings, 3) << "step " << step;
    EXPECT_EQ(run.counts().replays, 3 * (step - 1)) << "step " << step;
  }
}

TEST(DeviceStep, RecordsFirstAndLaterMicroBatchesApart) {
  FakeRun run(in_three_parts());
  run.losses(1);  // the third micro-batch is the second run of a later one
  EXPECT_EQ(run.counts().recordings, 1);
  EXPECT_EQ(run.counts().replays, 1);
  for (int step = 2; step <= 4; ++step) {
    run.losses(1);
    EXPECT_EQ(run.counts().recordings, 4) << "step " << step;
    EXPECT_EQ(run.counts().replays, 1 + 5 * (step - 1)) << "step " << step;
  }
}

TEST(DeviceStep, WaitsOnce) {
  FakeRun run(in_three_parts());
  for (int step = 0; step < 4; ++step) {
    const int before = run.counts().waits;
    run.losses(1);
    EXPECT_EQ(run.counts().waits - before, 1) << "step " << step;
  }
}

class Replays : public testing::TestWithParam<Case> {};

TEST_P(Replays, ArePlainStepsToTheBit) {
  const Settings& settings = GetParam().settings;
  FakeRun recorded(settings), plain(settings, without_recording()), watched(settings);
  Watcher watcher;
  watched.context.observer = &watcher;
  const std::vector<double> losses = plain.losses(6);
  EXPECT_EQ(recorded.losses(6), losses);
  EXPECT_EQ(recorded.weights(), plain.weights());
  EXPECT_EQ(recorded.moments(), plain.moments());
  EXPECT_EQ(watched.losses(6), losses);
  EXPECT_EQ(watched.weights(), plain.weights());
  EXPECT_GT(recorded.counts().replays, 0);
  EXPECT_EQ(plain.counts().replays, 0);
  EXPECT_EQ(watched.counts().recordings, 0);
  EXPECT_GT(watcher.ops, 0);
  // A step is not its neighbour: neither tokens nor learning rate were frozen.
  EXPECT_NE(losses[4], losses[5]);
}

INSTANTIATE_TEST_SUITE_P(Device, Replays,
                         testing::Values(Case{"plain", {}}, Case{"dropout", {"model.dropout=0.2"}},
                                         Case{"three_parts", in_three_parts()},
                                         Case{"dropout_in_three_parts",
                                              in_three_parts({"model.dropout=0.2"})}),
                         case_name);

// Draws of dropout change from step to step, and are those of the host.
TEST(DeviceStep, DropsOutAsTheHost) {
  const Settings dropout = in_three_parts({"model.dropout=0.2", "optimizer.clip=0"});
  FakeRun host(dropout, reference_table()), device(dropout);
  EXPECT_EQ(device.losses(5), host.losses(5));
  EXPECT_EQ(device.weights(), host.weights());
}

// A profile or a diary in the midst of a run changes nothing.
TEST(DeviceStep, IsWatchedForAWhile) {
  FakeRun run, other;
  Watcher watcher;
  std::vector<double> losses;
  for (int step = 0; step < 6; ++step) {
    run.context.observer = step == 3 || step == 4 ? &watcher : nullptr;
    losses.push_back(run.trainer.step().loss);
  }
  EXPECT_EQ(losses, other.losses(6));
  EXPECT_EQ(run.weights(), other.weights());
  EXPECT_EQ(run.counts().replays, other.counts().replays - 6);
}

}  // namespace
}  // namespace twill
