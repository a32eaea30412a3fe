// SPDX-License-Identifier: Apache-2.0
#include "train/step/roof.h"

#include <vector>

#include <gtest/gtest.h>

#include "ops/products/gemm.h"

namespace twill {
namespace {

// The sides of the products that were asked for, in order.
std::vector<std::int64_t>& sides() {
  static std::vector<std::int64_t> all;
  return all;
}
std::int64_t free_memory = 0;

KernelTable watched_table() {
  KernelTable table = reference_table();
  table.stores_bf16 = true;
  table.benches.plain_gemm = [](const GemmArgs& args, const Device&, Queue&) {
    if (sides().empty() || sides().back() != args.m()) sides().push_back(args.m());
  };
  table.free_bytes = [] { return free_memory; };
  return table;
}

TEST(Roof, TakesSmallerOperandsWhereMemoryIsShort) {
  const KernelTable table = watched_table();
  const Context context(table, 1);
  const std::int64_t margin = std::int64_t{256} << 20;
  sides().clear();
  free_memory = margin + 3 * 2 * 4096 * 4096;
  // The product takes no time: the rate is whatever a clock makes of that, but it is one.
  EXPECT_GT(measure_product_roof(context), 0.0);
  EXPECT_EQ(sides(), std::vector<std::int64_t>{4096});
  sides().clear();
  free_memory = margin;
  EXPECT_EQ(measure_product_roof(context), 0.0) << "no room: not known";
  EXPECT_TRUE(sides().empty());
}

TEST(Roof, TheDevicesOwnCopyIsPreferred) {
  KernelTable table = reference_table();
  table.benches.copy_bytes_per_second = [](const Device&, Queue&) { return 4.2e12; };
  EXPECT_EQ(measure_copy_roof(Context(table, 1)), 4.2e12);
}

TEST(Roof, OfTheHostIsWithinReason) {
  const Roof roof = measure_roof(Context(cpu_table(), 1));
  // One core: between a tenth and a hundred times of what any that runs this has.
  EXPECT_GT(roof.copy, 1e8);
  EXPECT_LT(roof.copy, 1e12);
  EXPECT_GT(roof.product, 1e9);
  EXPECT_LT(roof.product, 1e13);
}

TEST(Roof, OfAGpuIsBelowItsDatasheet) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable)
    GTEST_SKIP() << "no GPU";
  const Context context(*cuda_table(), 1);
  const Roof roof = measure_roof(context);
  EXPECT_GT(roof.copy, 1e11);
  EXPECT_LT(roof.copy, 2e13);
  EXPECT_GT(roof.product, 1e13);
  EXPECT_LT(roof.product, device.peak_flops > 0.0 ? device.peak_flops : 1e16);
}

// NVML comes with the driver, so a GPU that runs kernels has its readings. Those of a card without a
// sensor would have to be allowed here by name.
TEST(Readings, OfAGpuAreWithinReason) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable)
    GTEST_SKIP() << "no GPU";
  const Context context(*cuda_table(), 1);
  const DeviceReadings readings = cuda_table()->readings(context.device());
  ASSERT_TRUE(readings.power_watts.has_value());
  EXPECT_GT(*readings.power_watts, 1.0);
  EXPECT_LT(*readings.power_watts, 5000.0);
  ASSERT_TRUE(readings.memory_bytes.has_value());
  EXPECT_GT(*readings.memory_bytes, 1 << 20) << "our own context";
  EXPECT_LT(*readings.memory_bytes, std::int64_t{1} << 40);
  ASSERT_TRUE(readings.clock_hz.has_value());
  EXPECT_GT(*readings.clock_hz, 1e8);
  EXPECT_LT(*readings.clock_hz, 1e10);
}

}  // namespace
}  // namespace twill
