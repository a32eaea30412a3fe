// SPDX-License-Identifier: Apache-2.0
// A way of sparse_product.h whose epilogue runs under the products of the next tile. Tiles of 128 x 256,
// two to a cluster; CUTLASS's collective loads, the products are those of sparse_mainloop.cuh.
//
//   warp 0            loads A, its positions and B
//   warpgroups 1, 2   multiply 64 rows of a tile each. What they have summed up they round to bf16, two in
//                     a register, and while the tensor cores work on the next tile they finish it chunk by
//                     chunk, beside a K tile each, through shared memory to the copy engine
//
// In CUTLASS's cooperative kernel tensor cores stand still during an epilogue. On an H200 at its power
// limit, 6400 x 16384 x 1600: 0.35 ms where that takes 0.38, with GELU 0.43 for 0.45. On cool clocks tensor
// cores are busy for 66 % of the cycles, in cuSPARSELt's kernel of the same tile for 61 %.
//
// GELU is not free even so: a multiplying warp waits while an instruction of its own is not taken, and
// has little time beside. Tried and slower: plain stores (0.51), the three idle warps as finishers
// (0.49), GELU's gradient in this way (0.46 to 0.54, behind the product 0.45). So forward leaves GELU's
// slope, from the special functions that it has already, and the gradient multiplies by it here: an FFN gains
// 1.2 % by that at width 768, 0.6 % at 1024, 0.2 to 0.4 % at 1600 and 2048.
//
// The activation is one of a number as it is stored: the same bits as product and activation one after the
// other. An addend would be rounded twice: other ways add it.
#pragma once

#include <cutlass/cluster_launch.hpp>

#include "backends/cuda/sparse_products/sparse_finisher.cuh"
#include "backends/cuda/sparse_products/sparse_product.cuh"

namespace twill::cuda::sparse {

template <SparseEpilogue kEpilogue>
struct Overlapped {
  using Finisher = sparse::Finisher<kEpilogue>;
  static constexpr int kChunks = Finisher::kChunks;
  static constexpr int kStages = 5;
  static constexpr int kThreads = 3 * kGroup;

  using Tile = Shape<_128, _256, _64>;
  using Cluster = Shape<_2, _1, _1>;
  using Collective = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassSparseTensorOp, Bf16, RowMajor, 16, Bf16,
      ColumnMajor, 8, float, Tile, Cluster, cutlass::gemm::collective::StageCount<kStages>,
      cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
  using Scheduler = cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90;
  using Queue = ProductQueue<Collective>;
  using Pipeline = typename Queue::Pipeline;
  using PipelineState = typename Queue::PipelineState;
  using StrideB = typename Collective::StrideB;

  struct Storage {
    typename Finisher::Storage results;  // at the front, where an address is one register
    alignas(1024) typename Collective::TensorStorage operands;
    alignas(16) typename Collective::PipelineStorage pipeline;
  };

  struct Params {
    cute::tuple<int, int, int, int> shape;
    typename Collective::Params operands;
    typename Scheduler::Params scheduler;
    typename Finisher::Params results;
  };

  static __device__ __forceinline__ int num_k_tiles(const Params& params) {
    return (cute::get<2>(params.shape) + 63) / 64;
  }

  template <class Work>
  static __device__ __forceinline__ Work next_work(Scheduler& scheduler, const Work& work) {
    return cute::get<0>(scheduler.fetch_next_work(work));
  }

  static __device__ __forceinline__ void load(const Params& params, Storage& storage,
                                              Pipeline& pipeline) {
    Collective collective;
    auto inputs = collective.load_init(params.shape, params.operands);
    PipelineState state = cutlass::make_producer_start_state<Pipeline>();
    const std::uint32_t rank = cute::block_rank_in_cluster();
    const int k_tiles = num_k_tiles(params);
    Scheduler scheduler{params.scheduler};
    for (auto work = scheduler.initial_work_tile_info(Cluster{}); work.is_valid();
         work = next_work(scheduler, work)) {
      auto all = cute::shape<3>(cute::get<0>(inputs));
      collective.load(params.operands, pipeline, state, inputs,
                      cute::make_coord(work.M_idx, work.N_idx, cute::_, 0),
                      cute::make_coord_iterator(cute::idx2crd(0, all), all), k_tiles,
                      static_cast<int>(threadIdx.x) % 32, rank, storage.operands);
      state.advance(k_tiles);
    }
    collective.load_tail(pipeline, state);
  }

  // Chunks that are finished beside a K tile. ptxas keeps instructions in flight along straight paths only.
  enum class Beside { kNothingHeld, kNone, kOne, kTwo };

  template <Beside kBeside>
  static __device__ __forceinline__ void multiply_tile(const Params& params, Storage& storage,
                                                       Pipeline& pipeline, Finisher& finisher,
                                                       PipelineState& state, TileAt at,
                                                       int k_tiles) {
    typename Queue::TiledMma tiled_mma;
    auto sums = cute::partition_fragment_C(tiled_mma, cute::take<0, 2>(Tile{}));
    Queue queue(pipeline, state, storage.operands, static_cast<int>(threadIdx.x) - kGroup);
    typename Queue::Positions even, odd;
    float bias[2];
    finisher.load_bias(at, bias);
    if constexpr (kBeside == Beside::kNothingHeld) finisher.begin(at);
    if constexpr (kBeside == Beside::kNone) finisher.finish(&at);
    if constexpr (kBeside == Beside::kOne || kBeside == Beside::kTwo) {
      constexpr int kAtOnce = kBeside == Beside::kOne ? 1 : 2;
      CUTLASS_PRAGMA_UNROLL
      for (int chunk = 0; chunk < kChunks; chunk += kAtOnce) {
        queue.issue(chunk / kAtOnce % 2 == 0 ? even : odd, sums);
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < kAtOnce; ++i) finisher.finish(chunk + i, &at);
        queue.release_done(sums);
      }
      k_tiles -= kChunks / kAtOnce;
    }
    queue.issue_all(even, odd, sums, k_tiles);
    queue.drain(sums);
    state = queue.next();
    finisher.hold(sums, at, bias);
  }

  static __device__ __forceinline__ void multiply(const Params& params, Storage& storage,
                                                  Pipeline& pipeline, int half) {
    PipelineState state;
    Finisher finisher(params.results, storage.results, half);
    bool holds = false;
    const int k_tiles = num_k_tiles(params);
    Scheduler scheduler{params.scheduler};
    for (auto work = scheduler.initial_work_tile_info(Cluster{}); work.is_valid();
         work = next_work(scheduler, work)) {
      const TileAt at{work.M_idx * kTileM, work.N_idx * kTileN};
      if (!holds)
        multiply_tile<Beside::kNothingHeld>(params, storage, pipeline, finisher, state, at,
                                            k_tiles);
      else if (k_tiles >= kChunks)
        multiply_tile<Beside::kOne>(params, storage, pipeline, finisher, state, at, k_tiles);
      else if (k_tiles >= kChunks / 2)
        multiply_tile<Beside::kTwo>(params, storage, pipeline, finisher, state, at, k_tiles);
      else
        multiply_tile<Beside::kNone>(params, storage, pipeline, finisher, state, at, k_tiles);
      holds = true;
    }
    if (!holds) return;
    finisher.finish(nullptr);
    finisher.wait_for_stores();
  }

  static __device__ __forceinline__ void run(const Params& params, char* memory) {
    Storage& storage = *reinterpret_cast<Storage*>(memory);
    const int group = cutlass::canonical_warp_group_idx();
    const int warp_in_group = static_cast<int>(threadIdx.x) / 32 % 4;
    if (threadIdx.x == 0) Collective::prefetch_tma_descriptors(params.operands);
    typename Pipeline::Params pipeline_params;
    if (group == 0 && warp_in_group == 0) pipeline_params.role = Pipeline::ThreadCategory::Producer;
    if (group >= 1) pipeline_params.role = Pipeline::ThreadCategory::Consumer;
    pipeline_params.is_leader = threadIdx.x % kGroup == 0;
    pipeline_params.num_consumers = 2 * kGroup;
    pipeline_params.transaction_bytes = params.operands.tma_transaction_bytes;
    if (threadIdx.x == 0) Finisher::prepare(storage.results);
    Pipeline pipeline(storage.pipeline, pipeline_params, Cluster{});
    cute::cluster_arrive_relaxed();
    cute::cluster_wait();
    __syncthreads();
    // 40 + 2 · 232 registers are the 3 · 168 that the block starts with; for more it would wait forever.
    if (group == 0) {
      cutlass::arch::warpgroup_reg_dealloc<40>();
      if (warp_in_group == 0) load(params, storage, pipeline);
    } else {
      cutlass::arch::warpgroup_reg_alloc<232>();
      multiply(params, storage, pipeline, group - 1);
    }
  }
};

template <SparseEpilogue kEpilogue>
__global__ __launch_bounds__(Overlapped<kEpilogue>::kThreads, 1) void overlapped_kernel(
    const __grid_constant__ typename Overlapped<kEpilogue>::Params params) {
  extern __shared__ __align__(1024) char shared[];
  Overlapped<kEpilogue>::run(params, shared);
}

// --- on the host ---------------------------------------------------------------------------------

// A matrix of n rows of m bf16, `pitch` from one to the next, in chunks; false where the engine refuses it.
inline bool encode_chunks(CUtensorMap& map, const void* matrix, std::int64_t m, std::int64_t n,
                          std::int64_t pitch, int columns) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(m), static_cast<cuuint64_t>(n)};
  const cuuint64_t pitches[] = {static_cast<cuuint64_t>(pitch) * 2};
  const cuuint32_t box[] = {kHalfM, static_cast<cuuint32_t>(columns)}, steps[] = {1, 1};
  return CUTLASS_CUDA_DRIVER_WRAPPER_CALL(cuTensorMapEncodeTiled)(
             &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(matrix), sizes, pitches,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <SparseEpilogue kEpilogue>
struct OverlappedWay {
  using Kernel = Overlapped<kEpilogue>;

  static bool make_params(const SparseProduct& p, SparseOrder order, int num_sms,
                          typename Kernel::Params& params, dim3& grid) {
    using Collective = typename Kernel::Collective;
    using Scheduler = typename Kernel::Scheduler;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    params.shape = cute::make_tuple(m, n, k, 1);
    typename Kernel::StrideB stride_b{};
    cute::get<0>(stride_b) = p.k;
    const typename Collective::Arguments operands{
        static_cast<const Bf16*>(p.values),
        Collective::SparseConfig::fill_layoutA(params.shape),
        static_cast<const Bf16*>(p.b),
        stride_b,
        static_cast<const typename Collective::ElementE*>(p.positions),
        among_atoms(Collective::SparseConfig::fill_layoutE(params.shape), p.whole_atoms_down)};
    params.operands = Collective::to_underlying_arguments(params.shape, operands, nullptr);
    typename Scheduler::Arguments turns;
    turns.max_swizzle_size = order.swizzle;
    turns.raster_order = order.along_n ? Scheduler::RasterOrderOptions::AlongN
                                       : Scheduler::RasterOrderOptions::AlongM;
    cutlass::KernelHardwareInfo hardware;
    hardware.sm_count = num_sms;
    params.scheduler = Scheduler::to_underlying_arguments(
        params.shape, typename Kernel::Tile{}, typename Kernel::Cluster{}, hardware, turns);
    grid = Scheduler::get_grid_shape(params.scheduler, params.shape, typename Kernel::Tile{},
                                     typename Kernel::Cluster{}, hardware, turns);
    auto& results = params.results;
    results.bias = static_cast<const Bf16*>(p.bias);
    results.rows = m;
    const void* before = p.before != nullptr ? p.before : p.d;
    constexpr int kChunk = Kernel::Finisher::kChunk;
    return encode_chunks(results.d, p.d, p.m, p.n, p.pitch_of_d(), kChunk) &&
           encode_chunks(results.before, before, p.m, p.n, p.pitch_of_before(), kChunk);
  }

  static std::int64_t workspace(const SparseProduct& product, SparseOrder, int) {
    const bool fits = product.m % 8 == 0 && product.k % 16 == 0 && product.pitch_of_d() % 8 == 0 &&
                      product.pitch_of_before() % 8 == 0;
    return fits && product.addend == nullptr ? 0 : -1;
  }

  static bool launch(const SparseProduct& product, SparseOrder order, int num_sms, std::byte*,
                     cudaStream_t stream) {
    typename Kernel::Params params;
    dim3 grid;
    if (!make_params(product, order, num_sms, params, grid)) return false;
    constexpr int kBytes = static_cast<int>(sizeof(typename Kernel::Storage));
    static_assert(kBytes <= 227 * 1024);
    const auto kernel = overlapped_kernel<kEpilogue>;
    // Of the device that is current.
    const bool has_memory =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) ==
        cudaSuccess;
    void* arguments[] = {&params};
    return has_memory &&
           cutlass::ClusterLauncher::launch(grid, dim3(2, 1, 1), dim3(Kernel::kThreads), kBytes,
                                            stream, reinterpret_cast<const void*>(kernel),
                                            arguments) == cutlass::Status::kSuccess;
  }
};

}  // namespace twill::cuda::sparse
