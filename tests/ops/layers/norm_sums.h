// SPDX-License-Identifier: Apache-2.0
// What the backward passes of both norms owe of their sums over rows. Beside what judge.h asks, a
// Problem has
//   Outputs run_all(const Setup&) const   run(), and dx_sum behind; dx comes first
//   void hold(double)                     what all sums held before
//   rows, cols, dx_sum (what it held; empty: absent), accumulate
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/numbers/column_sum.h"
#include "support/judge.h"

namespace twill {

// dx_sum is the sum over dx as it was stored: (rows + 1) eps Σ|terms|, as the headers say.
template <class Problem>
testing::AssertionResult check_dx_sum(const Setup& setup, const Problem& problem) {
  if (problem.dx_sum.empty()) return testing::AssertionSuccess();
  const Outputs got = problem.run_all(setup);
  if (setup.threads > 1)
    if (auto result = expect_same_bits(got, problem.run_all(with_threads(setup, 1))); !result)
      return result << " between 1 and " << setup.threads << " threads";
  std::vector<Expected> want;
  for (const double held : problem.dx_sum)
    want.push_back(problem.accumulate ? Expected{held, std::abs(held)} : Expected{0.0, 0.0});
  const Values& dx = got.front().values;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    Expected& sum = want[i % want.size()];
    sum.value += dx[i], sum.scale += std::abs(dx[i]);
  }
  const auto terms = static_cast<double>(problem.rows + 1);
  return expect_close("dx_sum", got.back().values, want, {.terms = terms, .eps_out = 0.0});
}

// Overwriting gives the bits of clearing and adding.
template <class Problem>
testing::AssertionResult expect_overwrites(const Setup& setup, Problem problem) {
  problem.accumulate = true;
  problem.hold(0.0);
  const Outputs added = problem.run_all(setup);
  problem.accumulate = false;
  problem.hold(123.0);
  return expect_same_bits(problem.run_all(setup), added);
}

// No rows give zeros, or leave what was there.
template <class Problem>
testing::AssertionResult expect_no_rows_are_zero(const Setup& setup, Problem problem) {
  problem.hold(123.0);
  for (const bool accumulate : {false, true}) {
    problem.accumulate = accumulate;
    const Outputs got = problem.run_all(setup);
    for (std::size_t i = 1; i < got.size(); ++i) {  // behind dx, which is empty
      const Values want(got[i].values.size(), accumulate ? 123.0 : 0.0);
      if (auto result = expect_same_bits(got[i].name, got[i].values, want); !result)
        return result << " with accumulate " << accumulate;
    }
  }
  return testing::AssertionSuccess();
}

// The bits of a column_sum of the dx that came out: what backends promise that call it.
template <class Problem>
testing::AssertionResult expect_bits_of_column_sum(const Setup& setup, const Problem& problem) {
  const Outputs got = problem.run_all(setup);
  const Buffer dx = setup.buffer(got.front().values), sum = setup.wide(problem.dx_sum);
  column_sum(*setup.context(), {.x = dx.view({problem.rows, problem.cols}),
                                .sum = sum.view({problem.cols}),
                                .accumulate = problem.accumulate});
  return expect_same_bits("dx_sum", got.back().values, sum.values());
}

}  // namespace twill
