// SPDX-License-Identifier: Apache-2.0
#include "support/fake_device.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ops/numbers/fill.h"
#include "ops/transfer.h"
#include "support/expect_error.h"

namespace twill {
namespace {

using Floats = std::vector<float>;

class FakeDevice : public testing::Test {
 protected:
  Floats values() const { return host_floats(context_, x_.view()); }
  void fill_with(double value) { fill(context_, {.x = x_.view(), .value = value}); }

  const KernelTable table_ = fake_device_table();
  const Context context_{table_, 1};
  Tensor x_{DType::kF32, {4}, context_.memory()};
};

class FakeDeviceDeathTest : public FakeDevice {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(FakeDeviceDeathTest, TheHostDoesNotSeeItsMemory) {
  fill_with(2.0);
  wait(context_);
  volatile float* value = x_.view().as<float>();
  EXPECT_DEATH(static_cast<void>(value[0]), "");
  EXPECT_DEATH(value[3] = 1.0f, "");
  EXPECT_EQ(values(), Floats(4, 2.0f));
}

// The block is padded to 64 bytes; the page behind it belongs to nobody.
TEST_F(FakeDeviceDeathTest, ACopyBeyondABlockDies) {
  const View beyond(x_.view().bytes(), DType::kF32, {17});
  EXPECT_DEATH(host_floats(context_, beyond), "");
}

TEST_F(FakeDevice, StartsWithZerosOnALineOfCache) {
  EXPECT_EQ(values(), Floats(4));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x_.view().bytes()) % 64, 0u);
}

TEST_F(FakeDevice, ReadsStagedBytesWhenTheCopyRuns) {
  Tensor staged(DType::kF32, {4}, staging_memory(context_));
  std::fill_n(staged.view().as<float>(), 4, 1.0f);
  copy_in(context_, x_.view(), staged.view().bytes());
  staged.view().as<float>()[2] = 5.0f;
  EXPECT_EQ(values(), (Floats{1, 1, 5, 1}));
}

TEST_F(FakeDevice, ReadsOtherBytesAtOnce) {
  Floats host(4, 1.0f);
  copy_in(context_, x_.view(), host.data());
  host[2] = 5.0f;
  EXPECT_EQ(values(), Floats(4, 1.0f));
}

TEST_F(FakeDevice, KeepsWhatIsRecordedAndReplaysIt) {
  fill_with(1.0);
  table_.begin_recording(context_.queue());
  fill_with(7.0);
  EXPECT_TRUE(fake_device_records(context_));
  const std::unique_ptr<Recording> recording = table_.end_recording(context_.queue());
  EXPECT_EQ(values(), Floats(4, 1.0f));
  for (int i = 0; i < 2; ++i) {
    table_.replay(*recording, context_.queue());
    EXPECT_EQ(values(), Floats(4, 7.0f));
    fill_with(1.0);
  }
  EXPECT_EQ(fake_device_counts(context_).recordings, 1);
  EXPECT_EQ(fake_device_counts(context_).replays, 2);
  EXPECT_EQ(fake_device_counts(context_).waits, 3);
}

TEST_F(FakeDevice, RefusesWhatACapturingStreamRefuses) {
  Floats host(4);
  table_.begin_recording(context_.queue());
  expect_error([&] { wait(context_); }, "wait while the queue is recording");
  expect_error([&] { values(); }, "copy_out while the queue is recording");
  expect_error([&] { copy_in(context_, x_.view(), host.data()); }, "copy_in while");
  expect_error([&] { Tensor(DType::kF32, {1}, context_.memory()); }, "allocate while");
  expect_error([&] { table_.begin_recording(context_.queue()); }, "begin_recording while");
  static_cast<void>(table_.end_recording(context_.queue()));
  EXPECT_NO_THROW(wait(context_));
  expect_error([&] { static_cast<void>(table_.end_recording(context_.queue())); },
               "nothing is being recorded");
}

}  // namespace
}  // namespace twill
