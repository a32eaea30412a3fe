// SPDX-License-Identifier: Apache-2.0
#include "train/step_profile.h"

#include <algorithm>
#include <limits>

#include "ops/transfer.h"

namespace twill {
namespace {

using Clock = std::chrono::steady_clock;

bool same_product(const GemmArgs& a, const GemmArgs& b) {
  return a.m() == b.m() && a.n() == b.n() && a.k() == b.k() && a.trans_a == b.trans_a &&
         a.trans_b == b.trans_b && a.accumulate == b.accumulate &&
         static_cast<bool>(a.bias) == static_cast<bool>(b.bias) &&
         static_cast<bool>(a.addend) == static_cast<bool>(b.addend) && a.epilogue == b.epilogue &&
         a.c.dtype() == b.c.dtype();
}

double best_of(int repeats, const Context& context, Kernel<GemmArgs> kernel, const GemmArgs& args) {
  kernel(args, context.device(), context.queue());  // warm
  wait(context);
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Clock::time_point start = Clock::now();
    kernel(args, context.device(), context.queue());
    wait(context);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

void StepProfile::before(std::string_view) {
  wait(context_);
  started_ = Clock::now();
}

void StepProfile::after(std::string_view op) {
  wait(context_);
  auto found = ops_.find(op);
  if (found == ops_.end()) found = ops_.emplace(std::string(op), OpTime{}).first;
  ++found->second.calls;
  found->second.seconds += std::chrono::duration<double>(Clock::now() - started_).count();
}

void StepProfile::gemm(const GemmArgs& args) {
  const auto known = std::ranges::find_if(
      products_, [&](const ProductTime& product) { return same_product(product.args, args); });
  if (known != products_.end()) {
    ++known->count;
  } else {
    products_.push_back({.args = args, .count = 1});
  }
}

std::vector<ProductTime> StepProfile::measure_products(const Context& context, int repeats,
                                                       bool with_plain) const {
  std::vector<ProductTime> measured = products_;
  for (ProductTime& product : measured)
    product.seconds = best_of(repeats, context, context.kernels().gemm, product.args);
  // The library comes last: its threads spin for milliseconds after a call and would slow ours
  // down.
  const Kernel<GemmArgs> library = context.kernels().plain_gemm;
  if (!with_plain || library == nullptr) return measured;
  for (ProductTime& product : measured)
    product.plain_seconds = best_of(repeats, context, library, product.args);
  return measured;
}

double floor_seconds(const std::vector<ProductTime>& products) {
  double total = 0.0;
  for (const ProductTime& product : products)
    total += static_cast<double>(product.count) * product.seconds;
  return total;
}

}  // namespace twill
