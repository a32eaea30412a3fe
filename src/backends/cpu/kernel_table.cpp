// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "backends/cpu/describe.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "base/require.h"
#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/layers/activation.h"
#include "ops/layers/cross_entropy.h"
#include "ops/layers/dropout.h"
#include "ops/layers/embedding.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/emit.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/fp8.h"
#include "ops/numbers/sum.h"
#include "ops/numbers/sum_squares.h"
#include "ops/packing/pack24.h"
#include "ops/packing/packed_matrix.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/product.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/topology.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "ops/update/moment_change.h"

namespace twill {
namespace {

std::unique_ptr<Queue> open_queue(const Device& device) {
  return std::make_unique<cpu::CpuQueue>(device.num_threads);
}

// A string literal as a template argument.
struct OpName {
  static constexpr std::size_t kMaxLength = 31;
  char text[kMaxLength + 1] = {};

  template <std::size_t kSize>
  consteval OpName(const char (&name)[kSize]) {  // NOLINT(google-explicit-constructor)
    static_assert(kSize <= kMaxLength + 1);
    std::copy_n(name, kSize, text);
  }
};

// A kernel behind a check of one operand's type. Front doors have made sure that all float operands
// have the same type, so one speaks for all.
template <OpName name, auto operand, auto kernel>
struct F32Only;
template <OpName name, auto operand, class Args, Kernel<Args> kernel>
struct F32Only<name, operand, kernel> {
  static void run(const Args& args, const Device& device, Queue& queue) {
    require((args.*operand).dtype() == DType::kF32,
            "[{}] the cpu backend runs f32; f64 runs on the reference backend",
            std::string_view(name.text));
    kernel(args, device, queue);
  }
};
template <OpName name, auto operand, auto kernel>
constexpr auto f32_only = F32Only<name, operand, kernel>::run;

}  // namespace

const KernelTable& cpu_table() {
  static constexpr KernelTable kTable{
      .name = "cpu",
      .describe = cpu::describe,
      .memory = host_memory,
      .open_queue = open_queue,
      .attention_workspace_bytes = cpu::attention_workspace_bytes,
      .emit = f32_only<"emit", &EmitArgs::x, cpu::emit>,
      .judge = cpu::judge,
      .activation_forward =
          f32_only<"activation", &ActivationForwardArgs::x, cpu::activation_forward>,
      .activation_backward =
          f32_only<"activation", &ActivationBackwardArgs::x, cpu::activation_backward>,
      .adamw = f32_only<"adamw", &AdamwArgs::weight, cpu::adamw>,
      .attention_forward =
          f32_only<"attention", &AttentionForwardArgs::out, cpu::attention_forward>,
      .attention_backward =
          f32_only<"attention", &AttentionBackwardArgs::out, cpu::attention_backward>,
      .cached_attention =
          f32_only<"cached_attention", &CachedAttentionArgs::qkv, cpu::cached_attention>,
      .column_sum = f32_only<"column_sum", &ColumnSumArgs::x, cpu::column_sum>,
      .cross_entropy = f32_only<"cross_entropy", &CrossEntropyArgs::logits, cpu::cross_entropy>,
      .dropout = f32_only<"dropout", &DropoutArgs::x, cpu::dropout>,
      .embedding_forward =
          f32_only<"embedding", &EmbeddingForwardArgs::out, cpu::embedding_forward>,
      .embedding_backward =
          f32_only<"embedding", &EmbeddingBackwardArgs::dout, cpu::embedding_backward>,
      .fill = f32_only<"fill", &FillArgs::x, cpu::fill>,
      .gemm = f32_only<"gemm", &GemmArgs::c, cpu::gemm>,
      .layer_norm_forward =
          f32_only<"layer_norm", &LayerNormForwardArgs::x, cpu::layer_norm_forward>,
      .layer_norm_backward =
          f32_only<"layer_norm", &LayerNormBackwardArgs::x, cpu::layer_norm_backward>,
      .rms_norm_forward = f32_only<"rms_norm", &RmsNormForwardArgs::x, cpu::rms_norm_forward>,
      .rms_norm_backward = f32_only<"rms_norm", &RmsNormBackwardArgs::x, cpu::rms_norm_backward>,
      .rotary = f32_only<"rotary", &RotaryArgs::x, cpu::rotary>,
      .sum_squares = f32_only<"sum_squares", &SumSquaresArgs::x, cpu::sum_squares>,
      .sum = f32_only<"sum", &SumArgs::x, cpu::sum>,
      .count_targets = cpu::count_targets,
      .add_mean = cpu::add_mean,
      .apply_mask = f32_only<"apply_mask", &ApplyMaskArgs::x, cpu::apply_mask>,
      .cluster_energy = f32_only<"cluster_energy", &ClusterEnergyArgs::a, cpu::cluster_energy>,
      .count_nonzero = f32_only<"count_nonzero", &CountNonzeroArgs::x, cpu::count_nonzero>,
      .fp8_round = f32_only<"fp8_round", &Fp8RoundArgs::x, cpu::fp8_round>,
      .mask_difference = cpu::mask_difference,
      .mask_mass = f32_only<"mask_mass", &MaskMassArgs::x, cpu::mask_mass>,
      .masked_decay = f32_only<"masked_decay", &MaskedDecayArgs::target, cpu::masked_decay>,
      .moment_change = f32_only<"moment_change", &MomentChangeArgs::grad, cpu::moment_change>,
      .mvue24 = f32_only<"mvue24", &Mvue24Args::x, cpu::mvue24>,
      .pack24 = f32_only<"pack24", &Pack24Args::dense, cpu::pack24>,
      .regrow_moments = f32_only<"regrow_moments", &RegrowMomentsArgs::v, cpu::regrow_moments>,
      .route_tokens = f32_only<"route_tokens", &RouteTokensArgs::score, cpu::route_tokens>,
      .select24 = f32_only<"select24", &Select24Args::x, cpu::select24>,
      .soft_threshold24 =
          f32_only<"soft_threshold24", &SoftThreshold24Args::x, cpu::soft_threshold24>,
      .soft_threshold24_sums = f32_only<"soft_threshold24_sums", &SoftThreshold24SumsArgs::x,
                                        cpu::soft_threshold24_sums>,
      .topology_update =
          f32_only<"topology_update", &TopologyUpdateArgs::weight, cpu::topology_update>,
      .transposable24 = f32_only<"transposable24", &Transposable24Args::x, cpu::transposable24>,
      .unpack24 = f32_only<"unpack24", &Unpack24Args::dense, cpu::unpack24>,
      .venom_select = f32_only<"venom_select", &VenomSelectArgs::x, cpu::venom_select>,
      .packed_bytes = cpu::packed_bytes,
      .packs_any_mask = true,
      .pack_matrix = f32_only<"pack_matrix", &PackMatrixArgs::dense, cpu::pack_matrix>,
      .unpack_matrix = f32_only<"unpack_matrix", &UnpackMatrixArgs::dense, cpu::unpack_matrix>,
      .times_packed = f32_only<"times_packed", &TimesPackedArgs::c, cpu::times_packed>,
      .packed_times = f32_only<"packed_times", &PackedTimesArgs::c, cpu::packed_times>,
      .find_kept = cpu::find_kept,
      .gather_kept = f32_only<"gather_kept", &GatherKeptArgs::values, cpu::gather_kept>,
      .scatter_kept = f32_only<"scatter_kept", &ScatterKeptArgs::dense, cpu::scatter_kept>,
      .kept_gradient = f32_only<"kept_gradient", &KeptGradientArgs::values, cpu::kept_gradient>,
      .benches = {.plain_gemm = f32_only<"gemm", &GemmArgs::c, cpu::plain_gemm>},
  };
  return kTable;
}

}  // namespace twill
