// SPDX-License-Identifier: Apache-2.0
// What a call of an op moves at least, in bytes, and what it multiplies at least, in FLOPs: the
// numbers beside which a measured time becomes a share of the machine's roof.
//
// Bytes: each input once, each output once, a tensor that is read and changed twice, an optional
// one where it is present; workspace and what a backend keeps for itself not at all. Where a call
// touches a part of a tensor, that part:
//   embedding         rows of the token table, each at most once; T rows of the position table
//   cached_attention  the rows of the cache that are written, and those that are read
//   rotary            the heads that turn
//   pack_matrix, pack_both: no mask where it is the same as before; the storage has it
//   multiply          all of both operands, whichever parts exist
//   soft_pack24       the projected matrix where it is kept
//   topology_update, regrow_moments: all of every tensor; what changes depends on values
//
// FLOPs: a product 2 M N K, one that leaves zeros out 2 M per kept entry; attention 4 D per visible
// pair and head, 2.5 times that backward; every other op 0: memory bounds it.
#pragma once

#include <cstdint>

#include "ops/kernel_table.h"

namespace twill {

std::int64_t moved_bytes(const ActivationBackwardArgs& args);
std::int64_t moved_bytes(const ActivationForwardArgs& args);
std::int64_t moved_bytes(const AdamwAllArgs& args);
std::int64_t moved_bytes(const AdamwArgs& args);
std::int64_t moved_bytes(const AttentionBackwardArgs& args);
std::int64_t moved_bytes(const AttentionForwardArgs& args);
std::int64_t moved_bytes(const CachedAttentionArgs& args);
std::int64_t moved_bytes(const CastArgs& args);
std::int64_t moved_bytes(const ColumnSumArgs& args);
std::int64_t moved_bytes(const CrossEntropyArgs& args);
std::int64_t moved_bytes(const DropoutArgs& args);
std::int64_t moved_bytes(const EmbeddingBackwardArgs& args);
std::int64_t moved_bytes(const EmbeddingForwardArgs& args);
std::int64_t moved_bytes(const EmitArgs& args);
std::int64_t moved_bytes(const FillArgs& args);
std::int64_t moved_bytes(const GemmArgs& args);
std::int64_t moved_bytes(const LayerNormBackwardArgs& args);
std::int64_t moved_bytes(const LayerNormForwardArgs& args);
std::int64_t moved_bytes(const NormAllArgs& args);
std::int64_t moved_bytes(const PrepareUpdateArgs& args);
std::int64_t moved_bytes(const Product& product);
std::int64_t moved_bytes(const RmsNormBackwardArgs& args);
std::int64_t moved_bytes(const RmsNormForwardArgs& args);
std::int64_t moved_bytes(const RotaryArgs& args);
std::int64_t moved_bytes(const SumArgs& args);
std::int64_t moved_bytes(const CountTargetsArgs& args);
std::int64_t moved_bytes(const AddMeanArgs& args);
std::int64_t moved_bytes(const SumSquaresArgs& args);

// Ops of sparsity.
std::int64_t moved_bytes(const ApplyMaskArgs& args);
std::int64_t moved_bytes(const ClusterEnergyArgs& args);
std::int64_t moved_bytes(const CountNonzeroArgs& args);
std::int64_t moved_bytes(const Fp8RoundArgs& args);
std::int64_t moved_bytes(const MaskDifferenceArgs& args);
std::int64_t moved_bytes(const MaskMassArgs& args);
std::int64_t moved_bytes(const MaskedDecayArgs& args);
std::int64_t moved_bytes(const MomentChangeArgs& args);
std::int64_t moved_bytes(const Mvue24Args& args);
std::int64_t moved_bytes(const Pack24Args& args);
std::int64_t moved_bytes(const RegrowMomentsArgs& args);
std::int64_t moved_bytes(const RouteTokensArgs& args);
std::int64_t moved_bytes(const Select24Args& args);
std::int64_t moved_bytes(const SoftThreshold24Args& args);
std::int64_t moved_bytes(const SoftThreshold24SumsArgs& args);
std::int64_t moved_bytes(const TopologyUpdateArgs& args);
std::int64_t moved_bytes(const Transposable24Args& args);
std::int64_t moved_bytes(const Unpack24Args& args);
std::int64_t moved_bytes(const VenomSelectArgs& args);

// Products that leave zeros out. A packed operand counts with all of its storage.
std::int64_t moved_bytes(const ActivationSampleArgs& args);
std::int64_t moved_bytes(const FindKeptArgs& args);
std::int64_t moved_bytes(const GatherKeptArgs& args);
std::int64_t moved_bytes(const KeptGradientArgs& args);
std::int64_t moved_bytes(const PackBothArgs& args);
std::int64_t moved_bytes(const PackMatrixArgs& args);
std::int64_t moved_bytes(const PackSampleArgs& args);
std::int64_t moved_bytes(const PackWeightsArgs& args);
std::int64_t moved_bytes(const PackedTimesArgs& args);
std::int64_t moved_bytes(const ScatterKeptArgs& args);
std::int64_t moved_bytes(const SoftPack24Args& args);
std::int64_t moved_bytes(const TimesPackedArgs& args);
std::int64_t moved_bytes(const UnpackMatrixArgs& args);

template <class Args>
double counted_flops(const Args&) {
  return 0.0;
}
double counted_flops(const AttentionBackwardArgs& args);
double counted_flops(const AttentionForwardArgs& args);
double counted_flops(const GemmArgs& args);
double counted_flops(const KeptGradientArgs& args);
double counted_flops(const PackedTimesArgs& args);
double counted_flops(const Product& product);
double counted_flops(const TimesPackedArgs& args);

struct OpWork {
  std::int64_t bytes = 0;
  double flops = 0.0;
};

template <class Args>
OpWork work_of(const Args& args) {
  return {.bytes = moved_bytes(args), .flops = counted_flops(args)};
}

}  // namespace twill
