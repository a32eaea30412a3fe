// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_table.h"

#include "backends/reference/kernels.h"
#include "ops/products/product.h"

namespace twill {
namespace {

// Kernels run where they are called: there is nothing to queue.
std::unique_ptr<Queue> open_queue(const Device&) { return std::make_unique<Queue>(); }

std::string describe() { return "one thread, double accumulators: the judge"; }

std::int64_t attention_workspace_bytes(const AttentionForwardArgs&, const Device&) { return 0; }

}  // namespace

const KernelTable& reference_table() {
  static constexpr KernelTable kTable{
      .name = "reference",
      .describe = describe,
      .memory = host_memory,
      .open_queue = open_queue,
      .attention_workspace_bytes = attention_workspace_bytes,
      .emit = reference::emit,
      .judge = reference::judge,
      .takes = reference::takes,
      .multiply = reference::multiply,
      .activation_forward = reference::activation_forward,
      .keeps_slopes = true,
      .activation_backward = reference::activation_backward,
      .adamw = reference::adamw,
      .attention_forward = reference::attention_forward,
      .attention_backward = reference::attention_backward,
      .cached_attention = reference::cached_attention,
      .column_sum = reference::column_sum,
      .cross_entropy = reference::cross_entropy,
      .dropout = reference::dropout,
      .embedding_forward = reference::embedding_forward,
      .embedding_backward = reference::embedding_backward,
      .fill = reference::fill,
      .gemm = reference::gemm,
      .layer_norm_forward = reference::layer_norm_forward,
      .layer_norm_backward = reference::layer_norm_backward,
      .rms_norm_forward = reference::rms_norm_forward,
      .rms_norm_backward = reference::rms_norm_backward,
      .rotary = reference::rotary,
      .sum_squares = reference::sum_squares,
      .cast = reference::cast,
      .sum = reference::sum,
      .count_targets = reference::count_targets,
      .add_mean = reference::add_mean,
      .prepare_update = reference::prepare_update,
      .norm_all = reference::norm_all,
      .adamw_all = reference::adamw_all,
      .apply_mask = reference::apply_mask,
      .cluster_energy = reference::cluster_energy,
      .count_nonzero = reference::count_nonzero,
      .fp8_round = reference::fp8_round,
      .mask_difference = reference::mask_difference,
      .mask_mass = reference::mask_mass,
      .masked_decay = reference::masked_decay,
      .moment_change = reference::moment_change,
      .mvue24 = reference::mvue24,
      .pack24 = reference::pack24,
      .regrow_moments = reference::regrow_moments,
      .route_tokens = reference::route_tokens,
      .select24 = reference::select24,
      .soft_threshold24 = reference::soft_threshold24,
      .soft_threshold24_sums = reference::soft_threshold24_sums,
      .topology_update = reference::topology_update,
      .transposable24 = reference::transposable24,
      .unpack24 = reference::unpack24,
      .venom_select = reference::venom_select,
      .packed_bytes = reference::packed_bytes,
      .packs_any_mask = true,
      .pack_matrix = reference::pack_matrix,
      .unpack_matrix = reference::unpack_matrix,
      .times_packed = reference::times_packed,
      .packed_times = reference::packed_times,
      .find_kept = reference::find_kept,
      .gather_kept = reference::gather_kept,
      .scatter_kept = reference::scatter_kept,
      .kept_gradient = reference::kept_gradient,
  };
  return kTable;
}

}  // namespace twill
