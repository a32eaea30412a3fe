// SPDX-License-Identifier: Apache-2.0
// Hybrid sparse attention of the note on MST: section 2.6.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/attention/attention.h"
#include "papers/broken.h"
#include "support/tables.h"
#include "tensor/tensor.h"

namespace twill {
namespace {

using enum AttentionPattern;
constexpr AttentionPattern kAll[] = {kCausal, kLocal, kStrided, kUnion, kFixed};

class Mst_M10 : public SeededTest {};

TEST_F(Mst_M10, SharesOfThePatterns) {
  struct Row {
    std::int64_t T, s;
    double shares[4];
  };
  constexpr Row kTable[] = {
      {1024, 128, {.2343, .0088, .2411, .1327}}, {1024, 64, {.1210, .0166, .1357, .0780}},
      {1024, 32, {.0615, .0322, .0917, .0624}},  {1024, 256, {.4373, .0049, .4402, .2537}},
      {512, 64, {.2342, .0175, .2478, .1404}},   {256, 32, {.2339, .0350, .2612, .1556}}};
  for (const Row& row : kTable)
    for (std::size_t k = 0; k < 4; ++k) {
      const double all = static_cast<double>(num_visible(kCausal, 1, row.T));
      const double share = static_cast<double>(num_visible(kAll[k + 1], row.s, row.T)) / all;
      EXPECT_NEAR(share, row.shares[k], .00005) << row.T << ' ' << row.s << ' ' << k;
    }
}

TEST_F(Mst_M10, RowsSeeThemselvesAndUnionIsUnion) {
  for (const std::int64_t s : {1, 3, 8, 100})
    for (std::int64_t i = 0; i < 50; ++i)
      for (std::int64_t j = 0; j < 50; ++j) {
        EXPECT_EQ(is_visible(kUnion, s, i, j),
                  is_visible(kLocal, s, i, j) || is_visible(kStrided, s, i, j));
        for (const AttentionPattern pattern : kAll)
          if (j >= i) {
            EXPECT_EQ(is_visible(pattern, s, i, j), i == j);
          }
      }
}

struct Attended {
  std::vector<float> out, lse;
};

// One head.
Attended attend(const KernelTable& table, AttentionPattern pattern, std::int64_t stride,
                const std::vector<float>& qkv, std::int64_t T, std::int64_t D) {
  const Context context(table, 1);
  Attended result{std::vector<float>(static_cast<std::size_t>(T * D)),
                  std::vector<float>(static_cast<std::size_t>(T))};
  const auto [q, k, v] = split_qkv(view_of(qkv.data(), {1, T, 3, D}), 1);
  AttentionForwardArgs args{.q = q,
                            .k = k,
                            .v = v,
                            .out = view_of(result.out.data(), {1, T, 1, D}),
                            .lse = view_of(result.lse.data(), {1, 1, T}),
                            .scale = .25,
                            .mask = {pattern, stride}};
  Tensor workspace(DType::kU8, {attention_workspace_bytes(context, args)}, context.memory());
  args.workspace = workspace.view();
  attention_forward(context, args);
  return result;
}

// Row i of the same in f64, over the keys that the note's table shows.
std::vector<double> explicit_row(AttentionPattern pattern, std::int64_t s,
                                 const std::vector<float>& qkv, std::int64_t i, std::int64_t D) {
  std::vector<double> out(static_cast<std::size_t>(D));
  double sum = 0.0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const bool local = i - j <= s - 1, strided = (i - j) % s == 0;
    const bool fixed = i / s == j / s || (j + 1) % s == 0;
    const bool seen[] = {true, local, strided, local || strided, fixed};
    if (!seen[static_cast<std::size_t>(pattern)]) continue;
    double score = 0.0;
    for (std::int64_t d = 0; d < D; ++d)
      score += double{qkv[i * 3 * D + d]} * double{qkv[(j * 3 + 1) * D + d]};
    const double weight = std::exp(.25 * score);
    sum += weight;
    for (std::int64_t d = 0; d < D; ++d) out[d] += weight * double{qkv[(j * 3 + 2) * D + d]};
  }
  for (double& o : out) o /= sum;
  return out;
}

TEST_F(Mst_M10, EqualsExplicitSoftmax) {
  const std::int64_t T = 150, D = 16;
  const Values values = Random().normal(T * 3 * D);
  const std::vector<float> qkv(values.begin(), values.end());
  for (const KernelTable* table : paper_tables())
    for (const AttentionPattern pattern : kAll)
      for (const std::int64_t stride : {1, 7, 64}) {
        const Attended got = attend(*table, pattern, stride, qkv, T, D);
        double worst = 0.0;
        for (std::int64_t i = 0; i < T; ++i) {
          const std::vector<double> want = explicit_row(pattern, stride, qkv, i, D);
          for (std::int64_t d = 0; d < D; ++d)
            worst = std::max(worst, std::abs(double{got.out[i * D + d]} - want[d]));
        }
        EXPECT_LT(worst, 1e-5) << table->name << ' ' << static_cast<int>(pattern) << ' ' << stride;
      }
}

// The keys that query i really reads: with scores of 0 and values of the identity matrix, its
// output is 1 / n where it looks.
std::vector<std::int64_t> keys_of(const KernelTable& table, AttentionPattern pattern,
                                  std::int64_t stride, std::int64_t i) {
  const std::int64_t T = 8;
  std::vector<float> qkv(static_cast<std::size_t>(T * 3 * T));
  for (std::int64_t t = 0; t < T; ++t) qkv[(t * 3 + 2) * T + t] = 1.0f;
  const Attended got = attend(table, pattern, stride, qkv, T, T);
  std::vector<std::int64_t> keys;
  for (std::int64_t j = 0; j < T; ++j)
    if (got.out[i * T + j] != 0.0f) keys.push_back(j);
  return keys;
}

TEST(Mst_M14, LiteralPatterns) {
  using Keys = std::vector<std::int64_t>;
  for (const KernelTable* table : paper_tables()) {
    EXPECT_EQ(keys_of(*table, kLocal, 4, 6), (Keys{3, 4, 5, 6}));
    EXPECT_EQ(keys_of(*table, kStrided, 4, 6), (Keys{2, 6}));
    EXPECT_EQ(keys_of(*table, kUnion, 4, 6), (Keys{2, 3, 4, 5, 6}));
    EXPECT_EQ(keys_of(*table, kFixed, 4, 6), (Keys{3, 4, 5, 6}));
    EXPECT_EQ(keys_of(*table, kFixed, 4, 3), (Keys{0, 1, 2, 3}));
    constexpr std::size_t kTotals[] = {36, 26, 12, 30, 24};
    for (std::size_t k = 0; k < 5; ++k) {
      std::size_t pairs = 0;
      for (std::int64_t i = 0; i < 8; ++i) pairs += keys_of(*table, kAll[k], 4, i).size();
      EXPECT_EQ(pairs, kTotals[k]) << table->name << ' ' << k;
      EXPECT_EQ(num_visible(kAll[k], 4, 8), static_cast<std::int64_t>(kTotals[k]));
    }
  }
}

// The keys whose values get a gradient from query i alone.
std::vector<std::int64_t> taught_by(const KernelTable& table, AttentionPattern pattern,
                                    std::int64_t stride, std::int64_t i) {
  const std::int64_t T = 8, D = 4;
  const Context context(table, 1);
  std::vector<float> qkv(T * 3 * D, .25f), dqkv(T * 3 * D), dout(T * D);
  std::fill_n(dout.begin() + i * D, D, 1.0f);
  Attended forward = attend(table, pattern, stride, qkv, T, D);
  const auto [q, k, v] = split_qkv(view_of(std::as_const(qkv).data(), {1, T, 3, D}), 1);
  const auto [dq, dk, dv] = split_qkv(view_of(dqkv.data(), {1, T, 3, D}), 1);
  const AttentionForwardArgs same{.q = q,
                                  .k = k,
                                  .v = v,
                                  .out = view_of(forward.out.data(), {1, T, 1, D}),
                                  .lse = view_of(forward.lse.data(), {1, 1, T}),
                                  .scale = .25,
                                  .mask = {pattern, stride}};
  Tensor workspace(DType::kU8, {attention_workspace_bytes(context, same)}, context.memory());
  attention_backward(context, {.q = q,
                               .k = k,
                               .v = v,
                               .out = same.out,
                               .lse = same.lse,
                               .dout = view_of(std::as_const(dout).data(), {1, T, 1, D}),
                               .dq = dq,
                               .dk = dk,
                               .dv = dv,
                               .workspace = workspace.view(),
                               .scale = .25,
                               .mask = same.mask});
  std::vector<std::int64_t> keys;
  for (std::int64_t j = 0; j < T; ++j)
    if (dqkv[(j * 3 + 2) * D] != 0.0f) keys.push_back(j);
  return keys;
}

TEST(Mst_M14, GradientsFollowThePattern) {
  for (const KernelTable* table : paper_tables())
    for (const AttentionPattern pattern : kAll)
      for (std::int64_t i = 0; i < 8; ++i) {
        std::vector<std::int64_t> want;
        for (std::int64_t j = 0; j < 8; ++j)
          if (is_visible(pattern, 3, i, j)) want.push_back(j);
        EXPECT_EQ(taught_by(*table, pattern, 3, i), want) << table->name << ' ' << i;
      }
}

}  // namespace
}  // namespace twill
