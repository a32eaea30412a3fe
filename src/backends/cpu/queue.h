// SPDX-License-Identifier: Apache-2.0
// What a cpu Queue owns: threads, and the tables that outlive a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "backends/cpu/attention/rotary_table.h"
#include "backends/cpu/products/packed_scratch.h"
#include "backends/cpu/products/rounded_products.h"
#include "backends/cpu/selection/kept_scratch.h"
#include "base/thread_pool.h"
#include "ops/kernel_table.h"

namespace twill::cpu {

class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(int num_threads) : pool_(num_threads) {}

  ThreadPool& pool() { return pool_; }
  KeptScratch& kept_scratch() { return kept_scratch_; }
  PackedScratch& packed_scratch() { return packed_scratch_; }
  RotaryTables& rotary_tables() { return rotary_tables_; }
  RoundedOperands& rounded_operands() { return rounded_operands_; }

 private:
  ThreadPool pool_;
  KeptScratch kept_scratch_;
  PackedScratch packed_scratch_;
  RotaryTables rotary_tables_;
  RoundedOperands rounded_operands_;
};

inline CpuQueue& cpu_queue(Queue& queue) { return static_cast<CpuQueue&>(queue); }

// Runs task(index, thread) for every index in [0, num_tasks), without allocating.
template <class Task>
void run_tasks(Queue& queue, std::int64_t num_tasks, const Task& task) {
  cpu_queue(queue).pool().run(num_tasks, std::cref(task));
}

// Runs body(begin, end) on the pieces of [0, count), `grain` long each but for the last.
template <class Body>
void run_pieces(Queue& queue, std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_for(cpu_queue(queue).pool(), count, grain, body);
}

// Rows per task when a task shall hold about `elements` elements.
inline std::int64_t rows_per_task(std::int64_t elements, std::int64_t cols) {
  return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, cols));
}

}  // namespace twill::cpu
