// SPDX-License-Identifier: Apache-2.0
// The products of CUTLASS's sparse collective one behind the other. As it comes, a warpgroup waits for the
// two instructions of a K tile before it asks for the next one: it has to, for the positions of A lie in
// registers that the instructions read. Both multiplying warpgroups wait for the same tile, so tensor
// cores stand still at every one. Here positions have two sets of registers, and the instructions of a
// tile are issued while those of the tile before run; only then is that tile given back.
//
// A thread's positions of both instructions are eight neighbouring bytes of an atom (packed_layout.h).
#pragma once

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/gemm/collective/collective_mma.hpp>

#include <cstddef>
#include <cstdint>

#include "backends/cuda/packing/packed_layout.h"

namespace twill::cuda::sparse {

// K tiles of one tile of D, in one warpgroup: issue() with the two sets of positions in turn, release_done()
// after each, drain() at the end.
template <class Collective>
class ProductQueue {
 public:
  using Pipeline = typename Collective::MainloopPipeline;
  using PipelineState = typename Collective::PipelineState;
  using TiledMma = typename Collective::TiledMma;
  using Operands = typename Collective::TensorStorage;

  static constexpr int kTileM = cute::size<0>(typename Collective::TileShape{});
  static constexpr int kTileK = cute::size<2>(typename Collective::TileShape{});
  static constexpr int kGroups = cute::size(TiledMma{}) / 128;
  static constexpr int kSlabs = kTileM / (64 * kGroups);  // of 64 rows, of one warpgroup
  static constexpr int kAtomBytes = static_cast<int>(kAtomHalves) * 2;
  static constexpr int kStageBytes = kTileM / static_cast<int>(kAtom) * kAtomBytes;
  static_assert(kTileK == kAtom && Collective::DispatchPolicy::Stages >= 3);

  using Positions = decltype(cute::make_tensor<std::uint32_t>(
      cute::Shape<cute::_1, cute::Int<kSlabs>, cute::Int<kTileK / 32>>{}));

  // `thread` of all that multiply; `next` is the first K tile.
  __device__ ProductQueue(Pipeline& pipeline, PipelineState next, Operands& operands, int thread)
      : pipeline_(pipeline),
        operands_(operands),
        next_(next),
        oldest_(next),
        group_(__shfl_sync(0xffff'ffff, thread / 128, 0)),
        positions_(reinterpret_cast<const std::byte*>(&operands.smem_E) + group_ * kAtomBytes +
                   bytes_before(thread)) {
    tiled_mma_.accumulate_ = cute::GMMA::ScaleOut::Zero;
  }

  // Waits for the next K tile. The set is not in use: it was not that of the call before, or the queue
  // was drained since.
  template <class Sums>
  __device__ __forceinline__ void issue(Positions& positions, Sums& sums) {
    using namespace cute;
    pipeline_.consumer_wait(next_, pipeline_.consumer_try_wait(next_));
    const int stage = static_cast<int>(next_.index());
    read(positions, positions_ + stage * kStageBytes);
    const auto slice = tiled_mma_.get_thread_slice(group_ * 128);
    const Tensor a = slice.make_fragment_A(slice.partition_A(
        make_tensor(make_smem_ptr(operands_.smem_A.begin()), typename Collective::SmemLayoutA{})));
    const Tensor b = slice.make_fragment_B(slice.partition_B(
        make_tensor(make_smem_ptr(operands_.smem_B.begin()), typename Collective::SmemLayoutB{})));
    warpgroup_fence_operand(sums);
    warpgroup_arrive();
    CUTLASS_PRAGMA_UNROLL
    for (int k = 0; k < kTileK / 32; ++k) {
      cute::gemm(tiled_mma_, make_zip_tensor(a(_, _, k, stage), positions(_, _, k)),
                 b(_, _, k, stage), sums);
      tiled_mma_.accumulate_ = GMMA::ScaleOut::One;
    }
    warpgroup_commit_batch();
    ++next_;
  }

  // All but the K tile that was issued last.
  template <class Sums>
  __device__ __forceinline__ void release_done(Sums& sums) {
    cute::warpgroup_wait<1>();
    cute::warpgroup_fence_operand(sums);
    if (next_.count() - oldest_.count() > 1) release();
  }

  template <class Sums>
  __device__ __forceinline__ void drain(Sums& sums) {
    cute::warpgroup_wait<0>();
    cute::warpgroup_fence_operand(sums);
    while (oldest_.count() != next_.count()) release();
  }

  // As many K tiles as are left, from the first set on.
  template <class Sums>
  __device__ __forceinline__ void issue_all(Positions& even, Positions& odd, Sums& sums, int left) {
    CUTLASS_PRAGMA_NO_UNROLL
    for (; left >= 2; left -= 2) {
      issue(even, sums);
      release_done(sums);
      issue(odd, sums);
      release_done(sums);
    }
    if (left == 1) {
      issue(even, sums);
      release_done(sums);
    }
  }

  __device__ PipelineState next() const { return next_; }

 private:
  // Sixteen rows of a slab are a warp's; four lanes have two of them, of which the first two supply
  // their positions, the others repeat them.
  static __device__ __forceinline__ int bytes_before(int thread) {
    const int lane = thread % 32, row = thread / 32 % 4 * 16 + lane / 4, k = lane % 2 * 16;
    return static_cast<int>(word_in_atom(row, k)) * 2;
  }
  static_assert(word_in_atom(0, 32) == 2 && word_in_atom(8, 0) == 1, "eight bytes a thread");

  static __device__ __forceinline__ void read(Positions& positions, const std::byte* of_thread) {
    CUTLASS_PRAGMA_UNROLL
    for (int slab = 0; slab < kSlabs; ++slab) {
      const uint2 both = *reinterpret_cast<const uint2*>(of_thread + slab * kGroups * kAtomBytes);
      positions(0, slab, 0) = both.x;
      positions(0, slab, 1) = both.y;
    }
  }

  __device__ __forceinline__ void release() {
    pipeline_.consumer_release(oldest_);
    ++oldest_;
  }

  TiledMma tiled_mma_;
  Pipeline& pipeline_;
  Operands& operands_;
  PipelineState next_, oldest_;
  int group_;
  const std::byte* positions_;
};

// The collective, so that CUTLASS's kernel multiplies in this way.
template <class Collective>
struct QueuedMainloop : Collective {
  using Queue = ProductQueue<Collective>;

  template <class Sums>
  __device__ void mma(typename Queue::Pipeline pipeline, typename Queue::PipelineState next,
                      Sums& sums, int k_tiles, int thread, typename Queue::Operands& operands,
                      const typename Collective::Params&) {
    Queue queue(pipeline, next, operands, thread);
    typename Queue::Positions even, odd;
    queue.issue_all(even, odd, sums, k_tiles);
  }

  // Of the K tile that mma() left.
  __device__ void mma_tail(typename Queue::Pipeline pipeline, typename Queue::PipelineState last,
                           int k_tiles) {
    last.advance(k_tiles - 1);
    cute::warpgroup_wait<0>();
    pipeline.consumer_release(last);
  }
};

}  // namespace twill::cuda::sparse
