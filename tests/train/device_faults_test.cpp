// SPDX-License-Identifier: Apache-2.0
// Steps on a device that do not come to their end.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "base/require.h"
#include "ops/attention/attention.h"
#include "ops/update/update_all.h"
#include "support/expect_error.h"
#include "train/fake_run.h"

namespace twill {
namespace {

const KernelTable& plain_fake() {
  static const KernelTable table = fake_device_table();
  return table;
}

// NaN is equal to itself here.
std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

void put(FakeRun& run, View to, const std::vector<float>& values) {
  copy_in(run.context, to, values.data());
  wait(run.context);
}

// Puts NaN into the whole token table: every batch meets it.
std::vector<float> poison(FakeRun& run) {
  const View table = run.trainer.builder().parameters()[0].value;
  std::vector<float> kept = host_floats(run.context, table);
  put(run, table, std::vector<float>(kept.size(), std::numeric_limits<float>::quiet_NaN()));
  return kept;
}
void cure(FakeRun& run, const std::vector<float>& kept) {
  put(run, run.trainer.builder().parameters()[0].value, kept);
}

// Every step is sampled; a step that changed no weight says nothing about flips.
TEST(DeviceFaults, ANonFiniteStepOfARecipeIsNoSample) {
  FakeRun run({"recipe=fst", "recipe.execution=masked", "recipe.health.every=1", "train.steps=24"});
  run.losses(3);
  EXPECT_TRUE(run.trainer.sparsity().take_sample().has_value());
  const std::vector<float> kept = poison(run);
  EXPECT_FALSE(run.trainer.step().finite);
  EXPECT_FALSE(run.trainer.sparsity().take_sample().has_value());
  cure(run, kept);
  EXPECT_TRUE(run.trainer.step().finite);
  EXPECT_TRUE(run.trainer.sparsity().take_sample().has_value());
}

// Plain steps come first, then one that records, then replays.
class AfterSteps : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(DeviceFaults, AfterSteps, testing::Values(0, 1, 3));

TEST_P(AfterSteps, ANonFiniteStepChangesNothing) {
  FakeRun run(in_three_parts());
  run.losses(GetParam());
  const std::vector<float> kept = poison(run);
  const std::vector<std::uint32_t> weights = bits_of(run.weights()),
                                   moments = bits_of(run.moments());
  const StepResult result = run.trainer.step();
  EXPECT_FALSE(result.finite);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_EQ(result.step, GetParam() + 1);
  EXPECT_EQ(run.trainer.progress().step, GetParam() + 1);
  EXPECT_EQ(run.trainer.progress().updates, GetParam());
  EXPECT_EQ(bits_of(run.weights()), weights);
  EXPECT_EQ(bits_of(run.moments()), moments);
  cure(run, kept);
  EXPECT_TRUE(run.trainer.step().finite);
  EXPECT_EQ(run.trainer.progress().updates, GetParam() + 1);
  EXPECT_NE(bits_of(run.weights()), weights);
}

TEST_P(AfterSteps, AStepTakenBackIsDoneAgain) {
  FakeRun run(in_three_parts()), other(in_three_parts());
  run.losses(GetParam());
  other.losses(GetParam());
  const std::vector<float> kept = poison(run);
  const Progress before = run.trainer.progress();
  EXPECT_FALSE(run.trainer.step().finite);
  run.trainer.take_back(before);
  cure(run, kept);
  EXPECT_EQ(run.losses(3), other.losses(3));
  EXPECT_EQ(run.weights(), other.weights());
  EXPECT_EQ(run.trainer.progress(), other.trainer.progress());
}

// The host asks for the stop while it gives a micro-batch to the queue. Each begins with its
// tokens, so copies to where the first one went count loads.
std::atomic<bool> stop{false};
int stop_behind = 0, loads = 0;
const std::byte* first_place = nullptr;

KernelTable stopping_table() {
  KernelTable table = fake_device_table();
  table.copy_in = [](std::byte* to, const std::byte* host, std::int64_t bytes, Queue& queue) {
    if (first_place == nullptr) first_place = to;
    if (to == first_place && ++loads == stop_behind) stop = true;
    plain_fake().copy_in(to, host, bytes, queue);
  };
  return table;
}

TEST_P(AfterSteps, StopsBetweenMicroBatches) {
  stop_behind = 0;
  FakeRun run(in_three_parts(), stopping_table()), other(in_three_parts());
  run.losses(GetParam());
  other.losses(GetParam());
  for (const int micro_batches : {0, 1, 2}) {
    const Progress before = run.trainer.progress();
    const std::vector<float> weights = run.weights(), moments = run.moments();
    // All three are loaded once before, to count their targets.
    const int expected = micro_batches == 0 ? 0 : 3 + micro_batches;
    stop_behind = expected;
    stop = micro_batches == 0;
    loads = 0;
    first_place = nullptr;
    EXPECT_FALSE(run.trainer.step_unless(stop).has_value()) << micro_batches;
    EXPECT_EQ(loads, expected);
    EXPECT_EQ(run.trainer.progress(), before);
    EXPECT_EQ(run.weights(), weights);
    EXPECT_EQ(run.moments(), moments);
  }
  EXPECT_EQ(run.losses(3), other.losses(3));
  EXPECT_EQ(run.weights(), other.weights());
}

// Kernels whose launch fails: one in the midst of a micro-batch, one at the end of an update.
bool backward_fails = false, update_fails = false;

KernelTable failing_table() {
  KernelTable table = fake_device_table();
  table.attention_backward = [](const AttentionBackwardArgs& args, const Device& device,
                                Queue& queue) {
    require(!backward_fails, "no launch of attention_backward");
    plain_fake().attention_backward(args, device, queue);
  };
  table.adamw_all = [](const AdamwAllArgs& args, const Device& device, Queue& queue) {
    require(!update_fails, "no launch of adamw_all");
    plain_fake().adamw_all(args, device, queue);
  };
  return table;
}

TEST(DeviceFaults, AKernelThatFailsWhileRecordingLeavesARunningQueue) {
  for (bool* fault : {&backward_fails, &update_fails}) {
    FakeRun run({}, failing_table()), other;
    run.losses(1);
    const Progress before = run.trainer.progress();
    const std::vector<float> weights = run.weights();
    *fault = true;
    expect_error([&] { run.trainer.step(); }, "no launch of");
    *fault = false;
    EXPECT_GE(run.counts().recordings, 1) << "it failed elsewhere";
    EXPECT_FALSE(fake_device_records(run.context));
    EXPECT_EQ(run.trainer.progress(), before);
    EXPECT_EQ(run.weights(), weights);
    // The step is done again, recorded anew.
    other.losses(1);
    EXPECT_EQ(run.losses(3), other.losses(3));
    EXPECT_EQ(run.weights(), other.weights());
    EXPECT_EQ(run.counts().recordings, other.counts().recordings + 1);
  }
}

TEST(DeviceFaults, AKernelThatFailsInThePlainRunIsReported) {
  FakeRun run({}, failing_table()), other;
  backward_fails = true;
  expect_error([&] { run.trainer.step(); }, "no launch of attention_backward");
  backward_fails = false;
  EXPECT_EQ(run.losses(3), other.losses(3));
  EXPECT_EQ(run.weights(), other.weights());
}

// What the device is asked for before it has the memory.
TEST(DeviceFaults, TooLittleMemorySaysWhatToChange) {
  KernelTable table = fake_device_table();
  table.free_bytes = [] { return std::int64_t{100'000}; };
  expect_error([&] { FakeRun({}, table); },
               "of the GPU are free; lower train.micro_batch, "
               "train.sequence or the size of the model");
  expect_error([&] { FakeRun({}, table); }, "the model and its batch need ");
  expect_error([&] { FakeRun({}, table); }, "weights ");
}

TEST(DeviceFaults, AMissingOperationIsNamedByTheFirstStep) {
  KernelTable table = fake_device_table();
  table.cross_entropy = nullptr;
  FakeRun run({}, table);
  expect_error([&] { run.trainer.step(); },
               "[cross_entropy] the fake backend does not have this operation; run with "
               "device=cpu");
}

TEST(DeviceFaults, AsksForBf16InVain) {
  expect_error([] { FakeRun({"train.precision=bf16"}); },
               "train.precision = \"bf16\": the fake backend computes in f32; leave the key out, "
               "or use device=cuda");
}

}  // namespace
}  // namespace twill
