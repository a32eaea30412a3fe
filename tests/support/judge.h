// SPDX-License-Identifier: Apache-2.0
// One trial: a problem is run on the setup under test and on the oracle, and the outputs are
// judged.
//
// A Problem is a struct of an op's test with
//   Outputs run(const Setup&) const                  through the op's front door
//   template <class N> Naive<N> naive() const        the same, naively, in numbers of type N
#pragma once

#include <string_view>
#include <vector>

#include "base/bf16.h"
#include "support/expected.h"
#include "support/tables.h"
#include "support/two_oracle.h"

namespace twill {

struct Output {
  std::string_view name;
  Values values;
  DType dtype = DType::kF32;  // what the op stored it in
};
using Outputs = std::vector<Output>;

// In the order of Outputs.
template <class N>
using Naive = std::vector<std::vector<N>>;

struct TwoOracleRule {
  double floor;          // roundings that nobody avoids
  double eps_out = 1.0;  // times eps |value|
  // Roundings to bf16 on the way to an output, where the type under test is bf16; 0: none.
  double bf16_terms = 0.0;
};

inline std::vector<Expected> with_scales(const Values& values, const std::vector<Tracked>& terms) {
  std::vector<Expected> want;
  for (std::size_t i = 0; i < values.size(); ++i) want.push_back({values[i], terms[i].scale});
  return want;
}

inline testing::AssertionResult expect_same_bits(const Outputs& got, const Outputs& want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (auto result = expect_same_bits(want[i].name, got[i].values, want[i].values); !result)
      return result;
  return testing::AssertionSuccess();
}

// The number of threads changes no bit.
template <class Problem>
testing::AssertionResult expect_threads_agree(const Setup& setup, const Problem& problem,
                                              const Outputs& got) {
  if (setup.threads == 1) return testing::AssertionSuccess();
  return expect_same_bits(got, problem.run(with_threads(setup, 1)))
         << " between 1 and " << setup.threads << " threads";
}

// model_of(output index, want) gives the error model of one output.
template <class Problem, class ModelOf>
testing::AssertionResult judge_with(const Setup& setup, const Problem& problem,
                                    const ModelOf& model_of) {
  const Outputs got = problem.run(setup);
  if (auto result = expect_threads_agree(setup, problem, got); !result) return result;
  const Outputs truth = problem.run(oracle());
  const Naive<Tracked> terms = problem.template naive<Tracked>();
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::vector<Expected> want = with_scales(truth[i].values, terms[i]);
    ErrorModel model = model_of(i, want);
    if (got[i].dtype == DType::kBf16) {
      model.eps_out += kEpsBf16;  // the last rounding
      model.floor = 0x1p-126;     // and what lies below the normal range may become zero
    }
    auto result = expect_close(truth[i].name, got[i].values, want, model);
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

template <class Problem>
testing::AssertionResult judge(const Setup& setup, const Problem& problem,
                               const ErrorModel& model) {
  return judge_with(setup, problem, [&](std::size_t, const auto&) { return model; });
}

template <class Problem>
testing::AssertionResult judge(const Setup& setup, const Problem& problem,
                               const TwoOracleRule& rule) {
  const Naive<float> naive = problem.template naive<float>();
  return judge_with(setup, problem, [&](std::size_t i, const std::vector<Expected>& want) {
    ErrorModel model = two_oracle_model(naive[i], want, rule.floor);
    model.eps_out = rule.eps_out * kEpsF32;
    if (setup.dtype == DType::kBf16 && rule.bf16_terms > 0.0) {
      model.terms = rule.bf16_terms;
      model.eps_acc = kEpsBf16;
    }
    return model;
  });
}

// For ops that owe every bit.
template <class Problem>
testing::AssertionResult judge_exact(const Setup& setup, const Problem& problem) {
  const Outputs got = problem.run(setup);
  if (auto result = expect_threads_agree(setup, problem, got); !result) return result;
  Outputs want = problem.run(exact_oracle());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i].dtype == DType::kBf16)
      for (double& value : want[i].values) value = to_float(to_bf16(static_cast<float>(value)));
  return expect_same_bits(got, want);
}

// For data with NaN and Inf in it.
template <class Problem>
testing::AssertionResult judge_specials(const Setup& setup, const Problem& problem) {
  const Outputs got = problem.run(setup), want = problem.run(oracle());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (auto result = expect_same_specials(want[i].name, got[i].values, want[i].values); !result)
      return result;
  return testing::AssertionSuccess();
}

}  // namespace twill
