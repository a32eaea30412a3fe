// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

#include <cstring>
#include <map>
#include <memory>

#include "base/rng.h"
#include "base/thread_pool.h"
#include "measure/calls.h"
#include "ops/products/gemm.h"

namespace twill::bench {
namespace {

constexpr std::uint64_t kSeed = 2024;
constexpr CallLimits kRoofRuns{.fewest = 7, .most = 7};  // a roof is what the machine can do

double measure_copy(int num_threads) {
  const std::int64_t n = 16 << 20, grain = 1 << 16;
  Tensor from(DType::kF32, {n}), to(DType::kF32, {n});
  ThreadPool pool(num_threads);
  const double seconds = best_seconds(cpu_context(num_threads), kRoofRuns, [&] {
    parallel_for(pool, n, grain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.view().as<float>() + begin, from.view().as<float>() + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  });
  return 2.0 * static_cast<double>(n) * sizeof(float) / seconds;
}

double measure_product(int num_threads) {
  const std::int64_t n = 2048;
  Tensor a = random_tensor({n, n}), b = random_tensor({n, n}), c(DType::kF32, {n, n});
  const Context& context = cpu_context(num_threads);
  const GemmArgs args{.a = a.view(), .b = b.view(), .c = c.view()};
  const double seconds = best_seconds(context, kRoofRuns, [&] {
    context.kernels().benches.plain_gemm(args, context.device(), context.queue());
  });
  return 2.0 * static_cast<double>(n * n * n) / seconds;
}

double remember(std::map<int, double>& known, int num_threads, double (*measure)(int)) {
  const auto found = known.find(num_threads);
  if (found != known.end()) return found->second;
  return known[num_threads] = measure(num_threads);
}

}  // namespace

Tensor random_tensor(Shape shape, float sigma) {
  Tensor tensor(DType::kF32, shape);
  float* data = tensor.view().as<float>();
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    const Philox4 bits = random_bits(kSeed, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    data[i] = sigma * normal_float(bits[0], bits[1]);
  }
  return tensor;
}

Tensor random_tokens(Shape shape, std::int32_t vocabulary) {
  Tensor tensor(DType::kI32, shape);
  std::int32_t* data = tensor.view().as<std::int32_t>();
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    const Philox4 bits = random_bits(kSeed, Purpose::kTest, 1, static_cast<std::uint64_t>(i));
    data[i] = static_cast<std::int32_t>(bits[0] % static_cast<std::uint32_t>(vocabulary));
  }
  return tensor;
}

const Context& cpu_context(int num_threads) {
  static std::map<int, std::unique_ptr<Context>> contexts;
  std::unique_ptr<Context>& context = contexts[num_threads];
  if (!context) context = std::make_unique<Context>(cpu_table(), num_threads);
  return *context;
}

double copy_roof(int num_threads) {
  static std::map<int, double> known;
  return remember(known, num_threads, measure_copy);
}

double product_roof(int num_threads) {
  static std::map<int, double> known;
  return remember(known, num_threads, measure_product);
}

void report_rate(benchmark::State& state, const std::string& unit, double amount, double roof) {
  using benchmark::Counter;
  const double iterations = static_cast<double>(state.iterations());
  state.counters[unit] = Counter(amount * iterations / 1e9, Counter::kIsRate);
  state.counters["roof_%"] = Counter(100.0 * amount * iterations / roof, Counter::kIsRate);
}

}  // namespace twill::bench
