// SPDX-License-Identifier: Apache-2.0
// The whole interface of a backend: one function pointer per op and a few services. An op is called
// through its front door in ops/<op>.h, which validates once for all backends; kernels trust their
// arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/bench_table.h"
#include "tensor/memory.h"
#include "tensor/view.h"

namespace twill {

struct ActivationBackwardArgs;
struct ActivationForwardArgs;
struct ActivationSampleArgs;
struct AdamwAllArgs;
struct AdamwArgs;
struct AddMeanArgs;
struct ApplyMaskArgs;
struct AttentionBackwardArgs;
struct AttentionForwardArgs;
struct CachedAttentionArgs;
struct CastArgs;
struct ClusterEnergyArgs;
struct ColumnSumArgs;
struct CountNonzeroArgs;
struct CountTargetsArgs;
struct CrossEntropyArgs;
struct DropoutArgs;
struct EmbeddingBackwardArgs;
struct EmbeddingForwardArgs;
struct Emit;
struct EmitArgs;
struct FillArgs;
struct FindKeptArgs;
struct Fp8RoundArgs;
struct GatherKeptArgs;
struct GemmArgs;
struct KeptGradientArgs;
struct LayerNormBackwardArgs;
struct LayerNormForwardArgs;
struct MaskDifferenceArgs;
struct MaskMassArgs;
struct MaskedDecayArgs;
struct MomentChangeArgs;
struct Mvue24Args;
struct NormAllArgs;
struct Pack24Args;
struct PackBothArgs;
struct PackMatrixArgs;
struct PackSampleArgs;
struct PackWeightsArgs;
struct PackedShape;
struct PackedTimesArgs;
struct PrepareUpdateArgs;
struct Product;
struct RegrowMomentsArgs;
struct RmsNormBackwardArgs;
struct RmsNormForwardArgs;
struct RotaryArgs;
struct RouteTokensArgs;
struct ScatterKeptArgs;
struct Select24Args;
struct SoftPack24Args;
struct SoftThreshold24Args;
struct SoftThreshold24SumsArgs;
struct SumArgs;
struct SumSquaresArgs;
struct TimesPackedArgs;
struct TopologyUpdateArgs;
struct Transposable24Args;
struct Unpack24Args;
struct UnpackMatrixArgs;
struct VenomSelectArgs;
struct Verdict;

// Where a backend's work goes: a thread pool, a CUDA stream. Opaque to everyone else.
class Queue {
 public:
  virtual ~Queue() = default;
};

// Work of a queue that can be given to it again as one piece: a CUDA graph.
class Recording {
 public:
  virtual ~Recording() = default;
};

// Seconds of stretches of a queue's work by the device's own clock. start() and stop() put marks
// into the queue and wait for nothing.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  // Waits; one number for each start and stop since the last call, in order.
  virtual std::vector<double> take() = 0;
};

// What a device says of itself; empty where it does not.
struct DeviceReadings {
  std::optional<double> power_watts = {};
  std::optional<std::int64_t> memory_bytes = {};  // in use, by all processes
  std::optional<double> clock_hz = {};            // of its multiprocessors
};

// What kernels need to know of the machine they run on.
struct Device {
  int num_threads = 1;
  int index = 0;            // among the devices of its kind
  int num_sms = 0;          // of a GPU
  int generation = 0;       // of a GPU: 90 is Hopper
  double peak_flops = 0.0;  // per second, dense bf16 by the datasheet; 0: not known
};

// A device as a person would name it, or why there is none.
struct DeviceReport {
  bool usable = false;
  std::string text;
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

  // Services of a backend whose memory the host does not see; nullptr: memory() is the host's.
  // Copies are ordered with the queue's work. copy_in may return before the host bytes are read when
  // they lie in staging_memory(); copy_out returns when the bytes are there.
  DeviceReport (*find_device)(int index, Device& device) = nullptr;
  const Memory& (*staging_memory)() = nullptr;
  void (*copy_in)(std::byte* to, const std::byte* host, std::int64_t bytes, Queue&) = nullptr;
  void (*copy_out)(std::byte* host, const std::byte* from, std::int64_t bytes, Queue&) = nullptr;
  void (*copy)(std::byte* to, const std::byte* from, std::int64_t bytes, Queue&) = nullptr;
  void (*wait)(Queue&) = nullptr;
  std::int64_t (*free_bytes)() = nullptr;
  // Everything given to the queue in between is kept instead of run.
  void (*begin_recording)(Queue&) = nullptr;
  std::unique_ptr<Recording> (*end_recording)(Queue&) = nullptr;
  void (*replay)(const Recording&, Queue&) = nullptr;
  // Which of several ways of equal value the backend takes, where it has measured which is quickest:
  // a text that a run keeps, so that it goes on with the same bits. Loaded before the first op; an
  // empty text says nothing.
  std::string (*choices)(Queue&) = nullptr;
  void (*set_choices)(std::string_view, Queue&) = nullptr;

  // Activations and operands may be bf16; masters, gradients, statistics and sums stay f32.
  bool stores_bf16 = false;
  // Logits that the head holds at once: large enough for efficient products, small beside the
  // activations. 64 MiB of f32 are 333 rows at GPT-2's vocabulary.
  std::int64_t head_piece_elements = 16 << 20;
  // Above 1: the head's pieces have equal sizes, in multiples of so many rows, because the backend is
  // slow at a small last product.
  std::int64_t head_row_tile = 1;

  // Bytes of scratch one call of attention (forward or backward) needs on this device.
  std::int64_t (*attention_workspace_bytes)(const AttentionForwardArgs&, const Device&);

  // Whether gemm takes this epilogue; nullptr: none.
  bool (*gemm_fuses)(const GemmArgs&) = nullptr;

  // Further copies of what norms, activations and AdamW make; nullptr: none are made.
  Kernel<EmitArgs> emit = nullptr;
  // Whether the kernel of an op writes its copies of x on its way; nullptr: none does.
  bool (*emits_inside)(std::string_view op, const ConstView& x,
                       std::span<const Emit> emits) = nullptr;
  // Whether a product (ops/products/product.h) runs here, by which kernel, or why not.
  Verdict (*judge)(const Product&, const Device&, Queue&) = nullptr;
  // Products that the backend multiplies as one: `takes` is asked about every product, first, so it compares
  // types and layouts and allocates nothing. What it leaves goes to gemm and the products without zeros, as far
  // as these take it. nullptr: everything goes there.
  bool (*takes)(const Product&, const Device&) = nullptr;
  Kernel<Product> multiply = nullptr;

  // Ops.
  Kernel<ActivationForwardArgs> activation_forward;
  bool keeps_slopes = false;  // ActivationForwardArgs::slope, TimesPackedArgs::keeps_slope
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

  Kernel<CastArgs> cast = nullptr;
  Kernel<SumArgs> sum = nullptr;
  Kernel<CountTargetsArgs> count_targets = nullptr;
  Kernel<AddMeanArgs> add_mean = nullptr;
  Kernel<PrepareUpdateArgs> prepare_update = nullptr;
  Kernel<NormAllArgs> norm_all = nullptr;
  Kernel<AdamwAllArgs> adamw_all = nullptr;

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

  // Products that leave zeros out, all or none of them.
  std::int64_t (*packed_bytes)(const PackedShape&, const Device&) = nullptr;
  bool packs_any_mask = false;  // PackedPattern::kAny, and packed_times with it
  Kernel<PackMatrixArgs> pack_matrix = nullptr;
  Kernel<UnpackMatrixArgs> unpack_matrix = nullptr;
  Kernel<TimesPackedArgs> times_packed = nullptr;
  Kernel<PackedTimesArgs> packed_times = nullptr;
  // The share of its time by which everything on the device is slower while a process lives that has launched
  // a packed product there; nullptr: nothing is.
  double (*slowed_by_packed)(const Device&) = nullptr;
  // Matrices, each with its transposed from one reading, for the calls that packs_both takes.
  bool (*packs_both)(const PackBothArgs&) = nullptr;
  Kernel<PackWeightsArgs> pack_weights = nullptr;
  // A soft threshold and its packing from one reading, for the calls that fuses_soft_pack takes.
  bool (*fuses_soft_pack)(const SoftPack24Args&) = nullptr;
  Kernel<SoftPack24Args> soft_pack24 = nullptr;
  // Sampling and packing at once, for the calls that fuses_sample takes.
  bool (*fuses_sample)(const PackSampleArgs&) = nullptr;
  Kernel<PackSampleArgs> pack_sample = nullptr;
  // The same behind the gradient of an activation, for the calls that fuses_activation_sample takes.
  bool (*fuses_activation_sample)(const ActivationSampleArgs&) = nullptr;
  Kernel<ActivationSampleArgs> activation_sample = nullptr;
  Kernel<FindKeptArgs> find_kept = nullptr;
  Kernel<GatherKeptArgs> gather_kept = nullptr;
  Kernel<ScatterKeptArgs> scatter_kept = nullptr;
  Kernel<KeptGradientArgs> kept_gradient = nullptr;

  // Services for who looks on. open_timer nullptr: the clock of the host serves (ops/timer.h).
  std::unique_ptr<Timer> (*open_timer)(Queue&) = nullptr;
  DeviceReadings (*readings)(const Device&) = nullptr;
  // A named stretch on the time line of a profiler; they nest.
  void (*push_range)(const char* name) = nullptr;
  void (*pop_range)() = nullptr;

  BenchTable benches = {};
};

const KernelTable& reference_table();
const KernelTable& cpu_table();
// The same, under the same name, with the operands of products and attention rounded to bf16: what a
// bf16 device multiplies. Everything else, storage included, stays f32.
const KernelTable& rounded_cpu_table();
const KernelTable* cuda_table();  // nullptr in a build without CUDA

}  // namespace twill
