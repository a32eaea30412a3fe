// SPDX-License-Identifier: Apache-2.0
// The column sums that pack_sample takes along, against the bound of ops/numbers/column_sum.h.
#include "ops/checks.h"
#include "ops/packing/pack_sample.h"
#include "ops/products/packed24_problem.h"
#include "support/expect_error.h"
#include "support/judge.h"

namespace twill {
namespace {

struct SampleSumsProblem {
  std::int64_t tokens, channels;
  bool accumulate;
  Values x, sum;

  PackedShape shape(const Setup& setup) const {
    return packed_sample_shape(channels, tokens, setup.dtype);
  }

  Outputs run(const Setup& setup) const {
    const Shape dense{tokens, channels};
    const Buffer x_in = setup.buffer(x), sum_out = setup.wide(sum);
    const Buffer scratch = setup.buffer(rubbish(tokens * channels));
    const Storage24 storage(setup, shape(setup));
    pack_sample(*setup.context(), {.x = x_in.view(dense),
                                   .sample = scratch.view(dense),
                                   .shape = shape(setup),
                                   .storage = storage.view(),
                                   .sum = sum_out.view({channels}),
                                   .accumulate = accumulate});
    return {{"sum", sum_out.values()}};
  }

  template <class N>
  Naive<N> naive() const {
    std::vector<N> sums;
    for (std::int64_t c = 0; c < channels; ++c) {
      N total = accumulate ? N(sum[c]) : N(0.0);
      for (std::int64_t t = 0; t < tokens; ++t) total += N(x[t * channels + c]);
      sums.push_back(total);
    }
    return {sums};
  }

  ErrorModel model() const { return {.terms = static_cast<double>(tokens + 1), .eps_out = 0.0}; }
};

class PackSampleSums : public TableTest {};

TEST_P(PackSampleSums, AreThoseOfTheColumns) {
  Random random;
  int judged = 0;
  for (const std::int64_t tokens : {1, 15, 16, 64, 67, 201})
    for (const std::int64_t channels : {8, 64, 72, 136})
      for (const bool accumulate : {false, true}) {
        const SampleSumsProblem problem{tokens, channels, accumulate,
                                        random.normal(tokens * channels), random.normal(channels)};
        if (packed_bytes(*GetParam().context(), problem.shape(GetParam())) == 0) continue;
        EXPECT_TRUE(judge(GetParam(), problem, problem.model()))
            << tokens << " tokens, " << channels << " channels, accumulate " << accumulate;
        ++judged;
      }
  if (judged == 0) GTEST_SKIP() << "packs no samples of this type";
}

INSTANTIATE_TEST_SUITE_P(Tables, PackSampleSums, testing::ValuesIn(setups_with_device()),
                         setup_name);

}  // namespace
}  // namespace twill
