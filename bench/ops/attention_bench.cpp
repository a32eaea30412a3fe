// SPDX-License-Identifier: Apache-2.0
// Causal attention, and an encoder's: full, over sequences of two lengths. FLOPs count visible pairs
// only. rotary on the same buffers.
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
  // Half of the sequences of a padded batch are shorter by a quarter.
  std::int64_t length(std::int64_t b) const { return b % 2 == 0 ? T : T - T / 4; }
  // One product of (T, D) and (D, T) per head: lower triangle with the diagonal, or full and padded.
  double flops(bool is_full) const {
    if (!is_full) return static_cast<double>(B * H * T * (T + 1) * D);
    std::int64_t pairs = 0;
    for (std::int64_t b = 0; b < B; ++b) pairs += length(b) * length(b);
    return static_cast<double>(2 * pairs * H * D);
  }
};

constexpr std::array kProblems{
    Problem{"d512", 8, 256, 8, 8, 64},    Problem{"d512_grouped", 8, 256, 8, 2, 64},
    Problem{"gpt2", 1, 1024, 12, 12, 64}, Problem{"long", 1, 2048, 8, 8, 128},
    Problem{"short", 32, 64, 8, 8, 32},
};

struct Operands {
  Operands(const Problem& problem, const Context& context, bool is_full)
      : H(problem.H),
        qkv(random_tensor(problem.qkv())),
        dout(random_tensor(problem.out())),
        out(DType::kF32, problem.out()),
        lse(DType::kF32, {problem.B, problem.H, problem.T}),
        dqkv(DType::kF32, problem.qkv()),
        scale(1.0 / std::sqrt(static_cast<double>(problem.D))) {
    if (is_full) {
      mask.kind = AttentionPattern::kFull;
      lengths = Tensor(DType::kI32, {problem.B});
      for (std::int64_t b = 0; b < problem.B; ++b)
        lengths.view().as<std::int32_t>()[b] = static_cast<std::int32_t>(problem.length(b));
    }
    workspace = Tensor(DType::kU8, {attention_workspace_bytes(context, forward())});
  }

  AttentionForwardArgs forward() {
    const auto [q, k, v] = split_qkv(qkv.view(), H);
    return {.q = q,
            .k = k,
            .v = v,
            .out = out.view(),
            .lse = lse.view(),
            .workspace = workspace.view(),
            .scale = scale,
            .mask = mask,
            .key_lengths = lengths.view(),
            .query_lengths = lengths.view()};
  }
  AttentionBackwardArgs backward() {
    const auto [q, k, v] = split_qkv(qkv.view(), H);
    const auto [dq, dk, dv] = split_qkv(dqkv.view(), H);
    return {.q = q,
            .k = k,
            .v = v,
            .out = out.view(),
            .lse = lse.view(),
            .dout = dout.view(),
            .dq = dq,
            .dk = dk,
            .dv = dv,
            .workspace = workspace.view(),
            .scale = scale,
            .mask = mask,
            .key_lengths = lengths.view(),
            .query_lengths = lengths.view()};
  }

  std::int64_t H;
  Tensor qkv, dout, out, lse, dqkv, workspace, lengths;
  AttentionMask mask = {};
  double scale;
};

void forward(benchmark::State& state, const Problem& problem, int num_threads, bool is_full) {
  Operands operands(problem, cpu_context(num_threads), is_full);
  run_flop_bound(state, num_threads, 2.0 * problem.flops(is_full),
                 [&](const Context& context) { attention_forward(context, operands.forward()); });
}

void backward(benchmark::State& state, const Problem& problem, int num_threads, bool is_full) {
  Operands operands(problem, cpu_context(num_threads), is_full);
  attention_forward(cpu_context(num_threads), operands.forward());
  run_flop_bound(state, num_threads, 5.0 * problem.flops(is_full),
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
    for (const bool is_full : {false, true}) {
      const std::string kind = is_full ? "/full" : "";
      register_bench(
          "attention/" + name + kind + "/forward",
          [=](benchmark::State& state, int threads) { forward(state, problem, threads, is_full); });
      register_bench("attention/" + name + kind + "/backward",
                     [=](benchmark::State& state, int threads) {
                       backward(state, problem, threads, is_full);
                     });
    }
    register_bench("cached_attention/" + name,
                   [=](benchmark::State& state, int threads) { decode(state, problem, threads); });
  }
  register_bench("rotary/d512",
                 [](benchmark::State& state, int threads) { turn(state, kProblems[0], threads); });
  return true;
}();

}  // namespace
}  // namespace twill::bench
