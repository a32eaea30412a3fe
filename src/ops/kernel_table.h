// SPDX-License-Identifier: Apache-2.0
// The whole interface of a backend: one function pointer per op and a few services. An op is called
// through its front door in ops/<op>.h, which validates once for all backends; kernels trust their
// arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tensor/memory.h"

namespace twill {

struct ActivationBackwardArgs;
struct ActivationForwardArgs;
struct AdamwArgs;
struct ApplyMaskArgs;
struct AttentionBackwardArgs;
struct AttentionForwardArgs;
struct CachedAttentionArgs;
struct ClusterEnergyArgs;
struct ColumnSumArgs;
struct CountNonzeroArgs;
struct CrossEntropyArgs;
struct DropoutArgs;
struct EmbeddingBackwardArgs;
struct EmbeddingForwardArgs;
struct FillArgs;
struct Fp8RoundArgs;
struct GemmArgs;
struct LayerNormBackwardArgs;
struct LayerNormForwardArgs;
struct MaskDifferenceArgs;
struct MaskMassArgs;
struct MaskedDecayArgs;
struct MomentChangeArgs;
struct Mvue24Args;
struct Pack24Args;
struct RegrowMomentsArgs;
struct RmsNormBackwardArgs;
struct RmsNormForwardArgs;
struct RotaryArgs;
struct RouteTokensArgs;
struct Select24Args;
struct SoftThreshold24Args;
struct SoftThreshold24SumsArgs;
struct SumSquaresArgs;
struct TopologyUpdateArgs;
struct Transposable24Args;
struct Unpack24Args;
struct VenomSelectArgs;

// Where a backend's work goes: a thread pool, a CUDA stream. Opaque to everyone else.
class Queue {
 public:
  virtual ~Queue() = default;
};

// What kernels need to know of the machine they run on.
struct Device {
  int num_threads = 1;
};

template <class Args>
using Kernel = void (*)(const Args&, const Device&, Queue&);

// nullptr means "not here".
struct KernelTable {
  const char* name;

  // Services.
  std::string (*describe)();  // instruction sets and libraries in use, for `twill info`
  const Memory& (*memory)();
  std::unique_ptr<Queue> (*open_queue)(const Device&);

  // Bytes of scratch one call of attention (forward or backward) needs on this device.
  std::int64_t (*attention_workspace_bytes)(const AttentionForwardArgs&, const Device&);

  // The matrix library's own product with all its threads and none of our additions (bias, addend):
  // what gemm is measured against. May be nullptr.
  Kernel<GemmArgs> plain_gemm;

  // Ops.
  Kernel<ActivationForwardArgs> activation_forward;
  Kernel<ActivationBackwardArgs> activation_backward;
  Kernel<AdamwArgs> adamw;
  Kernel<AttentionForwardArgs> attention_forward;
  Kernel<AttentionBackwardArgs> attention_backward;
  Kernel<CachedAttentionArgs> cached_attention;
  Kernel<ColumnSumArgs> column_sum;
  Kernel<CrossEntropyArgs> cross_entropy;
  Kernel<DropoutArgs> dropout;
  Kernel<EmbeddingForwardArgs> embedding_forward;
  Kernel<EmbeddingBackwardArgs> embedding_backward;
  Kernel<FillArgs> fill;
  Kernel<GemmArgs> gemm;
  Kernel<LayerNormForwardArgs> layer_norm_forward;
  Kernel<LayerNormBackwardArgs> layer_norm_backward;
  Kernel<RmsNormForwardArgs> rms_norm_forward;
  Kernel<RmsNormBackwardArgs> rms_norm_backward;
  Kernel<RotaryArgs> rotary;
  Kernel<SumSquaresArgs> sum_squares;

  // Ops of sparsity.
  Kernel<ApplyMaskArgs> apply_mask = nullptr;
  Kernel<ClusterEnergyArgs> cluster_energy = nullptr;
  Kernel<CountNonzeroArgs> count_nonzero = nullptr;
  Kernel<Fp8RoundArgs> fp8_round = nullptr;
  Kernel<MaskDifferenceArgs> mask_difference = nullptr;
  Kernel<MaskMassArgs> mask_mass = nullptr;
  Kernel<MaskedDecayArgs> masked_decay = nullptr;
  Kernel<MomentChangeArgs> moment_change = nullptr;
  Kernel<Mvue24Args> mvue24 = nullptr;
  Kernel<Pack24Args> pack24 = nullptr;
  Kernel<RegrowMomentsArgs> regrow_moments = nullptr;
  Kernel<RouteTokensArgs> route_tokens = nullptr;
  Kernel<Select24Args> select24 = nullptr;
  Kernel<SoftThreshold24Args> soft_threshold24 = nullptr;
  Kernel<SoftThreshold24SumsArgs> soft_threshold24_sums = nullptr;
  Kernel<TopologyUpdateArgs> topology_update = nullptr;
  Kernel<Transposable24Args> transposable24 = nullptr;
  Kernel<Unpack24Args> unpack24 = nullptr;
  Kernel<VenomSelectArgs> venom_select = nullptr;
};

const KernelTable& reference_table();
const KernelTable& cpu_table();

}  // namespace twill
