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
// 1.2 % by that at width 768, 0.6 % at 1024, 0.3 to 0.4 % at 1600 and 2048.
//
// The activation is one of a number as it is stored: the same bits as product and activation one after the
// other. An addend would be rounded twice: other ways add it.
#pragma once

#include <cutlass/cluster_launch.hpp>

#include "backends/cuda/sparse_product.cuh"

namespace twill::cuda::sparse {

inline constexpr int kGroup = 128;  // threads of a warpgroup
inline constexpr int kTileM = 128, kTileN = 256, kHalfM = 64;
inline constexpr int kHeld = kTileN / 4;  // pairs of results, of a thread

// What is written to shared memory before is seen by the copy engine.
__device__ __forceinline__ void fence_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// All threads of a warpgroup.
__device__ __forceinline__ void meet(int half) {
  asm volatile("bar.sync %0, 128;" ::"r"(8 + half) : "memory");
}

// Four 8 x 8 matrices, transposed: as accumulators hold them along N, in memory they lie along M.
__device__ __forceinline__ void store_matrices(unsigned address, const unsigned* m) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3])
      : "memory");
}
// The first two of four, at the addresses of the lower half of the lanes.
__device__ __forceinline__ void store_two_matrices(unsigned address, const unsigned* m) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(m[0]), "r"(m[1])
               : "memory");
}
// What store_matrices() writes.
__device__ __forceinline__ void load_matrices(unsigned address, unsigned* m) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ unsigned rounded_pair(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ float low_of(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_of(unsigned pair) {
  return __uint_as_float(pair & 0xffff'0000u);
}

__device__ __forceinline__ unsigned product_of_pairs(unsigned x, unsigned y) {
  unsigned pair;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(x), "r"(y));
  return pair;
}

struct TileAt {
  int m, n;  // first row and column
};

template <SparseEpilogue kEpilogue>
struct Overlapped {
  static constexpr bool kStoresBefore = activates(kEpilogue) && !is_gated(kEpilogue);
  static constexpr bool kTimesSlope = kEpilogue == SparseEpilogue::kTimesSlope;
  static_assert(kStoresBefore || kTimesSlope || kEpilogue == SparseEpilogue::kSum);
  // Columns that are stored at once, of the result and of what is before it: 16 KB of shared memory.
  // Slopes come into the chunk that they are multiplied in, three chunks ahead: memory takes two K tiles.
  static constexpr int kMatrices = kStoresBefore ? 2 : 1, kTurns = kTimesSlope ? 4 : 2;
  static constexpr int kChunk = 64 / (kMatrices * kTurns), kChunks = kTileN / kChunk;
  static constexpr int kChunkBytes = kHalfM * kChunk * 2;
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
    // Of either half, in turn.
    alignas(1024) unsigned char chunks[2][kTurns][kMatrices][kChunkBytes];
    alignas(1024) typename Collective::TensorStorage operands;
    alignas(16) typename Collective::PipelineStorage pipeline;
    cutlass::arch::ClusterTransactionBarrier slopes[2][kTurns];  // have come into the chunks
  };

  struct Params {
    cute::tuple<int, int, int, int> shape;
    typename Collective::Params operands;
    typename Scheduler::Params scheduler;
    CUtensorMap d, before;
    const Bf16* bias;
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

  // 64 rows of a tile that is summed up, on their way to memory. Of 16 columns a thread holds four pairs:
  // two neighbouring columns of rows r and r + 8, and the same eight columns on.
  class Finisher {
   public:
    __device__ Finisher(const Params& params, Storage& storage, int half)
        : params_(params),
          chunks_(storage.chunks[half]),
          slopes_(storage.slopes[half]),
          half_(half),
          is_first_(threadIdx.x % kGroup == 0) {
      const int lane = static_cast<int>(threadIdx.x) % 32,
                warp = static_cast<int>(threadIdx.x) / 32 % 4;
      const int piece = 2 * warp + lane / 8 % 2, column = lane / 16 * 8 + lane % 8;
      // A column's 128 bytes, pieces of 16 exchanged as the copy engine's swizzle has them.
      offset_ = static_cast<unsigned>(column * 128 + ((piece ^ (column & 7)) << 4));
      row_ = 16 * warp + lane / 4;
    }

    // To be called early: it comes from memory.
    __device__ __forceinline__ void load_bias(TileAt at, float (&bias)[2]) const {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int row = at.m + half_ * kHalfM + row_ + 8 * i;
        bias[i] = params_.bias != nullptr && row < cute::get<0>(params_.shape)
                      ? static_cast<float>(params_.bias[row])
                      : 0.0f;
      }
    }

    template <class Sums>
    __device__ __forceinline__ void hold(const Sums& sums, TileAt at, const float (&bias)[2]) {
      at_ = at;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < kHeld; ++i)
        held_[i] = rounded_pair(sums(2 * i) + bias[i % 2], sums(2 * i + 1) + bias[i % 2]);
    }

    // The slopes that a first tile begins with; those of others are loaded as chunks before are finished.
    __device__ __forceinline__ void load_first_slopes(TileAt at) const {
      if (!is_first_) return;
      CUTLASS_PRAGMA_UNROLL
      for (int chunk = 0; chunk < kTurns - 1; ++chunk) load_slopes(at, chunk);
    }

    // Chunks in order. `next` is the tile behind the one that is held, where there is one.
    __device__ __forceinline__ void finish(int chunk, const TileAt* next) const {
      unsigned char(&memory)[kMatrices][kChunkBytes] = chunks_[chunk % kTurns];
      if constexpr (kTimesSlope) slopes_[chunk % kTurns].wait(chunk / kTurns % 2);
      CUTLASS_PRAGMA_UNROLL
      for (int column = 0; column < kChunk; column += 16) {
        const unsigned* x = held_ + (chunk * kChunk + column) / 4;
        const auto address = [&](int matrix) {
          return cute::cast_smem_ptr_to_uint(memory[matrix] + column * 128) + offset_;
        };
        if constexpr (leaves_slope(kEpilogue)) {
          // Two by two: all at once are more than a thread has registers for.
          CUTLASS_PRAGMA_UNROLL
          for (int i = 0; i < 4; i += 2) {
            unsigned y[2], slopes[2];
            activate_with_slope(x[i], y[0], slopes[0]);
            activate_with_slope(x[i + 1], y[1], slopes[1]);
            store_two_matrices(address(1) + 4 * i * 128, slopes);
            store_two_matrices(address(0) + 4 * i * 128, y);
          }
        } else if constexpr (kStoresBefore) {
          store_matrices(address(1), x);
          const unsigned y[4] = {activated(x[0]), activated(x[1]), activated(x[2]),
                                 activated(x[3])};
          store_matrices(address(0), y);
        } else if constexpr (kTimesSlope) {
          unsigned y[4];
          load_matrices(address(0), y);
          CUTLASS_PRAGMA_UNROLL
          for (int i = 0; i < 4; ++i) y[i] = product_of_pairs(x[i], y[i]);
          store_matrices(address(0), y);
        } else {
          store_matrices(address(0), x);
        }
      }
      fence_for_copies();
      // The chunk before has left shared memory: the next may be written behind the meeting.
      if (is_first_) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      meet(half_);
      if (!is_first_) return;
      store(params_.d, memory[0], chunk);
      if constexpr (kStoresBefore) store(params_.before, memory[1], chunk);
      cute::tma_store_arrive();
      if constexpr (kTimesSlope) {
        const int ahead = chunk + kTurns - 1;
        if (ahead < kChunks)
          load_slopes(at_, ahead);
        else if (next != nullptr)
          load_slopes(*next, ahead - kChunks);
      }
    }

    __device__ __forceinline__ void finish(const TileAt* next) const {
      CUTLASS_PRAGMA_UNROLL
      for (int chunk = 0; chunk < kChunks; ++chunk) finish(chunk, next);
    }

    __device__ __forceinline__ void wait_for_stores() const {
      if (is_first_) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }

   private:
    // Results stream through: they should not drive operands out of the L2.
    __device__ __forceinline__ void store(const CUtensorMap& map, const unsigned char* from,
                                          int chunk) const {
      asm volatile(
          "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3}], "
          "[%1], %4;" ::"l"(&map),
          "r"(cute::cast_smem_ptr_to_uint(from)), "r"(at_.m + half_ * kHalfM),
          "r"(at_.n + chunk * kChunk),
          "l"(static_cast<std::uint64_t>(cute::TMA::CacheHintSm90::EVICT_FIRST))
          : "memory");
    }

    __device__ __forceinline__ void load_slopes(TileAt at, int chunk) const {
      auto& barrier = slopes_[chunk % kTurns];
      barrier.arrive_and_expect_tx(kChunkBytes);
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
          ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
              cute::cast_smem_ptr_to_uint(chunks_[chunk % kTurns][0])),
          "l"(&params_.before), "r"(at.m + half_ * kHalfM), "r"(at.n + chunk * kChunk),
          "r"(cute::cast_smem_ptr_to_uint(&barrier)),
          "l"(static_cast<std::uint64_t>(cute::TMA::CacheHintSm90::EVICT_FIRST))
          : "memory");
    }

    static __device__ __forceinline__ unsigned activated(unsigned x) {
      using Function = FunctionOf<kEpilogue>;
      return rounded_pair(Function::value(low_of(x)), Function::value(high_of(x)));
    }

    static __device__ __forceinline__ void activate_with_slope(unsigned x, unsigned& y,
                                                               unsigned& slopes) {
      const ValueAndSlope low = FunctionOf<kEpilogue>::both(low_of(x)),
                          high = FunctionOf<kEpilogue>::both(high_of(x));
      y = rounded_pair(low.value, high.value);
      slopes = rounded_pair(low.slope, high.slope);
    }

    const Params& params_;
    unsigned char (&chunks_)[kTurns][kMatrices][kChunkBytes];
    cutlass::arch::ClusterTransactionBarrier (&slopes_)[kTurns];
    int half_;
    bool is_first_;
    unsigned offset_;
    int row_;
    TileAt at_{};
    unsigned held_[kHeld];
  };

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
    if constexpr (kTimesSlope && kBeside == Beside::kNothingHeld) finisher.load_first_slopes(at);
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
    Finisher finisher(params, storage, half);
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
    if (kTimesSlope && threadIdx.x == 0) {
      for (auto& half : storage.slopes)
        for (auto& barrier : half) barrier.init(1);
      cutlass::arch::fence_barrier_init();
    }
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
    params.bias = static_cast<const Bf16*>(p.bias);
    const void* before = p.before != nullptr ? p.before : p.d;
    return encode_chunks(params.d, p.d, p.m, p.n, p.pitch_of_d(), Kernel::kChunk) &&
           encode_chunks(params.before, before, p.m, p.n, p.pitch_of_before(), Kernel::kChunk);
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
