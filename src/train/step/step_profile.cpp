// SPDX-License-Identifier: Apache-2.0
#include "train/step/step_profile.h"

#include <algorithm>

#include "base/check.h"
#include "measure/calls.h"
#include "ops/timer.h"

namespace twill {
namespace {

bool same_product(const GemmArgs& a, const GemmArgs& b) {
  const bool same_epilogue = a.epilogue == b.epilogue &&
                             (a.epilogue == GemmEpilogue::kNone || a.activation == b.activation);
  return a.m() == b.m() && a.n() == b.n() && a.k() == b.k() && a.trans_a == b.trans_a &&
         a.trans_b == b.trans_b && a.accumulate == b.accumulate &&
         static_cast<bool>(a.bias) == static_cast<bool>(b.bias) &&
         static_cast<bool>(a.addend) == static_cast<bool>(b.addend) && same_epilogue &&
         a.a.dtype() == b.a.dtype() && a.c.dtype() == b.c.dtype();
}

double best_of(int repeats, const Context& context, Kernel<GemmArgs> kernel, const GemmArgs& args) {
  return best_seconds(context, {.fewest = repeats, .most = repeats},
                      [&] { kernel(args, context.device(), context.queue()); });
}

}  // namespace

void ProductLog::gemm(const GemmArgs& args) {
  const auto known = std::ranges::find_if(
      products_, [&](const ProductTime& product) { return same_product(product.args, args); });
  if (known != products_.end()) {
    ++known->count;
  } else {
    products_.push_back({.args = args, .count = 1});
  }
}

std::vector<ProductTime> ProductLog::measure_products(const Context& context, int repeats,
                                                      bool with_plain) const {
  std::vector<ProductTime> measured = products_;
  for (ProductTime& product : measured)
    product.seconds = best_of(repeats, context, context.kernels().gemm, product.args);
  // The library comes last: its threads spin for milliseconds after a call and would slow ours
  // down.
  const Kernel<GemmArgs> library = context.kernels().benches.plain_gemm;
  if (!with_plain || library == nullptr) return measured;
  for (ProductTime& product : measured)
    product.plain_seconds = best_of(repeats, context, library, product.args);
  return measured;
}

StepProfile::StepProfile(const Context& context) : timer_(open_timer(context)) {}

void StepProfile::before(std::string_view) { timer_->start(); }

void StepProfile::after(std::string_view op, const OpWork& work) {
  timer_->stop();
  auto found = ops_.find(op);
  if (found == ops_.end()) found = ops_.emplace(std::string(op), OpTime{}).first;
  OpTime& time = found->second;
  ++time.calls;
  time.bytes += static_cast<double>(work.bytes);
  time.flops += work.flops;
  untimed_.push_back(&time);  // a map's entries stay where they are
}

const StepProfile::Ops& StepProfile::ops() {
  const std::vector<double> seconds = timer_->take();
  TWILL_CHECK(seconds.size() == untimed_.size(), "every op has its time");
  for (std::size_t i = 0; i < seconds.size(); ++i) untimed_[i]->seconds += seconds[i];
  untimed_.clear();
  return ops_;
}

double floor_seconds(const std::vector<ProductTime>& products) {
  double total = 0.0;
  for (const ProductTime& product : products)
    total += static_cast<double>(product.count) * product.seconds;
  return total;
}

}  // namespace twill
