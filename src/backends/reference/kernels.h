// SPDX-License-Identifier: Apache-2.0
// The oracle: naive, one thread, double accumulators, any shape, storage f32 or f64. It is read
// before it is trusted, so it is written to be read, and it shares no logic with the backends it
// judges.
#pragma once

#include "ops/kernel_table.h"

namespace twill::reference {

void activation_forward(const ActivationForwardArgs& args, const Device& device, Queue& queue);
void activation_backward(const ActivationBackwardArgs& args, const Device& device, Queue& queue);
void adamw(const AdamwArgs& args, const Device& device, Queue& queue);
void adamw_all(const AdamwAllArgs& args, const Device& device, Queue& queue);
void attention_forward(const AttentionForwardArgs& args, const Device& device, Queue& queue);
void attention_backward(const AttentionBackwardArgs& args, const Device& device, Queue& queue);
void cached_attention(const CachedAttentionArgs& args, const Device& device, Queue& queue);
void cast(const CastArgs& args, const Device& device, Queue& queue);
void cluster_energy(const ClusterEnergyArgs& args, const Device& device, Queue& queue);
void column_sum(const ColumnSumArgs& args, const Device& device, Queue& queue);
void cross_entropy(const CrossEntropyArgs& args, const Device& device, Queue& queue);
void dropout(const DropoutArgs& args, const Device& device, Queue& queue);
void embedding_forward(const EmbeddingForwardArgs& args, const Device& device, Queue& queue);
void embedding_backward(const EmbeddingBackwardArgs& args, const Device& device, Queue& queue);
void emit(const EmitArgs& args, const Device& device, Queue& queue);
void fill(const FillArgs& args, const Device& device, Queue& queue);
void gemm(const GemmArgs& args, const Device& device, Queue& queue);
Verdict judge(const Product& product, const Device& device, Queue& queue);
void layer_norm_forward(const LayerNormForwardArgs& args, const Device& device, Queue& queue);
void layer_norm_backward(const LayerNormBackwardArgs& args, const Device& device, Queue& queue);
bool takes(const Product& product, const Device& device);
void multiply(const Product& product, const Device& device, Queue& queue);
void norm_all(const NormAllArgs& args, const Device& device, Queue& queue);
void prepare_update(const PrepareUpdateArgs& args, const Device& device, Queue& queue);
void regrow_moments(const RegrowMomentsArgs& args, const Device& device, Queue& queue);
void rms_norm_forward(const RmsNormForwardArgs& args, const Device& device, Queue& queue);
void rms_norm_backward(const RmsNormBackwardArgs& args, const Device& device, Queue& queue);
void rotary(const RotaryArgs& args, const Device& device, Queue& queue);
void route_tokens(const RouteTokensArgs& args, const Device& device, Queue& queue);
void sum(const SumArgs& args, const Device& device, Queue& queue);
void count_targets(const CountTargetsArgs& args, const Device& device, Queue& queue);
void add_mean(const AddMeanArgs& args, const Device& device, Queue& queue);
void sum_squares(const SumSquaresArgs& args, const Device& device, Queue& queue);
void venom_select(const VenomSelectArgs& args, const Device& device, Queue& queue);

void apply_mask(const ApplyMaskArgs& args, const Device& device, Queue& queue);
void count_nonzero(const CountNonzeroArgs& args, const Device& device, Queue& queue);
void mask_difference(const MaskDifferenceArgs& args, const Device& device, Queue& queue);
void mask_mass(const MaskMassArgs& args, const Device& device, Queue& queue);
void masked_decay(const MaskedDecayArgs& args, const Device& device, Queue& queue);
void pack24(const Pack24Args& args, const Device& device, Queue& queue);
void select24(const Select24Args& args, const Device& device, Queue& queue);
void transposable24(const Transposable24Args& args, const Device& device, Queue& queue);
void unpack24(const Unpack24Args& args, const Device& device, Queue& queue);
// Ops of sparsity.
void fp8_round(const Fp8RoundArgs& args, const Device& device, Queue& queue);
void moment_change(const MomentChangeArgs& args, const Device& device, Queue& queue);
void mvue24(const Mvue24Args& args, const Device& device, Queue& queue);
void soft_threshold24(const SoftThreshold24Args& args, const Device& device, Queue& queue);
void soft_threshold24_sums(const SoftThreshold24SumsArgs& args, const Device& device, Queue& queue);
void topology_update(const TopologyUpdateArgs& args, const Device& device, Queue& queue);

// Products that leave zeros out.
std::int64_t packed_bytes(const PackedShape& shape, const Device& device);
void pack_matrix(const PackMatrixArgs& args, const Device& device, Queue& queue);
void unpack_matrix(const UnpackMatrixArgs& args, const Device& device, Queue& queue);
void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue);
void packed_times(const PackedTimesArgs& args, const Device& device, Queue& queue);
void find_kept(const FindKeptArgs& args, const Device& device, Queue& queue);
void gather_kept(const GatherKeptArgs& args, const Device& device, Queue& queue);
void scatter_kept(const ScatterKeptArgs& args, const Device& device, Queue& queue);
void kept_gradient(const KeptGradientArgs& args, const Device& device, Queue& queue);

}  // namespace twill::reference
