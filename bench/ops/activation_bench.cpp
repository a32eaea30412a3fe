// SPDX-License-Identifier: Apache-2.0
// Activations of a feed-forward layer: 2048 tokens, width 4 x 512.
#include "ops/activation.h"

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
  }
  return true;
}();

}  // namespace
}  // namespace twill::bench
