// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse_overlapped.cuh that are summed up, on their way to memory: two results in a register, chunk
// by chunk through shared memory to the copy engine, with what the epilogue makes of them.
#pragma once

#include <cutlass/arch/barrier.h>
#include <cutlass/cutlass.h>
#include <cutlass/numeric_types.h>
#include <cute/arch/copy_sm90_desc.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/pointer.hpp>

#include "backends/cuda/packing/packed_layout.h"
#include "backends/cuda/sparse_products/sparse_epilogue.cuh"
#include "backends/cuda/sparse_products/sparse_product.h"

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

// 64 rows of a tile. Of 16 columns a thread holds four pairs: two neighbouring columns of rows r and r + 8, and
// the same eight columns on.
template <SparseEpilogue kEpilogue>
class Finisher {
 public:
  static constexpr bool kStoresBefore = activates(kEpilogue) && !is_gated(kEpilogue);
  static constexpr bool kTimesSlope = kEpilogue == SparseEpilogue::kTimesSlope;
  static_assert(kStoresBefore || kTimesSlope || kEpilogue == SparseEpilogue::kSum);
  // Columns that are stored at once, of the result and of what is before it: 16 KB of shared memory.
  // Slopes come into the chunk that they are multiplied in, three chunks ahead: memory takes two K tiles.
  static constexpr int kMatrices = kStoresBefore ? 2 : 1, kTurns = kTimesSlope ? 4 : 2;
  static constexpr int kChunk = 64 / (kMatrices * kTurns), kChunks = kTileN / kChunk;
  static constexpr int kChunkBytes = kHalfM * kChunk * 2;

  struct Params {
    CUtensorMap d, before;
    const cutlass::bfloat16_t* bias;
    int rows;
  };

  // Of either half.
  struct Storage {
    alignas(1024) unsigned char chunks[2][kTurns][kMatrices][kChunkBytes];
    cutlass::arch::ClusterTransactionBarrier slopes[2][kTurns];  // have come into the chunks
  };

  // By one thread, before the block's first meeting.
  static __device__ __forceinline__ void prepare(Storage& storage) {
    if constexpr (kTimesSlope) {
      for (auto& half : storage.slopes)
        for (auto& barrier : half) barrier.init(1);
      cutlass::arch::fence_barrier_init();
    }
  }

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
      bias[i] = params_.bias != nullptr && row < params_.rows
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

  // Of the first tile: slopes to begin with. Those of others are loaded as chunks before are finished.
  __device__ __forceinline__ void begin(TileAt at) const {
    if constexpr (kTimesSlope) {
      if (!is_first_) return;
      CUTLASS_PRAGMA_UNROLL
      for (int chunk = 0; chunk < kTurns - 1; ++chunk) load_slopes(at, chunk);
    }
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
        // Two by two, in this order: ptxas spills 24 bytes, 152 in the other, 328 with four at once.
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < 4; i += 2) {
          unsigned y[2], slopes[2];
          activate_with_slope(x[i], y[0], slopes[0]);
          activate_with_slope(x[i + 1], y[1], slopes[1]);
          store_two_matrices(address(0) + 4 * i * 128, y);
          store_two_matrices(address(1) + 4 * i * 128, slopes);
        }
      } else if constexpr (kStoresBefore) {
        store_matrices(address(1), x);
        const unsigned y[4] = {activated(x[0]), activated(x[1]), activated(x[2]), activated(x[3])};
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

}  // namespace twill::cuda::sparse
