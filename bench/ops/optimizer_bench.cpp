// SPDX-License-Identifier: Apache-2.0
// What touches every parameter once per step: 16 Mi elements, well beyond the caches.
#include "ops/numbers/fill.h"
#include "ops/numbers/sum_squares.h"
#include "ops/support.h"
#include "ops/update/adamw.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kElements = 16 << 20;

void update(benchmark::State& state, int num_threads) {
  const Tensor grad = random_tensor({kElements});
  Tensor weight = random_tensor({kElements}), m(DType::kF32, {kElements});
  Tensor v(DType::kF32, {kElements});
  run_memory_bound(state, num_threads, kElements * 28, [&](const Context& context) {
    adamw(context, {.weight = weight.view(),
                    .grad = grad.view(),
                    .m = m.view(),
                    .v = v.view(),
                    .lr = 1e-3,
                    .weight_decay = 0.1,
                    .step = 10});
  });
}

void squares(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kElements});
  Tensor sum(DType::kF64, {1});
  run_memory_bound(state, num_threads, kElements * 4, [&](const Context& context) {
    sum_squares(context, {.x = x.view(), .sum = sum.view()});
  });
}

void clear(benchmark::State& state, int num_threads) {
  Tensor x(DType::kF32, {kElements});
  run_memory_bound(state, num_threads, kElements * 4,
                   [&](const Context& context) { fill(context, {.x = x.view(), .value = 0.0}); });
}

[[maybe_unused]] const bool kRegistered = [] {
  register_bench("adamw", update);
  register_bench("sum_squares", squares);
  register_bench("fill", clear);
  return true;
}();

}  // namespace
}  // namespace twill::bench
