// SPDX-License-Identifier: Apache-2.0
// Which op is implemented by what.
#include "ops/kernel_table.h"

#include "backends/cuda/device_query.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/queue.h"

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
      .wait = cuda::wait,
      .free_bytes = cuda::free_bytes,
      .begin_recording = cuda::begin_recording,
      .end_recording = cuda::end_recording,
      .replay = cuda::replay,
      .stores_bf16 = true,
      // 512 Mi: 1 GiB of bf16 logits, 10,672 rows at GPT-2's vocabulary; below about 4,096 rows the
      // gradient of the head, read and written once per piece, begins to cost.
      .head_piece_elements = std::int64_t{1} << 29,
      .attention_workspace_bytes = cuda::attention_workspace_bytes,
      .plain_gemm = cuda::plain_gemm,
      .gemm_fuses = cuda::gemm_fuses,
      .activation_forward = cuda::activation_forward,
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
      .prepare_update = cuda::prepare_update,
      .norm_all = cuda::norm_all,
      .adamw_all = cuda::adamw_all,
  };
  return &kTable;
}

}  // namespace twill
