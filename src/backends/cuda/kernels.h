// SPDX-License-Identifier: Apache-2.0
// The kernels of the cuda backend: f32 and bf16 storage, f32 arithmetic, any shape, any alignment of
// an element; 16-byte accesses where they fit. Grids and orders of sums depend on shapes and the
// device alone, so the same call gives the same bits.
#pragma once

#include "ops/kernel_table.h"

namespace twill::cuda {

std::int64_t attention_workspace_bytes(const AttentionForwardArgs& args, const Device& device);
bool gemm_fuses(const GemmArgs& args);
void plain_gemm(const GemmArgs& args, const Device& device, Queue& queue);

void activation_forward(const ActivationForwardArgs& args, const Device& device, Queue& queue);
void activation_backward(const ActivationBackwardArgs& args, const Device& device, Queue& queue);
void activation_forward_by_channel(const ActivationForwardArgs& args, const Device& device,
                                   Queue& queue);
void activation_backward_by_channel(const ActivationBackwardArgs& args, const Device& device,
                                    Queue& queue);
void adamw(const AdamwArgs& args, const Device& device, Queue& queue);
void adamw_all(const AdamwAllArgs& args, const Device& device, Queue& queue);
void attention_forward(const AttentionForwardArgs& args, const Device& device, Queue& queue);
void attention_backward(const AttentionBackwardArgs& args, const Device& device, Queue& queue);
void cached_attention(const CachedAttentionArgs& args, const Device& device, Queue& queue);
void cast(const CastArgs& args, const Device& device, Queue& queue);
void column_sum(const ColumnSumArgs& args, const Device& device, Queue& queue);
void cross_entropy(const CrossEntropyArgs& args, const Device& device, Queue& queue);
void dropout(const DropoutArgs& args, const Device& device, Queue& queue);
void emit(const EmitArgs& args, const Device& device, Queue& queue);
void embedding_forward(const EmbeddingForwardArgs& args, const Device& device, Queue& queue);
void embedding_backward(const EmbeddingBackwardArgs& args, const Device& device, Queue& queue);
void fill(const FillArgs& args, const Device& device, Queue& queue);
Verdict judge(const Product& product, const Device& device, Queue& queue);
void gemm(const GemmArgs& args, const Device& device, Queue& queue);
void layer_norm_forward(const LayerNormForwardArgs& args, const Device& device, Queue& queue);
void layer_norm_backward(const LayerNormBackwardArgs& args, const Device& device, Queue& queue);
void norm_all(const NormAllArgs& args, const Device& device, Queue& queue);
void prepare_update(const PrepareUpdateArgs& args, const Device& device, Queue& queue);
void rms_norm_forward(const RmsNormForwardArgs& args, const Device& device, Queue& queue);
void rms_norm_backward(const RmsNormBackwardArgs& args, const Device& device, Queue& queue);
void rotary(const RotaryArgs& args, const Device& device, Queue& queue);
void sum(const SumArgs& args, const Device& device, Queue& queue);
void count_targets(const CountTargetsArgs& args, const Device& device, Queue& queue);
void add_mean(const AddMeanArgs& args, const Device& device, Queue& queue);
void sum_squares(const SumSquaresArgs& args, const Device& device, Queue& queue);

}  // namespace twill::cuda
