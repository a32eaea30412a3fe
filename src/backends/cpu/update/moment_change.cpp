// SPDX-License-Identifier: Apache-2.0
// moment_change on the cpu: the runs of the contract in pieces of 128.
//
// Bound by the chain of additions inside a run; four runs at a time hide its latency.
#include "ops/update/moment_change.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kRun = 256;
constexpr std::int64_t kRunsPerPiece = 128;  // 256 KB of reads
constexpr std::int64_t kTogether = 4;

struct Change {
  const float* grad;
  const float* v;
  double grad_scale;
  double one_minus_beta2;

  double operator()(std::int64_t i) const {
    const double g = grad_scale * double{grad[i]};
    return std::abs(one_minus_beta2 * (g * g - double{v[i]}));
  }
};

// The sums of kTogether whole runs, each in index order.
void sum_runs(const Change& change, std::int64_t begin, double* sums) {
  double sum[kTogether] = {};
  for (std::int64_t i = 0; i < kRun; ++i)
    for (std::int64_t r = 0; r < kTogether; ++r) sum[r] += change(begin + r * kRun + i);
  std::copy_n(sum, kTogether, sums);
}

double sum_run(const Change& change, std::int64_t begin, std::int64_t end) {
  double sum = 0.0;
  for (std::int64_t i = begin; i < end; ++i) sum += change(i);
  return sum;
}

}  // namespace

void moment_change(const MomentChangeArgs& args, const Device&, Queue& queue) {
  const std::int64_t n = args.grad.num_elements(), num_runs = (n + kRun - 1) / kRun;
  const Change change{args.grad.as<float>(), args.v.as<float>(), args.grad_scale, 1.0 - args.beta2};
  std::vector<double> sums(static_cast<std::size_t>(num_runs));
  run_pieces(queue, num_runs, kRunsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t r = begin;
    for (; r + kTogether <= end && (r + kTogether) * kRun <= n; r += kTogether)
      sum_runs(change, r * kRun, sums.data() + r);
    for (; r < end; ++r)
      sums[static_cast<std::size_t>(r)] = sum_run(change, r * kRun, std::min(n, (r + 1) * kRun));
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  args.sum.as<double>()[0] = total;
}

}  // namespace twill::cpu
