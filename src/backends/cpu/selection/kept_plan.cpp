// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/selection/kept_plan.h"

#include <algorithm>
#include <array>

namespace twill::cpu {
namespace {

// The end of a task that begins at `row`: about `entries` further on.
std::int64_t end_of_task(const std::int32_t* row_begin, std::int64_t rows, std::int64_t row,
                         std::int64_t entries) {
  const std::int64_t last = std::min(rows, row + kKeptTaskRows);
  const std::int32_t* const end =
      std::lower_bound(row_begin + row + 1, row_begin + last, row_begin[row] + entries);
  return end - row_begin;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Where the sums of the task that begins at `row` may begin, with `entries` before it: each run is
// rounded up to whole groups, each cell and each task to whole vectors.
std::int64_t first_sum(const KeptPlan& plan, std::int64_t task, std::int64_t row,
                       std::int64_t entries) {
  return round_up(entries + row * plan.num_chunks * (kKeptGroup - 1), kKeptSums) +
         task * (plan.num_chunks + 1) * kKeptSums;
}

}  // namespace

KeptPlan cut_kept(const KeptPositions& kept, std::int64_t cols, int num_threads,
                  KeptScratch& scratch) {
  const std::int64_t rows = kept.rows(), num_chunks = (cols + kKeptColumns - 1) / kKeptColumns;
  const std::int64_t wanted = num_threads;  // each task reads all panels of x
  const std::int64_t entries = (kept.count() + wanted - 1) / wanted;
  const std::int32_t* row_begin = kept.row_begin.as<std::int32_t>();
  KeptPlan plan;
  plan.num_chunks = num_chunks;
  // A task ends at its share of entries or of rows, so there are few more than wanted.
  plan.tasks = scratch.take<KeptTask>(KeptScratch::kTasks, wanted + 1 + rows / kKeptTaskRows);
  for (std::int64_t row = 0; row < rows;) {
    const std::int64_t end = end_of_task(row_begin, rows, row, entries);
    plan.tasks[plan.num_tasks++] = {row, end};
    row = end;
  }
  const std::int64_t num_cells = plan.num_tasks * num_chunks;
  const std::int64_t num_sums = first_sum(plan, plan.num_tasks, rows, kept.count());
  plan.cells = scratch.take<KeptCell>(KeptScratch::kCells, num_cells);
  plan.runs = scratch.take<KeptRun>(KeptScratch::kRuns, rows * num_chunks);
  plan.offset = scratch.take<std::uint16_t>(KeptScratch::kOffsets, num_sums);
  plan.sums = scratch.take<float>(KeptScratch::kSums, num_sums);
  return plan;
}

void plan_task(const KeptPositions& kept, const KeptPlan& plan, std::int64_t task) {
  const std::int32_t* row_begin = kept.row_begin.as<std::int32_t>();
  const std::int32_t* column = kept.column.as<std::int32_t>();
  const auto [first_row, end_row] = plan.tasks[task];
  const std::int64_t rows = end_row - first_row;
  std::array<std::int32_t, kKeptTaskRows + 1> next, begin;
  std::copy_n(row_begin + first_row, rows, next.data());
  std::int64_t first_run = first_row * plan.num_chunks;
  std::int64_t sum = first_sum(plan, task, first_row, row_begin[first_row]);
  for (std::int64_t chunk = 0; chunk < plan.num_chunks; ++chunk) {
    const std::int64_t first_column = chunk * kKeptColumns, limit = first_column + kKeptColumns;
    std::array<std::int32_t, kKeptColumns + 2> place{};  // by the number of entries
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      const std::int32_t end = row_begin[first_row + static_cast<std::int64_t>(r) + 1];
      begin[r] = next[r];
      while (next[r] < end && column[next[r]] < limit) ++next[r];
      ++place[static_cast<std::size_t>(next[r] - begin[r]) + 1];
    }
    const std::int32_t num_empty = place[1];
    for (std::size_t n = 1; n < place.size(); ++n) place[n] += place[n - 1];
    KeptRun* runs = plan.runs + first_run;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      const std::int32_t count = next[r] - begin[r];
      if (count > 0)
        runs[place[static_cast<std::size_t>(count)]++ - num_empty] = {static_cast<std::int32_t>(r),
                                                                      count, begin[r]};
    }
    const std::int64_t num_runs = rows - num_empty;
    plan.cells[task * plan.num_chunks + chunk] = {first_run, num_runs, sum};
    std::uint16_t* offset = plan.offset + sum;
    for (const KeptRun* run = runs; run != runs + num_runs; ++run) {
      for (std::int32_t i = 0; i < run->count; ++i)
        offset[i] =
            static_cast<std::uint16_t>((column[run->value_begin + i] - first_column) * kKeptTokens);
      offset += round_up(run->count, kKeptGroup);
    }
    first_run += num_runs;
    sum = round_up(offset - plan.offset, kKeptSums);
  }
}

void place_sums(const KeptPlan& plan, std::int64_t task, bool add, float* values) {
  for (std::int64_t chunk = 0; chunk < plan.num_chunks; ++chunk) {
    const KeptCell& cell = plan.cell(task, chunk);
    const float* sum = plan.sums + cell.first_sum;
    for (std::int64_t i = 0; i < cell.num_runs; ++i) {
      const KeptRun& run = plan.runs[cell.first_run + i];
      float* to = values + run.value_begin;
      for (std::int32_t k = 0; k < run.count; ++k) to[k] = add ? to[k] + sum[k] : sum[k];
      sum += round_up(run.count, kKeptGroup);
    }
  }
}

}  // namespace twill::cpu
