// SPDX-License-Identifier: Apache-2.0
// What S-STE and FST do to a matrix of 4096 x 1024 besides its products, next to a plain copy of it
// by the same threads.
#include <cstring>

#include "base/thread_pool.h"
#include "ops/numbers/fp8.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/support.h"
#include "ops/update/moment_change.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kTokens = 4096, kChannels = 1024, kElements = kTokens * kChannels;
constexpr std::int64_t kBytes = kElements * 8;  // read and written once

void copy(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kTokens, kChannels});
  Tensor y(DType::kF32, {kTokens, kChannels});
  ThreadPool pool(num_threads);
  run_memory_bound(state, num_threads, kBytes, [&](const Context&) {
    parallel_for(pool, kElements, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(y.view().as<float>() + begin, x.view().as<float>() + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  });
}

void sample(benchmark::State& state, int num_threads, MvueLaw law, bool with_mask) {
  const Tensor x = random_tensor({kTokens, kChannels});
  Tensor y(DType::kF32, {kTokens, kChannels}), mask(DType::kU8, {kTokens, kChannels});
  run_memory_bound(state, num_threads, kBytes, [&](const Context& context) {
    mvue24(context, {.x = x.view(),
                     .y = y.view(),
                     .mask = with_mask ? mask.view() : View(),
                     .law = law,
                     .seed = 1});
  });
}

void soften(benchmark::State& state, int num_threads, GroupAxis axis) {
  const Tensor x = random_tensor({kTokens, kChannels});
  Tensor y(DType::kF32, {kTokens, kChannels});
  run_memory_bound(state, num_threads, kBytes, [&](const Context& context) {
    soft_threshold24(context, {.x = x.view(), .y = y.view(), .axis = axis, .scale = 1.5});
  });
}

void sums(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kTokens, kChannels});
  Tensor out(DType::kF64, {4});
  run_memory_bound(state, num_threads, kBytes / 2, [&](const Context& context) {
    soft_threshold24_sums(context, {.x = x.view(), .sums = out.view()});
  });
}

void round(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kTokens, kChannels});
  Tensor y(DType::kF32, {kTokens, kChannels});
  run_memory_bound(state, num_threads, kBytes + kBytes / 2, [&](const Context& context) {
    fp8_round(context, {.x = x.view(), .y = y.view()});
  });
}

void change(benchmark::State& state, int num_threads) {
  const Tensor grad = random_tensor({kTokens, kChannels}), v = random_tensor({kTokens, kChannels});
  Tensor sum(DType::kF64, {1});
  run_memory_bound(state, num_threads, kBytes, [&](const Context& context) {
    moment_change(context, {.grad = grad.view(), .v = v.view(), .sum = sum.view()});
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  const auto with = [](auto bench, auto... more) {
    return [=](benchmark::State& state, int threads) { bench(state, threads, more...); };
  };
  register_bench("mvue24/copy", copy);
  register_bench("mvue24/exact", with(sample, MvueLaw::kExact, false));
  register_bench("mvue24/exact_and_mask", with(sample, MvueLaw::kExact, true));
  register_bench("mvue24/two_draw", with(sample, MvueLaw::kTwoDraw, false));
  register_bench("soft_threshold24/row", with(soften, GroupAxis::kWithinRow));
  register_bench("soft_threshold24/column", with(soften, GroupAxis::kWithinColumn));
  register_bench("soft_threshold24_sums", sums);
  register_bench("fp8_round", round);
  register_bench("moment_change", change);
  return true;
}();

}  // namespace
}  // namespace twill::bench
