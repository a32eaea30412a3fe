// SPDX-License-Identifier: Apache-2.0
#include "train/step/step_meter.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

int num_readings = 0;

// A reference that tells of itself what a GPU does.
KernelTable talking_table() {
  KernelTable table = reference_table();
  table.find_device = [](int, Device& device) {
    device.peak_flops = 1e12;
    return DeviceReport{.usable = true, .text = ""};
  };
  table.readings = [](const Device&) {
    ++num_readings;
    return DeviceReadings{.power_watts = 100.0 + num_readings, .memory_bytes = 1 << 30};
  };
  return table;
}

TEST(StepMeter, SharesAreOfTheStepAlone) {
  const KernelTable table = talking_table();
  const Context context(table, 1);
  StepMeter meter(context, /*counted_flops=*/5e12, /*product_roof=*/8e11);
  EXPECT_FALSE(meter.has_floor());
  MetricRecord first, second;
  const StepShares before = meter.measure(2.0, 6e12, false, first);
  EXPECT_DOUBLE_EQ(before.mfu, 0.5) << "1e12 in 2 s of 1e12 per second";
  EXPECT_DOUBLE_EQ(before.roof, 0.625);
  EXPECT_EQ(before.floor, 0.0) << "not known yet";
  meter.set_floor(0.4);
  const StepShares behind = meter.measure(0.5, 6.2e12, false, second);
  EXPECT_NEAR(behind.mfu, 0.4, 1e-9) << "the steps before are not counted again";
  EXPECT_DOUBLE_EQ(behind.floor, 0.8);
  EXPECT_EQ(to_compact_json(first.members()), "{\"mfu\":0.5,\"roof_share\":0.625}");
}

TEST(StepMeter, AsksTheDeviceOnlyWhenTold) {
  const KernelTable table = talking_table();
  const Context context(table, 1);
  StepMeter meter(context, 0.0, 0.0);
  num_readings = 0;
  MetricRecord silent, told, later;
  EXPECT_FALSE(meter.measure(1.0, 0.0, false, silent).readings.power_watts);
  EXPECT_EQ(to_compact_json(silent.members()), "{}");
  EXPECT_EQ(meter.measure(1.0, 0.0, true, told).readings.power_watts, 101.0);
  EXPECT_EQ(to_compact_json(told.members()),
            "{\"gpu_memory_bytes\":1073741824,\"power_watts\":101.0}");
  EXPECT_EQ(meter.measure(1.0, 0.0, false, later).readings.power_watts, 101.0) << "as last read";
  EXPECT_EQ(to_compact_json(later.members()), "{}")
      << "an old reading is no measurement of this step";
  EXPECT_EQ(num_readings, 1);
}

TEST(StepMeter, SaysNothingWhereNothingIsKnown) {
  const Context context(reference_table(), 1);
  StepMeter meter(context, 0.0, 0.0);
  MetricRecord line;
  const StepShares shares = meter.measure(1.0, 1e9, true, line);
  EXPECT_EQ(to_compact_json(line.members()), "{}");
  EXPECT_EQ(shares.mfu, 0.0);
  EXPECT_EQ(shares.roof, 0.0);
}

}  // namespace
}  // namespace twill
