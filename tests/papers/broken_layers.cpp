// SPDX-License-Identifier: Apache-2.0
// Rules of layers, broken from below: what a layer would compute if it left one of them out.
#include <algorithm>

#include "ops/layers/activation.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/fp8.h"
#include "ops/products/gemm.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/select24.h"
#include "ops/selection/venom.h"
#include "papers/broken.h"
#include "papers/spoil.h"

namespace twill {
namespace {

// Squared activations are never negative, gradients are.
constexpr auto kUnmaskedGradient = [](const ApplyMaskArgs& args, const auto& run) {
  const std::vector<float> x = copy_of<float>(args.x);
  if (std::ranges::any_of(x, [](float v) { return v < 0.0f; })) {
    std::ranges::copy(x, args.y.as<float>());
  } else {
    run(args);
  }
};

// Weight gradients from the forward mask alone.
constexpr auto kNoTransposed = [](const VenomSelectArgs& args, const auto& run) {
  run(args);
  if (args.along == GroupAxis::kWithinColumn)
    std::fill_n(args.mask.as<std::uint8_t>(), args.mask.num_elements(), std::uint8_t{1});
};

// The order of tokens without its way back: mask row p belongs to position p.
constexpr auto kNoInverse = [](const VenomSelectArgs& args, const auto& run) {
  run(args);
  if (!args.row_order) return;
  const std::vector<std::uint8_t> mask = copy_of<std::uint8_t>(args.mask);
  const std::int64_t cols = args.mask.cols();
  for (std::int64_t p = 0; p < args.mask.rows(); ++p)
    std::copy_n(mask.data() + args.row_order.as<std::int32_t>()[p] * cols, cols,
                args.mask.as<std::uint8_t>() + p * cols);
};
constexpr auto kBlocksOfOne = [](VenomSelectArgs& args) { args.v = 1; };

constexpr auto kRowsOnly = [](Select24Args& args) { args.axis = GroupAxis::kWithinRow; };
constexpr auto kHalfSlope = [](const ActivationBackwardArgs& args, const auto& run) {
  run(args);
  for (std::int64_t i = 0; i < args.dx.num_elements(); ++i) args.dx.as<float>()[i] /= 2.0f;
};

constexpr auto kOneStep = [](Mvue24Args& args) { args.step = 0; };
constexpr auto kOneFormat = [](Fp8RoundArgs& args) { args.format = Fp8Format::kE4m3; };
// dW of the last token is lost.
constexpr auto kShortWgrad = [](const GemmArgs& args, const auto& run) {
  GemmArgs fewer = args;
  if (args.trans_a && args.k() > 1) {
    fewer.a = args.a.row_range(0, args.k() - 1);
    fewer.b = args.b.row_range(0, args.k() - 1);
  }
  run(fewer);
};
// The bias takes a group's first token for all four, as a bad sample would.
constexpr auto kSampledBias = [](const ColumnSumArgs& args, const auto& run) {
  std::vector<float> x = copy_of<float>(args.x);
  const auto cols = static_cast<std::size_t>(args.x.cols());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i / cols / 4 * 4 * cols + i % cols];
  ColumnSumArgs sampled = args;
  sampled.x = view_of(static_cast<const float*>(x.data()), args.x.shape());
  run(sampled);
};

const RegisterBreakage kLayers[] = {
    {"layer.unmasked_gradient", "Venom_V7.*", spoil<&KernelTable::apply_mask, kUnmaskedGradient>},
    {"layer.unmasked_gradient_step", "Venom_L5.*:Venom_V6.Masked*",
     spoil<&KernelTable::apply_mask, kUnmaskedGradient>},
    {"layer.no_transposed_selection", "Venom_L5.*:Venom_V6.Masked*",
     spoil<&KernelTable::venom_select, kNoTransposed>},
    {"layer.no_inverse_order", "Venom_V8.*", spoil<&KernelTable::venom_select, kNoInverse>},
    {"layer.blocks_of_one", "Venom_V10.*",
     spoil_arguments<&KernelTable::venom_select, kBlocksOfOne>},
    {"layer.groups_within_rows", "Venom_V2.*", spoil_arguments<&KernelTable::select24, kRowsOnly>},
    {"layer.slope_of_relu2", "Venom_L3.*", spoil<&KernelTable::activation_backward, kHalfSlope>},
    {"layer.one_sample_for_all_steps", "Fst_C1.*", spoil_arguments<&KernelTable::mvue24, kOneStep>},
    {"layer.one_fp8_format", "Sste_Fp8.*", spoil_arguments<&KernelTable::fp8_round, kOneFormat>},
    {"layer.short_wgrad", "Fst_C1.*", spoil<&KernelTable::gemm, kShortWgrad>},
    {"layer.short_wgrad_soft", "Sste_S4.*", spoil<&KernelTable::gemm, kShortWgrad>},
    {"layer.sampled_bias", "Fst_C1.*", spoil<&KernelTable::column_sum, kSampledBias>},
    {"layer.sampled_bias_soft", "Sste_S7.*", spoil<&KernelTable::column_sum, kSampledBias>},
};

}  // namespace
}  // namespace twill
