// SPDX-License-Identifier: Apache-2.0
// Broken rules of venom_select, cluster_energy, route_tokens and the patterns of attention.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/venom.h"
#include "papers/broken.h"
#include "papers/spoil.h"

namespace twill {
namespace {

// The good kernel on bad arguments.
template <auto kKernel, auto kChange, const KernelTable& (*kGood)(), class Args>
void run_changed(const Args& args, const Device& device, Queue& queue) {
  Args broken = args;
  kChange(broken);
  (kGood().*kKernel)(broken, device, queue);
}
template <auto kKernel, auto kChange>
void change(KernelTable& table) {
  if (std::string_view(table.name) == reference_table().name) {
    table.*kKernel = run_changed<kKernel, kChange, reference_table>;
  } else {
    table.*kKernel = run_changed<kKernel, kChange, cpu_table>;
  }
}

// A bad kernel.
template <auto kKernel, auto kBroken>
void replace(KernelTable& table) {
  table.*kKernel = kBroken;
}

enum class Flaw { kTies, kZeros, kThreePerRow };

struct Block {
  std::int64_t p, q, num_rows, num_columns;
};

// The `count` best of `from` by `value`.
template <class Value>
std::vector<std::int64_t> best(std::vector<std::int64_t> from, std::size_t count, bool ties_are_low,
                               const Value& value) {
  if (!ties_are_low) std::reverse(from.begin(), from.end());
  std::stable_sort(from.begin(), from.end(),
                   [&](std::int64_t a, std::int64_t b) { return value(a) > value(b); });
  from.resize(std::min(from.size(), count));
  std::sort(from.begin(), from.end());
  return from;
}

// f32 without orders.
template <Flaw kFlaw>
void select_block(const VenomSelectArgs& args, const Block& block) {
  const bool is_row = args.along == GroupAxis::kWithinRow, ties_are_low = kFlaw != Flaw::kTies;
  const auto index = [&](std::int64_t p, std::int64_t q) {
    return is_row ? p * args.x.shape()[1] + q : q * args.x.shape()[1] + p;
  };
  const auto size = [&](std::int64_t p, std::int64_t q) {
    return std::abs(args.x.as<float>()[index(p, q)]);
  };
  std::vector<std::int64_t> columns;
  for (std::int64_t k = 0; k < block.num_columns; ++k) columns.push_back(block.q + k);
  columns = best(columns, 4, ties_are_low, [&](std::int64_t q) {
    float sum = 0.0f;
    for (std::int64_t k = 0; k < block.num_rows; ++k) sum += size(block.p + k, q);
    return sum;
  });
  for (std::int64_t p = block.p; p < block.p + block.num_rows; ++p)
    for (const std::int64_t q : best(columns, kFlaw == Flaw::kThreePerRow ? 3 : 2, ties_are_low,
                                     [&](std::int64_t c) { return size(p, c); }))
      if (size(p, q) > 0.0f || kFlaw == Flaw::kZeros) args.mask.as<std::uint8_t>()[index(p, q)] = 1;
}

template <Flaw kFlaw>
void flawed_venom_select(const VenomSelectArgs& args, const Device&, Queue&) {
  const bool is_row = args.along == GroupAxis::kWithinRow;
  const std::int64_t P = args.x.shape()[is_row ? 0 : 1], Q = args.x.shape()[is_row ? 1 : 0];
  std::fill_n(args.mask.as<std::uint8_t>(), P * Q, std::uint8_t{0});
  for (std::int64_t p = 0; p < P; p += args.v)
    for (std::int64_t q = 0; q < Q; q += args.m)
      select_block<kFlaw>(args, {p, q, std::min(args.v, P - p), std::min(args.m, Q - q)});
}

// Sorts by the last of equal scores, or puts later tokens of a cluster first.
template <bool kTiesAreLow, bool kIsStable>
void flawed_route_tokens(const RouteTokensArgs& args, const Device&, Queue&) {
  const std::int64_t T = args.score.shape()[0], E = args.score.shape()[1];
  std::vector<std::vector<std::int32_t>> tokens(static_cast<std::size_t>(E));
  for (std::int64_t t = 0; t < T; ++t) {
    const float* score = args.score.as<float>() + t * E;
    std::int64_t top = 0;
    for (std::int64_t e = 1; e < E; ++e)
      if (score[e] > score[top] || (!kTiesAreLow && score[e] == score[top])) top = e;
    tokens[static_cast<std::size_t>(top)].push_back(static_cast<std::int32_t>(t));
    if (args.route) args.route.as<std::int32_t>()[t] = static_cast<std::int32_t>(top);
  }
  std::int32_t* order = args.order.as<std::int32_t>();
  for (std::vector<std::int32_t>& members : tokens) {
    if (!kIsStable) std::reverse(members.begin(), members.end());
    order = std::copy(members.begin(), members.end(), order);
  }
}

// Tokens of a cluster stay together.
void undealt(const RouteTokensArgs& args, const auto& run) {
  run(args);
  if (args.dealt)
    std::copy_n(args.order.as<std::int32_t>(), args.order.num_elements(),
                args.dealt.as<std::int32_t>());
}

// Leaves the last neuron out.
void flawed_cluster_energy(const ClusterEnergyArgs& args, const Device&, Queue&) {
  const std::int64_t T = args.a.shape()[0], F = args.a.shape()[1], E = args.score.shape()[1];
  std::fill_n(args.score.as<float>(), T * E, 0.0f);
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t i = 0; i + 1 < F; ++i)
      args.score.as<float>()[t * E + args.cluster.as<std::int32_t>()[i]] +=
          args.a.as<float>()[t * F + i];
}

constexpr auto other_axis = [](VenomSelectArgs& args) {
  args.along =
      args.along == GroupAxis::kWithinRow ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow;
};
constexpr auto without_nan = [](const VenomSelectArgs& args, const auto& run) {
  std::vector<float> x = copy_of<float>(args.x);
  std::ranges::replace_if(
      x, [](float v) { return std::isnan(v); }, 0.0f);
  VenomSelectArgs changed = args;
  changed.x = view_of(x.data(), args.x.shape());
  run(changed);
};
constexpr auto no_column_order = [](VenomSelectArgs& args) { args.column_order = {}; };
constexpr auto no_row_order = [](VenomSelectArgs& args) { args.row_order = {}; };
constexpr auto no_pattern = [](auto& args) { args.mask.kind = AttentionPattern::kCausal; };
// A local window of one key too many; the others are off by one in their period.
constexpr auto next_stride = [](auto& args) { ++args.mask.stride; };

constexpr const char* kSelection = "Venom_L2.*:Venom_V3.*:Venom_V5.*";
constexpr const char* kPatterns = "Mst_M10.*:Mst_M14.*";

const RegisterBreakage kVenom[] = {
    {"venom_select.ties", kSelection,
     replace<&KernelTable::venom_select, flawed_venom_select<Flaw::kTies>>},
    {"venom_select.zeros", kSelection,
     replace<&KernelTable::venom_select, flawed_venom_select<Flaw::kZeros>>},
    {"venom_select.three_per_row", kSelection,
     replace<&KernelTable::venom_select, flawed_venom_select<Flaw::kThreePerRow>>},
    {"venom_select.axis", kSelection, change<&KernelTable::venom_select, other_axis>},
    {"venom_select.nan", kSelection, spoil<&KernelTable::venom_select, without_nan>},
    {"venom_select.column_order", "Venom_V9.*",
     change<&KernelTable::venom_select, no_column_order>},
    {"venom_select.row_order", "Venom_V9.*", change<&KernelTable::venom_select, no_row_order>},
    {"route_tokens.ties", "Venom_V9.*",
     replace<&KernelTable::route_tokens, flawed_route_tokens<false, true>>},
    {"route_tokens.unstable", "Venom_V9.*",
     replace<&KernelTable::route_tokens, flawed_route_tokens<true, false>>},
    {"route_tokens.undealt", "Venom_V9.*",
     spoil<&KernelTable::route_tokens,
           [](const auto& args, const auto& run) { undealt(args, run); }>},
    {"cluster_energy.last", "Venom_V9.*",
     replace<&KernelTable::cluster_energy, flawed_cluster_energy>},
    {"attention.pattern_ignored", kPatterns, change<&KernelTable::attention_forward, no_pattern>},
    {"attention_backward.pattern_ignored", kPatterns,
     change<&KernelTable::attention_backward, no_pattern>},
    {"attention.pattern_off_by_one", kPatterns,
     change<&KernelTable::attention_forward, next_stride>},
};

}  // namespace
}  // namespace twill
