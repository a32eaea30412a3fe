// SPDX-License-Identifier: Apache-2.0
// Activations of a feed-forward layer: 2048 tokens, width 4 x 512.
#include "ops/layers/activation.h"

#include <cmath>

#include "base/thread_pool.h"
#include "ops/packing/activation_sample.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kRows = 2048, kCols = 2048;

void forward(benchmark::State& state, Activation kind, int num_threads) {
  const std::int64_t width = is_gated(kind) ? 2 : 1;
  const Tensor x = random_tensor({kRows, width * kCols});
  Tensor y(DType::kF32, {kRows, kCols});
  run_memory_bound(state, num_threads, kRows * kCols * (width + 1) * 4,
                   [&](const Context& context) {
                     activation_forward(context, {.kind = kind, .x = x.view(), .y = y.view()});
                   });
}

void backward(benchmark::State& state, Activation kind, int num_threads) {
  const std::int64_t width = is_gated(kind) ? 2 : 1;
  const Tensor x = random_tensor({kRows, width * kCols}), dy = random_tensor({kRows, kCols});
  Tensor dx(DType::kF32, {kRows, width * kCols});
  run_memory_bound(state, num_threads, kRows * kCols * (2 * width + 1) * 4,
                   [&](const Context& context) {
                     activation_backward(
                         context, {.kind = kind, .x = x.view(), .dy = dy.view(), .dx = dx.view()});
                   });
}

// Beside them: the same values and gates, taken token by token down each column, as a product that lay
// channel by channel would have it. Every access is a row apart from the one before.
void down_columns(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kRows, 2 * kCols});
  Tensor y(DType::kF32, {kRows, kCols});
  ThreadPool pool(num_threads);
  run_memory_bound(state, num_threads, kRows * kCols * 3 * 4, [&](const Context&) {
    const float* from = x.view().as<float>();
    float* to = y.view().as<float>();
    parallel_for(pool, kCols, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        for (std::int64_t r = 0; r < kRows; ++r) {
          const float value = from[r * 2 * kCols + c], gate = from[r * 2 * kCols + kCols + c];
          to[r * kCols + c] = value * gate / (1.0f + std::exp(-gate));
        }
      }
    });
  });
}

// The gradient of a gated activation, and the packed sample of it: two ops on this backend.
void backward_and_sample(benchmark::State& state, Activation kind, int num_threads) {
  const std::int64_t width = (is_gated(kind) ? 2 : 1) * kCols;
  const Tensor x = random_tensor({kRows, width}), dy = random_tensor({kRows, kCols});
  Tensor dx(DType::kF32, {kRows, width}), sample(DType::kF32, {kRows, width});
  const PackedShape shape = packed_sample_shape(width, kRows, DType::kF32);
  const std::int64_t bytes = packed_bytes(cpu_context(num_threads), shape);
  Tensor storage(DType::kU8, {bytes});
  const ActivationSampleArgs args{
      .activation = {.kind = kind, .x = x.view(), .dy = dy.view(), .dx = dx.view()},
      .pack = {.x = dx.view(),
               .sample = sample.view(),
               .shape = shape,
               .storage = storage.view(),
               .seed = 1}};
  run_memory_bound(state, num_threads, moved_bytes(args),
                   [&](const Context& context) { activation_sample(context, args); });
}

[[maybe_unused]] const bool kRegistered = [] {
  const std::pair<const char*, Activation> kinds[] = {
      {"gelu", Activation::kGelu},   {"gelu_tanh", Activation::kGeluTanh},
      {"relu2", Activation::kRelu2}, {"swiglu", Activation::kSwiglu},
      {"geglu", Activation::kGeglu}, {"geglu_tanh", Activation::kGegluTanh}};
  for (const auto& [name, value] : kinds) {
    const Activation kind = value;
    const std::string prefix = std::string("activation/") + name;
    register_bench(prefix + "/forward",
                   [=](benchmark::State& state, int threads) { forward(state, kind, threads); });
    register_bench(prefix + "/backward",
                   [=](benchmark::State& state, int threads) { backward(state, kind, threads); });
    register_bench(prefix + "/backward_and_sample", [=](benchmark::State& state, int threads) {
      backward_and_sample(state, kind, threads);
    });
  }
  register_bench("activation/swiglu/forward_down_columns", down_columns);
  return true;
}();

}  // namespace
}  // namespace twill::bench
