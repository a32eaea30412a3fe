// SPDX-License-Identifier: Apache-2.0
// Causal attention; FLOPs count the visible half of the scores only. rotary on the same buffers.
// One token over a cache: every key and value is read once.
#include "ops/attention/attention.h"

#include <array>
#include <cmath>

#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

struct Problem {
  const char* name;
  std::int64_t B, T, H, K, D;

  Shape qkv() const { return {B, T, H + 2 * K, D}; }
  Shape out() const { return {B, T, H, D}; }
  // One product of (T, D) and (D, T) per head, lower triangle with the diagonal.
  double flops() const { return static_cast<double>(B * H * T * (T + 1) * D); }
};

constexpr std::array kProblems{
    Problem{"d512", 8, 256, 8, 8, 64},    Problem{"d512_grouped", 8, 256, 8, 2, 64},
    Problem{"gpt2", 1, 1024, 12, 12, 64}, Problem{"long", 1, 2048, 8, 8, 128},
    Problem{"short", 32, 64, 8, 8, 32},
};

struct Operands {
  Operands(const Problem& problem, const Context& context)
      : qkv(random_tensor(problem.qkv())),
        dout(random_tensor(problem.out())),
        out(DType::kF32, problem.out()),
        lse(DType::kF32, {problem.B, problem.H, problem.T}),
        dqkv(DType::kF32, problem.qkv()),
        scale(1.0 / std::sqrt(static_cast<double>(problem.D))) {
    workspace = Tensor(DType::kU8, {attention_workspace_bytes(context, forward())});
  }

  AttentionForwardArgs forward() {
    return {.qkv = qkv.view(),
            .out = out.view(),
            .lse = lse.view(),
            .workspace = workspace.view(),
            .scale = scale};
  }
  AttentionBackwardArgs backward() {
    return {.qkv = qkv.view(),
            .out = out.view(),
            .lse = lse.view(),
            .dout = dout.view(),
            .dqkv = dqkv.view(),
            .workspace = workspace.view(),
            .scale = scale};
  }

  Tensor qkv, dout, out, lse, dqkv, workspace;
  double scale;
};

void forward(benchmark::State& state, const Problem& problem, int num_threads) {
  Operands operands(problem, cpu_context(num_threads));
  run_flop_bound(state, num_threads, 2.0 * problem.flops(),
                 [&](const Context& context) { attention_forward(context, operands.forward()); });
}

void backward(benchmark::State& state, const Problem& problem, int num_threads) {
  Operands operands(problem, cpu_context(num_threads));
  attention_forward(cpu_context(num_threads), operands.forward());
  run_flop_bound(state, num_threads, 5.0 * problem.flops(),
                 [&](const Context& context) { attention_backward(context, operands.backward()); });
}

void turn(benchmark::State& state, const Problem& problem, int num_threads) {
  Tensor x = random_tensor(problem.qkv());
  const std::int64_t turned = problem.H + problem.K;
  run_memory_bound(
      state, num_threads, problem.B * problem.T * turned * problem.D * 8,
      [&](const Context& context) { rotary(context, {.x = x.view(), .num_rotated = turned}); });
}

void decode(benchmark::State& state, const Problem& problem, int num_threads) {
  const Tensor qkv = random_tensor({1, problem.H + 2 * problem.K, problem.D});
  Tensor keys = random_tensor({problem.T, problem.K, problem.D});
  Tensor values = random_tensor({problem.T, problem.K, problem.D});
  Tensor out(DType::kF32, {1, problem.H, problem.D});
  run_memory_bound(state, num_threads, 2 * problem.T * problem.K * problem.D * 4,
                   [&](const Context& context) {
                     cached_attention(context, {.qkv = qkv.view(),
                                                .keys = keys.view(),
                                                .values = values.view(),
                                                .out = out.view(),
                                                .past = problem.T - 1});
                   });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Problem& problem : kProblems) {
    const std::string name = problem.name;
    register_bench("attention/" + name + "/forward",
                   [=](benchmark::State& state, int threads) { forward(state, problem, threads); });
    register_bench("attention/" + name + "/backward", [=](benchmark::State& state, int threads) {
      backward(state, problem, threads);
    });
    register_bench("cached_attention/" + name,
                   [=](benchmark::State& state, int threads) { decode(state, problem, threads); });
  }
  register_bench("rotary/d512",
                 [](benchmark::State& state, int threads) { turn(state, kProblems[0], threads); });
  return true;
}();

}  // namespace
}  // namespace twill::bench
