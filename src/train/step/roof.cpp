// SPDX-License-Identifier: Apache-2.0
#include "train/step/roof.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "measure/calls.h"
#include "measure/random_fill.h"
#include "ops/products/gemm.h"
#include "ops/transfer.h"
#include "tensor/tensor.h"

namespace twill {
namespace {

// A roof is the best of so many calls, and of as many more as fill so many seconds: clocks need
// some time to rise from idle.
constexpr CallLimits kCalls{.fewest = 5, .most = 1000, .enough = 0.05};

// The largest side for which three matrices fit well; 0 when none does.
std::int64_t side_for(const Context& context, DType dtype) {
  constexpr std::int64_t kHostSide = 2048, kDeviceSide = 8192, kMargin = std::int64_t{256} << 20;
  const auto free_bytes = context.kernels().free_bytes;
  if (free_bytes == nullptr) return kHostSide;
  std::int64_t side = kDeviceSide;
  while (3 * side * side * size_of(dtype) + kMargin > free_bytes()) {
    if (side == kHostSide) return 0;
    side /= 2;
  }
  return side;
}

double host_copy(const Context& context) {
  constexpr std::int64_t kElements = 16 << 20, kGrain = 1 << 16;
  Tensor from(DType::kF32, {kElements}), to(DType::kF32, {kElements});
  auto* const source = from.view().as<float>();
  auto* const target = to.view().as<float>();
  ThreadPool pool(context.device().num_threads);
  // Pages that were never written are one page of zeros, which every cache holds.
  parallel_for(pool, kElements, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) source[i] = static_cast<float>(i % 8191);
  });
  const double seconds = best_seconds(context, kCalls, [&] {
    parallel_for(pool, kElements, kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(target + begin, source + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  });
  return 2.0 * sizeof(float) * static_cast<double>(kElements) / seconds;
}

}  // namespace

double measure_copy_roof(const Context& context) {
  const KernelTable& kernels = context.kernels();
  if (kernels.benches.copy_bytes_per_second != nullptr)
    return kernels.benches.copy_bytes_per_second(context.device(), context.queue());
  return shares_memory(context) ? host_copy(context) : 0.0;
}

double measure_product_roof(const Context& context) {
  const Kernel<GemmArgs> library = context.kernels().benches.plain_gemm;
  if (library == nullptr) return 0.0;
  const DType dtype = context.kernels().stores_bf16 ? DType::kBf16 : DType::kF32;
  const std::int64_t n = side_for(context, dtype);
  if (n == 0) return 0.0;
  const Tensor a = normal_matrix(context, dtype, {n, n}, 1),
               b = normal_matrix(context, dtype, {n, n}, 2);
  Tensor c(dtype, {n, n}, context.memory());
  GemmArgs args{.a = a.view(), .b = b.view(), .c = c.view()};
  const auto rate = [&] {
    return counted_flops(args) /
           best_seconds(context, kCalls, [&] { library(args, context.device(), context.queue()); });
  };
  double best = rate();
  if (shares_memory(context)) return best;
  // The three forms of a linear layer's products run by different kernels.
  for (const auto& [trans_a, trans_b] : {std::pair{false, true}, std::pair{true, false}}) {
    args.trans_a = trans_a;
    args.trans_b = trans_b;
    best = std::max(best, rate());
  }
  return best;
}

Roof measure_roof(const Context& context) {
  const double copy = measure_copy_roof(context);
  return {.copy = copy, .product = measure_product_roof(context)};
}

}  // namespace twill
