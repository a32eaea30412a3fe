// SPDX-License-Identifier: Apache-2.0
// What every op benchmark needs: operands, contexts, and rates next to their roofs.
#pragma once

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace twill::bench {

// Normal(0, sigma) from a fixed seed.
Tensor random_tensor(Shape shape, float sigma = 1.0f);
Tensor random_tokens(Shape shape, std::int32_t vocabulary);

// The cpu backend on 1 thread, 2 threads, … (opened once each).
const Context& cpu_context(int num_threads);

// Bytes per second of a copy of 64 MB by the same threads: the roof of what memory bounds. Operands
// that stay in cache can pass it.
double copy_roof(int num_threads);
// FLOP/s of the library's product 2048 x 2048 x 2048 with the same threads: the roof of what FMAs
// bound.
double product_roof(int num_threads);

// Runs body until the benchmark has enough, then reports GB/s and its share of copy_roof().
template <class Body>
void run_memory_bound(benchmark::State& state, int num_threads, std::int64_t num_bytes,
                      const Body& body);
// The same with GFLOP/s and product_roof().
template <class Body>
void run_flop_bound(benchmark::State& state, int num_threads, double flops, const Body& body);

void report_rate(benchmark::State& state, const std::string& unit, double amount, double roof);

template <class Body>
void run_memory_bound(benchmark::State& state, int num_threads, std::int64_t num_bytes,
                      const Body& body) {
  body(cpu_context(num_threads));  // first touch of pages and tables
  for ([[maybe_unused]] auto _ : state) body(cpu_context(num_threads));
  report_rate(state, "GB/s", static_cast<double>(num_bytes), copy_roof(num_threads));
}

template <class Body>
void run_flop_bound(benchmark::State& state, int num_threads, double flops, const Body& body) {
  body(cpu_context(num_threads));
  for ([[maybe_unused]] auto _ : state) body(cpu_context(num_threads));
  report_rate(state, "GFLOP/s", flops, product_roof(num_threads));
}

// Registers bench(state, num_threads) on one thread and on all.
template <class Bench>
void register_bench(const std::string& name, const Bench& bench) {
  const int all = cpu_context(0).device().num_threads;
  for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1)
    benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(),
                                 [=](benchmark::State& state) { bench(state, threads); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace twill::bench
