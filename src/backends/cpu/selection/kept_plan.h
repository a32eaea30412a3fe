// SPDX-License-Identifier: Apache-2.0
// The order in which kept_gradient goes through the kept entries. It changes no bit: every entry is
// summed on its own.
//
// Rows are cut into tasks of about as many entries each, columns into chunks whose panel stays in
// the L1 cache. A cell is what one task keeps in one chunk. Inside it rows with equally many entries
// follow each other, so that the ends of the short inner loops are foreseen: in the order of rows
// every one would cost a misprediction, about as much as four entries.
#pragma once

#include <cstdint>

#include "backends/cpu/selection/kept_scratch.h"
#include "backends/cpu/selection/kept_simd.h"
#include "ops/selection/kept.h"

namespace twill::cpu {

// Rows of dy whose panel stays in the L2 cache: 128 KB.
constexpr std::int64_t kKeptTaskRows = 512;

struct KeptTask {
  std::int64_t row_begin;
  std::int64_t row_end;
};

struct KeptCell {
  std::int64_t first_run;
  std::int64_t num_runs;
  std::int64_t first_sum;  // multiple of kKeptSums
};

struct KeptPlan {
  std::int64_t num_tasks = 0;
  std::int64_t num_chunks = 0;
  KeptTask* tasks = nullptr;        // (num_tasks)
  KeptCell* cells = nullptr;        // (num_tasks, num_chunks)
  KeptRun* runs = nullptr;          // of all cells
  std::uint16_t* offset = nullptr;  // as many as sums
  float* sums = nullptr;

  const KeptCell& cell(std::int64_t task, std::int64_t chunk) const {
    return cells[task * num_chunks + chunk];
  }
};

// Cuts the rows and takes memory; then every task is planned on its own.
KeptPlan cut_kept(const KeptPositions& kept, std::int64_t cols, int num_threads,
                  KeptScratch& scratch);
void plan_task(const KeptPositions& kept, const KeptPlan& plan, std::int64_t task);

// values [+]= the sums of a task.
void place_sums(const KeptPlan& plan, std::int64_t task, bool add, float* values);

}  // namespace twill::cpu
