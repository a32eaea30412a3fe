// SPDX-License-Identifier: Apache-2.0
#include "train/step/step_meter.h"

#include <utility>

namespace twill {
namespace {

double share(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

}  // namespace

StepShares StepMeter::measure(double seconds, double counted_flops, bool asks_device,
                              MetricRecord& record) {
  const double rate = (counted_flops - std::exchange(counted_flops_, counted_flops)) / seconds;
  const auto read = context_.kernels().readings;
  const bool is_read = asks_device && read != nullptr;
  if (is_read) readings_ = read(context_.device());
  const StepShares shares{.floor = share(floor_seconds_.value_or(0.0), seconds),
                          .mfu = share(rate, context_.device().peak_flops),
                          .roof = share(rate, product_roof_),
                          .readings = readings_};
  if (shares.mfu > 0.0) record.add("mfu", shares.mfu);
  if (shares.roof > 0.0) record.add("roof_share", shares.roof);
  if (!is_read) return shares;
  if (readings_.memory_bytes) record.add("gpu_memory_bytes", *readings_.memory_bytes);
  if (readings_.power_watts) record.add("power_watts", *readings_.power_watts);
  return shares;
}

}  // namespace twill
