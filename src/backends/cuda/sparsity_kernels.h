// SPDX-License-Identifier: Apache-2.0
// The kernels of sparsity of the cuda backend: masks, 2:4 selections, FP8. Under the rules of
// kernels.h; results owe every bit, so products and sums name their rounding.
#pragma once

#include "ops/kernel_table.h"

namespace twill::cuda {

std::int64_t packed_bytes(const PackedShape& shape, const Device& device);
bool fuses_activation_sample(const ActivationSampleArgs& args);
bool fuses_sample(const PackSampleArgs& args);
bool fuses_soft_pack(const SoftPack24Args& args);
bool packs_both(const PackBothArgs& args);

void activation_sample(const ActivationSampleArgs& args, const Device& device, Queue& queue);
void apply_mask(const ApplyMaskArgs& args, const Device& device, Queue& queue);
void cluster_energy(const ClusterEnergyArgs& args, const Device& device, Queue& queue);
void count_nonzero(const CountNonzeroArgs& args, const Device& device, Queue& queue);
void fp8_round(const Fp8RoundArgs& args, const Device& device, Queue& queue);
void mask_difference(const MaskDifferenceArgs& args, const Device& device, Queue& queue);
void mask_mass(const MaskMassArgs& args, const Device& device, Queue& queue);
void masked_decay(const MaskedDecayArgs& args, const Device& device, Queue& queue);
void moment_change(const MomentChangeArgs& args, const Device& device, Queue& queue);
void mvue24(const Mvue24Args& args, const Device& device, Queue& queue);
void pack24(const Pack24Args& args, const Device& device, Queue& queue);
void pack_weights(const PackWeightsArgs& args, const Device& device, Queue& queue);
void pack_matrix(const PackMatrixArgs& args, const Device& device, Queue& queue);
void pack_sample(const PackSampleArgs& args, const Device& device, Queue& queue);
void packed_times(const PackedTimesArgs& args, const Device& device, Queue& queue);
void regrow_moments(const RegrowMomentsArgs& args, const Device& device, Queue& queue);
void route_tokens(const RouteTokensArgs& args, const Device& device, Queue& queue);
void select24(const Select24Args& args, const Device& device, Queue& queue);
void soft_pack24(const SoftPack24Args& args, const Device& device, Queue& queue);
void soft_threshold24(const SoftThreshold24Args& args, const Device& device, Queue& queue);
void soft_threshold24_sums(const SoftThreshold24SumsArgs& args, const Device& device, Queue& queue);
void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue);
void topology_update(const TopologyUpdateArgs& args, const Device& device, Queue& queue);
void transposable24(const Transposable24Args& args, const Device& device, Queue& queue);
void unpack24(const Unpack24Args& args, const Device& device, Queue& queue);
void unpack_matrix(const UnpackMatrixArgs& args, const Device& device, Queue& queue);
void venom_select(const VenomSelectArgs& args, const Device& device, Queue& queue);

}  // namespace twill::cuda
