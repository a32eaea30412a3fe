// SPDX-License-Identifier: Apache-2.0
// The ops of sparsity beside a plain copy of the same matrix, 4096 x 1024 in f32: what a refresh of
// masks or a new packed copy costs.
#include <cstring>

#include "base/thread_pool.h"
#include "ops/packing/pack24.h"
#include "ops/selection/mask.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kRows = 4096, kCols = 1024;

Shape matrix() { return {kRows, kCols}; }

// bytes = read + written per element of the matrix.
template <class Body>
void run_on_matrix(benchmark::State& state, int num_threads, double bytes, const Body& body) {
  const double total = bytes * static_cast<double>(kRows * kCols);
  run_memory_bound(state, num_threads, static_cast<std::int64_t>(total), body);
}

void copy(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor(matrix());
  Tensor y(DType::kF32, matrix());
  ThreadPool pool(num_threads);
  run_on_matrix(state, num_threads, 8, [&](const Context&) {
    parallel_for(pool, kRows * kCols, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(y.view().as<float>() + begin, x.view().as<float>() + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  });
}

template <GroupAxis kAxis>
void select(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor(matrix());
  Tensor mask(DType::kU8, matrix());
  run_on_matrix(state, num_threads, 5, [&](const Context& context) {
    select24(context, {.x = x.view(), .mask = mask.view(), .axis = kAxis});
  });
}

template <TransposableMethod kMethod>
void transposable(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor(matrix());
  Tensor mask(DType::kU8, matrix());
  run_on_matrix(state, num_threads, 5, [&](const Context& context) {
    transposable24(context, {.x = x.view(), .mask = mask.view(), .method = kMethod});
  });
}

void keep_masked(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor(matrix());
  Tensor mask(DType::kU8, matrix()), y(DType::kF32, matrix());
  select24(cpu_context(num_threads), {.x = x.view(), .mask = mask.view()});
  run_on_matrix(state, num_threads, 9, [&](const Context& context) {
    apply_mask(context, {.x = x.view(), .mask = mask.view(), .y = y.view()});
  });
}

template <bool kTranspose>
void pack(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor(matrix());
  Tensor mask(DType::kU8, matrix());
  transposable24(cpu_context(num_threads), {.x = x.view(), .mask = mask.view()});
  const std::int64_t rows = kTranspose ? kCols : kRows, cols = kTranspose ? kRows : kCols;
  Tensor values(DType::kF32, {rows, cols / 2}), nibbles(DType::kU8, {rows, cols / 8});
  run_on_matrix(state, num_threads, 7.125, [&](const Context& context) {
    pack24(context, {.dense = x.view(),
                     .mask = mask.view(),
                     .values = values.view(),
                     .nibbles = nibbles.view(),
                     .transpose = kTranspose});
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  register_bench("sparsity/copy", copy);
  register_bench("sparsity/select24/rows", select<GroupAxis::kWithinRow>);
  register_bench("sparsity/select24/columns", select<GroupAxis::kWithinColumn>);
  register_bench("sparsity/transposable24/exact", transposable<TransposableMethod::kExact>);
  register_bench("sparsity/transposable24/greedy", transposable<TransposableMethod::kGreedyKeep>);
  register_bench("sparsity/apply_mask", keep_masked);
  register_bench("sparsity/pack24", pack<false>);
  register_bench("sparsity/pack24/transposed", pack<true>);
  return true;
}();

}  // namespace
}  // namespace twill::bench
