// SPDX-License-Identifier: Apache-2.0
// Which op is implemented by what.
#include "ops/kernel_table.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/products/product_choices.h"
#include "backends/cuda/runtime/device_query.h"
#include "backends/cuda/runtime/graph.h"
#include "backends/cuda/runtime/memory.h"
#include "backends/cuda/runtime/nvml.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/ranges.h"
#include "backends/cuda/runtime/roof.h"
#include "backends/cuda/runtime/timer.h"
#include "backends/cuda/sparse_products/cusparselt.h"
#include "backends/cuda/sparse_products/sparse_products.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill {
namespace {

std::unique_ptr<Queue> open_queue(const Device& device) {
  return std::make_unique<cuda::CudaQueue>(device);
}

}  // namespace

const KernelTable* cuda_table() {
  static constexpr KernelTable kTable{
      .name = "cuda",
      .describe = cuda::describe,
      .memory = cuda::device_memory,
      .open_queue = open_queue,
      .find_device = cuda::find_device,
      .staging_memory = cuda::pinned_memory,
      .copy_in = cuda::copy_in,
      .copy_out = cuda::copy_out,
      .copy = cuda::copy,
      .wait = cuda::wait,
      .free_bytes = cuda::free_bytes,
      .begin_recording = cuda::begin_recording,
      .end_recording = cuda::end_recording,
      .replay = cuda::replay,
      .choices = cuda::product_choices,
      .set_choices = cuda::load_product_choices,
      .stores_bf16 = true,
      // 512 Mi: 1 GiB of bf16 logits, 10,672 rows at GPT-2's vocabulary; below about 4,096 rows the
      // gradient of the head, read and written once per piece, begins to cost.
      .head_piece_elements = std::int64_t{1} << 29,
      .head_row_tile = 128,  // rows of a product's tile
      .attention_workspace_bytes = cuda::attention_workspace_bytes,
      .gemm_fuses = cuda::gemm_fuses,
      .emit = cuda::emit,
      .judge = cuda::judge,
      .activation_forward = cuda::activation_forward,
      .keeps_slopes = true,
      .activation_backward = cuda::activation_backward,
      .adamw = cuda::adamw,
      .attention_forward = cuda::attention_forward,
      .attention_backward = cuda::attention_backward,
      .cached_attention = cuda::cached_attention,
      .column_sum = cuda::column_sum,
      .cross_entropy = cuda::cross_entropy,
      .dropout = cuda::dropout,
      .embedding_forward = cuda::embedding_forward,
      .embedding_backward = cuda::embedding_backward,
      .fill = cuda::fill,
      .gemm = cuda::gemm,
      .layer_norm_forward = cuda::layer_norm_forward,
      .layer_norm_backward = cuda::layer_norm_backward,
      .rms_norm_forward = cuda::rms_norm_forward,
      .rms_norm_backward = cuda::rms_norm_backward,
      .rotary = cuda::rotary,
      .sum_squares = cuda::sum_squares,
      .cast = cuda::cast,
      .sum = cuda::sum,
      .count_targets = cuda::count_targets,
      .add_mean = cuda::add_mean,
      .prepare_update = cuda::prepare_update,
      .norm_all = cuda::norm_all,
      .adamw_all = cuda::adamw_all,
      .apply_mask = cuda::apply_mask,
      .cluster_energy = cuda::cluster_energy,
      .count_nonzero = cuda::count_nonzero,
      .fp8_round = cuda::fp8_round,
      .mask_difference = cuda::mask_difference,
      .mask_mass = cuda::mask_mass,
      .masked_decay = cuda::masked_decay,
      .moment_change = cuda::moment_change,
      .mvue24 = cuda::mvue24,
      .pack24 = cuda::pack24,
      .regrow_moments = cuda::regrow_moments,
      .route_tokens = cuda::route_tokens,
      .select24 = cuda::select24,
      .soft_threshold24 = cuda::soft_threshold24,
      .soft_threshold24_sums = cuda::soft_threshold24_sums,
      .topology_update = cuda::topology_update,
      .transposable24 = cuda::transposable24,
      .unpack24 = cuda::unpack24,
      .venom_select = cuda::venom_select,
      .packed_bytes = cuda::packed_bytes,
      .pack_matrix = cuda::pack_matrix,
      .unpack_matrix = cuda::unpack_matrix,
      .times_packed = cuda::times_packed,
      .packed_times = cuda::packed_times,
      .slowed_by_packed = cuda::slowed_by_packed,
      .packs_both = cuda::packs_both,
      .pack_weights = cuda::pack_weights,
      .fuses_soft_pack = cuda::fuses_soft_pack,
      .soft_pack24 = cuda::soft_pack24,
      .fuses_sample = cuda::fuses_sample,
      .pack_sample = cuda::pack_sample,
      .fuses_activation_sample = cuda::fuses_activation_sample,
      .activation_sample = cuda::activation_sample,
      .open_timer = cuda::open_timer,
      .readings = cuda::readings,
      .push_range = cuda::push_range,
      .pop_range = cuda::pop_range,
      .benches = {.plain_gemm = cuda::plain_gemm,
                  .open_peer_product = cuda::open_cusparselt_product,
                  .copy_bytes_per_second = cuda::copy_bytes_per_second,
                  .activation_forward_by_channel = cuda::activation_forward_by_channel,
                  .activation_backward_by_channel = cuda::activation_backward_by_channel},
  };
  return &kTable;
}

}  // namespace twill
