// SPDX-License-Identifier: Apache-2.0
// gemm against the library's own call with as many threads, on the products of a GPT of width 512
// with 2048 tokens and of GPT-2 124M with 1024 tokens. Ours and theirs alternate call by call; the
// ratio is the median over the pairs (1 means as fast, 0.9 means 11 % slower).
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "measure/calls.h"
#include "measure/ratio.h"
#include "ops/products/gemm.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

struct Problem {
  const char* name;
  bool trans_a;
  bool trans_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

constexpr std::array kProblems{
    Problem{"d512/qkv/forward", false, true, 2048, 1536, 512},
    Problem{"d512/projection/forward", false, true, 2048, 512, 512},
    Problem{"d512/up/forward", false, true, 2048, 2048, 512},
    Problem{"d512/down/forward", false, true, 2048, 512, 2048},
    Problem{"d512/up/dgrad", false, false, 2048, 512, 2048},
    Problem{"d512/down/dgrad", false, false, 2048, 2048, 512},
    Problem{"d512/up/wgrad", true, false, 2048, 512, 2048},
    Problem{"d512/down/wgrad", true, false, 512, 2048, 2048},
    Problem{"d512/projection/wgrad", true, false, 512, 512, 2048},
    Problem{"d512/qkv/wgrad", true, false, 1536, 512, 2048},
    Problem{"gpt2/qkv/forward", false, true, 1024, 2304, 768},
    Problem{"gpt2/up/forward", false, true, 1024, 3072, 768},
    Problem{"gpt2/down/forward", false, true, 1024, 768, 3072},
    Problem{"gpt2/up/wgrad", true, false, 3072, 768, 1024},
    Problem{"gpt2/down/wgrad", true, false, 768, 3072, 1024},
    Problem{"gpt2/logits/forward", false, true, 1024, 50304, 768},
    Problem{"gpt2/logits/dgrad", false, false, 1024, 768, 50304},
    Problem{"gpt2/logits/wgrad", true, false, 50304, 768, 1024},
};

// OpenMP's threads spin for some milliseconds after a call and would hold the cores that our pool
// wants next. In training they do not exist, so here they are given time to fall asleep.
constexpr std::chrono::milliseconds kOpenMpSpin{20};

void gemm_bench(benchmark::State& state, const Problem& problem, int num_threads) {
  const auto [name, trans_a, trans_b, m, n, k] = problem;
  const Tensor a = random_tensor(trans_a ? Shape{k, m} : Shape{m, k});
  const Tensor b = random_tensor(trans_b ? Shape{n, k} : Shape{k, n});
  Tensor c(DType::kF32, {m, n});
  const GemmArgs args{
      .a = a.view(), .b = b.view(), .c = c.view(), .trans_a = trans_a, .trans_b = trans_b};
  const Context& context = cpu_context(num_threads);
  const auto ours = [&] { gemm(context, args); };
  const auto theirs = [&] {
    context.kernels().benches.plain_gemm(args, context.device(), context.queue());
  };
  theirs();
  ours();
  std::vector<double> own_seconds, plain_seconds, ratios;
  for ([[maybe_unused]] auto _ : state) {
    plain_seconds.push_back(wall_seconds(theirs));
    std::this_thread::sleep_for(kOpenMpSpin);
    own_seconds.push_back(wall_seconds(ours));
    ratios.push_back(plain_seconds.back() / own_seconds.back());
    state.SetIterationTime(own_seconds.back());
  }
  const double gflop = 2e-9 * static_cast<double>(m * n * k);
  state.counters["GFLOP/s"] = gflop / median_of(own_seconds);
  state.counters["library"] = gflop / median_of(plain_seconds);
  state.counters["ratio"] = median_of(ratios);
}

[[maybe_unused]] const bool kRegistered = [] {
  const int all = cpu_context(0).device().num_threads;
  for (const Problem& problem : kProblems)
    for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1)
      benchmark::RegisterBenchmark(
          (std::string("gemm/") + problem.name + "/threads:" + std::to_string(threads)).c_str(),
          [=](benchmark::State& state) { gemm_bench(state, problem, threads); })
          ->UseManualTime()
          ->Iterations(31)  // pairs: enough for a median on a machine that is not alone
          ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
}  // namespace twill::bench
