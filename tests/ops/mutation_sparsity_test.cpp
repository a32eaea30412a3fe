// SPDX-License-Identifier: Apache-2.0
// The trial of the checks of selections, samples, topologies and routes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/attention/attention.h"
#include "ops/mutation.h"
#include "ops/numbers/fp8.h"
#include "ops/packing/pack24.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/topology.h"
#include "ops/selection/venom.h"
#include "ops/update/moment_change.h"

namespace twill {
namespace {

void soft_sums_of_the_input(const SoftThreshold24SumsArgs& args, const Device& d, Queue& q) {
  reference_table().soft_threshold24_sums(args, d, q);
  args.sums.as<double>()[3] = args.sums.as<double>()[2];
}

void select_without_nan(const Select24Args& args, const Device& d, Queue& q) {
  std::vector<float> x = copy_of<float>(args.x);
  std::ranges::replace_if(
      x, [](float v) { return std::isnan(v); }, 0.0f);
  Select24Args broken = args;
  broken.x = view_of(x.data(), args.x.shape());
  reference_table().select24(broken, d, q);
}

void pack_in_reverse(const Pack24Args& args, const Device& d, Queue& q) {
  reference_table().pack24(args, d, q);
  for (std::int64_t i = 0; i < args.values.num_elements(); i += 2)
    std::swap(args.values.as<float>()[i], args.values.as<float>()[i + 1]);
}

void unpack_swapped_nibbles(const Unpack24Args& args, const Device& d, Queue& q) {
  std::vector<std::uint8_t> bytes = copy_of<std::uint8_t>(args.nibbles);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(byte << 4 | byte >> 4);
  Unpack24Args broken = args;
  broken.nibbles = view_of(bytes.data(), args.nibbles.shape());
  reference_table().unpack24(broken, d, q);
}

void count_without_last_row(const CountNonzeroArgs& args, const Device& d, Queue& q) {
  CountNonzeroArgs broken = args;
  if (args.x.rows() > 0) broken.x = args.x.row_range(0, args.x.rows() - 1);
  reference_table().count_nonzero(broken, d, q);
}

void undealt(const RouteTokensArgs& args, const Device& d, Queue& q) {
  reference_table().route_tokens(args, d, q);
  if (args.dealt)
    std::copy_n(args.order.as<std::int32_t>(), args.order.num_elements(),
                args.dealt.as<std::int32_t>());
}

void route_backwards(const RouteTokensArgs& args, const Device& d, Queue& q) {
  reference_table().route_tokens(args, d, q);
  std::reverse(args.order.as<std::int32_t>(),
               args.order.as<std::int32_t>() + args.order.num_elements());
}

void energy_of_one_cluster(const ClusterEnergyArgs& args, const Device& d, Queue& q) {
  const std::vector<std::int32_t> first(static_cast<std::size_t>(args.cluster.num_elements()));
  ClusterEnergyArgs broken = args;
  broken.cluster = view_of(first.data(), args.cluster.shape());
  reference_table().cluster_energy(broken, d, q);
}

// Rows as if they lay side by side.
ConstHeadsView side_by_side(const ConstHeadsView& heads) {
  return ConstView(heads.bytes(), heads.dtype(), heads.shape());
}
constexpr auto kNoKeyLengths = [](auto& args) { args.key_lengths = {}; };
constexpr auto kNoQueryLengths = [](auto& args) { args.query_lengths = {}; };
constexpr auto kNoStride = [](auto& args) { args.k = side_by_side(args.k); };
constexpr auto kCausalOnly = [](auto& args) {
  if (!is_causal(args.mask.kind)) args.mask.kind = AttentionPattern::kCausal;
};
constexpr auto kWiderWindow = [](auto& args) {
  args.mask.stride += args.mask.kind == AttentionPattern::kWindow;
};

constexpr auto kNoPattern = [](auto& args) { args.mask.kind = AttentionPattern::kCausal; };

const Mutation kSparse[] = {
    {"AttentionForgetsKeyLengths", check_attention_heads,
     change<&KernelTable::attention_forward, kNoKeyLengths>},
    {"AttentionForgetsQueryLengths", check_attention_heads,
     change<&KernelTable::attention_forward, kNoQueryLengths>},
    {"AttentionForgetsStride", check_attention_heads,
     change<&KernelTable::attention_forward, kNoStride>},
    {"AttentionIsAlwaysCausal", check_attention_heads,
     change<&KernelTable::attention_forward, kCausalOnly>},
    {"AttentionWidensTheWindow", check_attention_heads,
     change<&KernelTable::attention_forward, kWiderWindow>},
    {"AttentionGradientForgetsKeyLengths", check_attention_heads,
     change<&KernelTable::attention_backward, kNoKeyLengths>},
    {"AttentionGradientForgetsQueryLengths", check_attention_heads,
     change<&KernelTable::attention_backward, kNoQueryLengths>},
    {"AttentionGradientForgetsStride", check_attention_heads,
     change<&KernelTable::attention_backward, kNoStride>},
    {"AttentionGradientIsAlwaysCausal", check_attention_heads,
     change<&KernelTable::attention_backward, kCausalOnly>},
    {"AttentionGradientWidensTheWindow", check_attention_heads,
     change<&KernelTable::attention_backward, kWiderWindow>},
    {"AttentionForgetsPattern", check_attention_patterns,
     change<&KernelTable::attention_forward, kNoPattern>},
    {"AttentionGradientForgetsPattern", check_attention_patterns,
     change<&KernelTable::attention_backward, kNoPattern>},
    {"ClusterEnergyKnowsOneCluster", check_cluster_energy,
     replace<&KernelTable::cluster_energy, energy_of_one_cluster>},
    {"CountNonzeroForgetsTheLastRow", check_count_nonzero,
     replace<&KernelTable::count_nonzero, count_without_last_row>},
    {"Fp8RoundKnowsOneFormat", check_fp8_round,
     change<&KernelTable::fp8_round, [](Fp8RoundArgs& args) { args.format = Fp8Format::kE4m3; }>},
    {"MomentChangeForgetsScale", check_moment_change,
     change<&KernelTable::moment_change, [](MomentChangeArgs& args) { args.grad_scale = 1.0; }>},
    {"Mvue24ForgetsTheLaw", check_mvue24,
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.law = MvueLaw::kExact; }>},
    {"Mvue24ForgetsTheStep", check_mvue24,
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.step = 0; }>},
    {"Mvue24ForgetsTheStream", check_mvue24,
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.stream = 0; }>},
    {"Mvue24WritesNoMask", check_mvue24,
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.mask = {}; }>},
    {"Pack24SwapsValues", check_pack24, replace<&KernelTable::pack24, pack_in_reverse>},
    {"RegrowMomentsAlwaysZero", check_regrow_moments,
     change<&KernelTable::regrow_moments,
            [](RegrowMomentsArgs& args) { args.policy = RegrownMoments::kZero; }>},
    {"RouteTokensBackwards", check_route_tokens,
     replace<&KernelTable::route_tokens, route_backwards>},
    {"RouteTokensDealsNothing", check_route_tokens, replace<&KernelTable::route_tokens, undealt>},
    {"Select24LosesNan", check_select24, replace<&KernelTable::select24, select_without_nan>},
    {"SoftThreshold24ForgetsScale", check_soft_threshold24,
     change<&KernelTable::soft_threshold24, [](SoftThreshold24Args& args) { args.scale = 1.0; }>},
    {"SoftThreshold24SumsTheInput", check_soft_threshold24_sums,
     replace<&KernelTable::soft_threshold24_sums, soft_sums_of_the_input>},
    {"TopologyUpdateForgetsLambda", check_topology_update,
     change<&KernelTable::topology_update,
            [](TopologyUpdateArgs& args) { args.mest_lambda = 0.0; }>},
    {"TopologyUpdateForgetsTheStream", check_topology_update,
     change<&KernelTable::topology_update, [](TopologyUpdateArgs& args) { args.stream = 0; }>},
    {"TopologyUpdateKnowsOneScore", check_topology_update,
     change<&KernelTable::topology_update,
            [](TopologyUpdateArgs& args) { args.score = DropScore::kMagnitude; }>},
    {"Unpack24SwapsNibbles", check_unpack24,
     replace<&KernelTable::unpack24, unpack_swapped_nibbles>},
    {"VenomSelectForgetsColumnOrder", check_venom_select,
     change<&KernelTable::venom_select, [](VenomSelectArgs& args) { args.column_order = {}; }>},
    {"VenomSelectForgetsRowOrder", check_venom_select,
     change<&KernelTable::venom_select, [](VenomSelectArgs& args) { args.row_order = {}; }>},
    {"VenomSelectForgetsMass", check_venom_select,
     change<&KernelTable::venom_select, [](VenomSelectArgs& args) { args.mass = {}; }>},
};

class BrokenSparseKernel : public testing::TestWithParam<Mutation> {};

TEST_P(BrokenSparseKernel, IsRejected) { expect_rejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mutations, BrokenSparseKernel, testing::ValuesIn(kSparse), mutation_name);

}  // namespace
}  // namespace twill
