// SPDX-License-Identifier: Apache-2.0
// The note on 2602.06183 outside of selection: speed arithmetic (2.8), clusters (3.5), routing
// (3.6) and the dense side path (3.7).
#include <algorithm>
#include <set>
#include <utility>

#include "ops/selection/mask.h"
#include "ops/selection/route_tokens.h"
#include "papers/broken.h"
#include "papers/ffn_kit.h"
#include "papers/venom_kit.h"
#include "sparsity/activations/feature_split.h"
#include "sparsity/activations/neuron_clusters.h"
#include "sparsity/plan/venom_speed.h"
#include "support/tables.h"

namespace twill {
namespace {

using Indices = std::vector<std::int32_t>;

TEST(Venom_L4, SpeedOfTheExample) {
  const double ffn = ffn_gain(1.5, 8), step = step_gain(.5, ffn);
  EXPECT_NEAR(ffn, 3.27, .005);
  EXPECT_NEAR(step, 1.532, .0005);
  EXPECT_NEAR(schedule_gain(1, 1, step), 1.21, .005);
}

TEST(Venom_L4, SpeedTable) {
  constexpr double kGains[4][2] = {{1.5, 6}, {1.5, 8}, {1.3, 4}, {2, 8}};
  constexpr double kFfn[] = {3.00, 3.27, 2.36, 4.00}, kShares[] = {.35, .40, .45, .50, .55, .60};
  constexpr double kStep[6][4] = {{1.304, 1.321, 1.253, 1.356}, {1.364, 1.385, 1.300, 1.429},
                                  {1.429, 1.455, 1.351, 1.509}, {1.500, 1.532, 1.405, 1.600},
                                  {1.579, 1.618, 1.465, 1.702}, {1.667, 1.714, 1.529, 1.818}};
  for (std::size_t k = 0; k < 4; ++k) {
    const double ffn = ffn_gain(kGains[k][0], kGains[k][1]);
    EXPECT_NEAR(ffn, kFfn[k], .0051);
    for (std::size_t p = 0; p < 6; ++p)
      EXPECT_NEAR(step_gain(kShares[p], ffn), kStep[p][k], .00051) << kShares[p] << ' ' << k;
  }
  // 5.1: what the reported gains of one step are worth over their schedules.
  EXPECT_NEAR(schedule_gain(30, 30, 1.352), 1.15, .005);
  EXPECT_NEAR(schedule_gain(10, 38, 1.387), 1.06, .005);
  EXPECT_NEAR(ffn_flop_share(4), .5, 1e-12);
  EXPECT_NEAR(ffn_flop_share(8), .333, .0005);
  EXPECT_NEAR(ffn_flop_share(16), .250, .0005);
  EXPECT_NEAR(ffn_flop_share(32), .208, .0005);
}

std::vector<float> normal_floats(Random& random, std::int64_t count) {
  const Values values = random.normal(count);
  return {values.begin(), values.end()};
}

class Venom_V9 : public SeededTest {};

TEST_F(Venom_V9, ClustersHaveExactSizes) {
  Random random;
  for (const std::int64_t M : {8, 16, 32}) {
    const std::int64_t E = M / 4, f = 192, d = 24;
    const std::vector<float> u = normal_floats(random, f * d);
    const NeuronClusters found = cluster_neurons(view_of(u.data(), {f, d}), {.num_clusters = E});
    for (std::int32_t e = 0; e < E; ++e)
      EXPECT_EQ(std::count(found.cluster.begin(), found.cluster.end(), e), f / E);
    const Indices order = interleaved_order(found.cluster, E);
    EXPECT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(), 192u);
    for (std::int64_t p = 0; p < f; p += M) {
      std::vector<int> members(static_cast<std::size_t>(E));
      for (std::int64_t k = p; k < p + M; ++k) ++members[found.cluster[order[k]]];
      EXPECT_EQ(members, std::vector<int>(static_cast<std::size_t>(E), 4));
    }
  }
}

struct Routed {
  Indices order, route;
};

Routed route_by_energy(const KernelTable& table, int threads, const std::vector<float>& a,
                       const Indices& cluster, std::int64_t E) {
  const auto F = static_cast<std::int64_t>(cluster.size());
  const std::int64_t T = static_cast<std::int64_t>(a.size()) / F;
  const Context context(table, threads);
  std::vector<float> score(static_cast<std::size_t>(T * E));
  Routed result{Indices(static_cast<std::size_t>(T)), Indices(static_cast<std::size_t>(T))};
  cluster_energy(context, {.a = view_of(a.data(), {T, F}),
                           .cluster = view_of(cluster.data(), {F}),
                           .score = view_of(score.data(), {T, E})});
  route_tokens(context, {.score = view_of(score.data(), {T, E}),
                         .order = view_of(result.order.data(), {T}),
                         .route = view_of(result.route.data(), {T})});
  return result;
}

TEST_F(Venom_V9, RouterIsDeterministicAndBlocksArePure) {
  const std::int64_t T = 1024, F = 64, E = 4, V = 64;
  const std::vector<float> a = sparse_squares(test_seed(), T * F, 0.2);
  Indices cluster;
  for (std::int64_t i = 0; i < F; ++i) cluster.push_back(static_cast<std::int32_t>(i * 7 % E));
  const Routed first = route_by_energy(*paper_tables()[0], 1, a, cluster, E);
  for (const KernelTable* table : paper_tables())
    for (const int threads : {1, 2}) {
      const Routed again = route_by_energy(*table, threads, a, cluster, E);
      EXPECT_EQ(again.order, first.order) << table->name;
      EXPECT_EQ(again.route, first.route) << table->name;
    }
  int mixed = 0;
  for (std::int64_t p = 0; p < T; p += V) {
    std::set<std::int32_t> clusters;
    for (std::int64_t k = p; k < p + V; ++k) clusters.insert(first.route[first.order[k]]);
    mixed += clusters.size() > 1;
  }
  EXPECT_LE(mixed, E - 1);
  for (std::int64_t p = 1; p < T; ++p) {  // equal clusters keep the order of their tokens
    const std::int32_t before = first.order[p - 1], after = first.order[p];
    EXPECT_LE(first.route[before], first.route[after]);
    if (first.route[before] == first.route[after]) {
      EXPECT_LT(before, after);
    }
  }
}

TEST_F(Venom_V9, RouterByHand) {
  // Energies of clusters {0, 2} and {1, 3}: (3, 3), (1, 6), (5, 0), (0, 4).
  const std::vector<float> a{1, 1, 2, 2, 0, 3, 1, 3, 5, 0, 0, 0, 0, 0, 0, 4};
  for (const KernelTable* table : paper_tables()) {
    const Routed routed = route_by_energy(*table, 1, a, {0, 1, 0, 1}, 2);
    EXPECT_EQ(routed.route, (Indices{0, 1, 0, 1})) << table->name;
    EXPECT_EQ(routed.order, (Indices{0, 2, 1, 3})) << table->name;
  }
}

// Tokens of two kinds, alternating: a selection in routed order keeps more than one in theirs.
TEST_F(Venom_V9, RoutedBlocksKeepMore) {
  const std::int64_t T = 128, F = 64, E = 2;
  Indices cluster;
  for (std::int64_t i = 0; i < F; ++i) cluster.push_back(static_cast<std::int32_t>(i / 4 % E));
  std::vector<float> a = sparse_squares(test_seed(), T * F, 0.3);
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t i = 0; i < F; ++i)
      if (cluster[i] != t % E) a[t * F + i] = 0.0f;
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    VenomRun run{T, F, 64, 8};
    std::vector<double> plain(3), routed(3);
    run.mask(context, a, &plain);
    run.row_order = route_by_energy(*table, 1, a, cluster, E).order;
    run.mask(context, a, &routed);
    EXPECT_LT(plain[1], .8 * plain[0]) << table->name;
    EXPECT_EQ(routed[1], routed[0]) << table->name;  // every column that lives survives
  }
}

// 3.4: along tokens a cluster's neurons are alive in its own tokens, so a window of M = 4 E tokens
// wants four tokens of every cluster: then no column of a window loses more than 2 of 4.
TEST_F(Venom_V9, DealtWindowsHoldFourTokensOfEveryCluster) {
  const std::int64_t T = 96, E = 4, M = 4 * E;
  std::vector<float> score(static_cast<std::size_t>(T * E));
  for (std::int64_t t = 0; t < T; ++t)  // all clusters of one size, in no simple order
    for (std::int64_t e = 0; e < E; ++e) score[t * E + e] = (t / 4 + t) % E == e ? 1.0f : 0.0f;
  for (const KernelTable* table : paper_tables()) {
    Indices order(T), route(T), dealt(T);
    route_tokens(Context(*table, 1), {.score = view_of(score.data(), {T, E}),
                                      .order = view_of(order.data(), {T}),
                                      .route = view_of(route.data(), {T}),
                                      .dealt = view_of(dealt.data(), {T}),
                                      .deal_window = M});
    EXPECT_EQ(std::set<std::int32_t>(dealt.begin(), dealt.end()).size(), 96u) << table->name;
    for (std::int64_t p = 0; p < T; p += M) {
      std::vector<int> members(static_cast<std::size_t>(E));
      for (std::int64_t k = p; k < p + M; ++k) ++members[route[dealt[k]]];
      EXPECT_EQ(members, std::vector<int>(static_cast<std::size_t>(E), 4)) << table->name << p;
    }
  }
}

// Row p of the result is row order[p].
Numbers rows_in(const Indices& order, const Numbers& n) {
  Numbers moved{n.rows, n.cols, {}};
  for (const std::int32_t row : order)
    for (std::int64_t c = 0; c < n.cols; ++c) moved.x.push_back(n.at(row, c));
  return moved;
}
Numbers columns_in(const Indices& order, const Numbers& n) {
  return transposed(rows_in(order, transposed(n)));
}
void expect_close(const Numbers& got, const Numbers& want, const char* what) {
  ASSERT_EQ(got.shape(), want.shape());
  double largest = 0.0;
  for (const double x : want.x) largest = std::max(largest, std::abs(x));
  EXPECT_GT(largest, 0.0) << what;
  for (std::size_t i = 0; i < want.x.size(); ++i)
    ASSERT_NEAR(got.x[i], want.x[i], 1e-6 * largest) << what << ' ' << i;
}

// An FFN and one whose neurons stand in the order of clusters, on the same tokens.
struct TwoOrders {
  static constexpr std::int64_t kTokens = 24, kWidth = 12, kHidden = 64;

  explicit TwoOrders(const KernelTable& table)
      : plain(table, kTokens, kWidth, kHidden), moved(table, kTokens, kWidth, kHidden) {
    Random random;
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      return Numbers{rows, cols, random.normal(rows * cols)};
    };
    const Numbers u = matrix(kHidden, kWidth), d = matrix(kWidth, kHidden);
    x = matrix(kTokens, kWidth);
    dy = matrix(kTokens, kWidth);
    const std::vector<float> rows(u.x.begin(), u.x.end());
    const NeuronClusters found =
        cluster_neurons(view_of(rows.data(), {kHidden, kWidth}), {.num_clusters = 4});
    order = interleaved_order(found.cluster, 4);
    plain.set_weights(u, d);
    moved.set_weights(rows_in(order, u), columns_in(order, d));
  }

  void expect_same() {
    const FfnRun a = plain.run(x, dy), b = moved.run(x, dy);
    expect_close(b.y, a.y, "y");
    expect_close(b.dx, a.dx, "dx");
    expect_close(b.du, rows_in(order, a.du), "dU");
    expect_close(b.dd, columns_in(order, a.dd), "dD");
    expect_close(b.down.a, columns_in(order, a.down.a), "activations");
  }

  FfnKit plain, moved;
  Numbers x, dy;
  Indices order;
};

TEST_F(Venom_V9, NeuronOrderLeavesOutputsUnchanged) {
  for (const KernelTable* table : paper_tables()) {
    SCOPED_TRACE(table->name);
    TwoOrders two(*table);
    EXPECT_FALSE(std::is_sorted(two.order.begin(), two.order.end()));
    two.expect_same();
  }
}

// A selection in that order is the selection of neurons that stand in it.
TEST_F(Venom_V9, SelectionInNeuronOrderIsThatOfMovedNeurons) {
  for (const KernelTable* table : paper_tables()) {
    SCOPED_TRACE(table->name);
    TwoOrders two(*table);
    for (FfnKit* kit : {&two.plain, &two.moved}) {
      kit->seam().selects = true;
      kit->seam().v = 8;
      kit->seam().m = 16;
      kit->seam().transposed_v = 8;
      kit->seam().transposed_m = 8;
    }
    two.plain.seam().neuron_order = view_of(std::as_const(two.order).data(), {64});
    two.expect_same();
  }
}

TEST(Venom_V12, NeuronsAreCountedOverTokens) {
  const std::vector<float> a{1, 0, 0, 2, -0.0f, 0, 3, 0, 1e-30f};
  for (const KernelTable* table : paper_tables()) {
    Indices counts(3);
    count_nonzero(Context(*table, 1),
                  {.x = view_of(a.data(), {3, 3}), .counts = view_of(counts.data(), {3})});
    EXPECT_EQ(counts, (Indices{3, 0, 1})) << table->name;
  }
}

TEST(Venom_V12, DensestNeuronsGoToTheDensePath) {
  Indices counts;
  for (std::int32_t i = 0; i < 200; ++i) counts.push_back(i * 37 % 200);  // a permutation
  const std::vector<std::uint8_t> is_dense = dense_neurons(counts, .05);
  EXPECT_EQ(std::count(is_dense.begin(), is_dense.end(), 1), 10);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(is_dense[i] == 1, counts[i] >= 190) << i;
}

}  // namespace
}  // namespace twill
