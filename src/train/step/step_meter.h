// SPDX-License-Identifier: Apache-2.0
// What a step's time means: shares of the floor, of the device's peak and of its measured roof, and
// what the device says of itself meanwhile.
#pragma once

#include <optional>

#include "ops/context.h"
#include "train/metrics/metric_record.h"

namespace twill {

// How near a step comes to what it could be; 0 while or where unknown.
struct StepShares {
  double floor = 0.0;  // the GEMM floor divided by the time of the step
  // Model FLOP utilisation: the dense model's FLOPs (sparsity/account/flop_account.h, head and the full
  // square of attention counted) per second, divided by the device's dense peak.
  double mfu = 0.0;
  double roof = 0.0;  // the same divided by the rate of a product as measured (train/step/roof.h)
  DeviceReadings readings;  // as last read; empty where the device tells nothing
};

class StepMeter {
 public:
  // `counted_flops`: of the dense model, up to now. `product_roof` 0: not known.
  StepMeter(const Context& context, double counted_flops, double product_roof)
      : context_(context), counted_flops_(counted_flops), product_roof_(product_roof) {}

  // The GEMM floor is known once the first step has run.
  bool has_floor() const { return floor_seconds_.has_value(); }
  void set_floor(double seconds) { floor_seconds_ = seconds; }

  // Call it for every step. With `asks_device` the device is read, up to a millisecond in which it
  // stands still, and `record` gets what it says; shares go into it in any case.
  StepShares measure(double seconds, double counted_flops, bool asks_device, MetricRecord& record);

 private:
  const Context& context_;
  double counted_flops_;
  double product_roof_;
  std::optional<double> floor_seconds_;
  DeviceReadings readings_;
};

}  // namespace twill
