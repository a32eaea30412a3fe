// SPDX-License-Identifier: Apache-2.0
// A gated activation as an epilogue of CUTLASS's collectives for Hopper, out of its visitors:
//
//   aux = accumulator + bias of the row,  D = C · f(aux as stored)
//
// C is the value. It comes the way a source does, so its place in shared memory is D's afterwards.
#pragma once

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>

namespace twill::cuda::sparse {

using Bf16 = cutlass::bfloat16_t;
using ColumnMajor = cutlass::layout::ColumnMajor;

template <class F>
struct Gated {
  template <class T>
  struct Function {
    __device__ T operator()(const T& gate, const T& value) const {
      T y;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < T::kElements; ++i)
        y[i] = F::value(static_cast<float>(Bf16(gate[i]))) * value[i];
      return y;
    }
  };
};

// What the builder is told: one auxiliary result, laid out as D.
template <class F>
struct GatedOperation : cutlass::epilogue::fusion::FusionOperation {
  using ElementOutput = Bf16;
  using ElementCompute = float;
  using ElementSource = Bf16;
  using ElementBias = Bf16;
  using ElementAux = Bf16;
  using GmemLayoutTagAux = ColumnMajor;
  static constexpr int AlignmentAux = 8;
  static constexpr int AlignmentBias = 8;
  static constexpr bool IsSourceSupported = true;
  static constexpr bool IsPerRowBiasSupported = true;
  static constexpr bool IsEltActSupported = true;
  static constexpr bool IsAuxOutSupported = true;
};

using GatedStride = cutlass::gemm::TagToStrideC_t<ColumnMajor>;
inline constexpr auto kGatedRounding = cutlass::FloatRoundStyle::round_to_nearest;

template <class F, int kStages, class CtaTile, class EpilogueTile, class SmemLayoutAtom,
          class CopyOp>
using GatedTree = cutlass::epilogue::fusion::Sm90EVT<
    cutlass::epilogue::fusion::Sm90Compute<Gated<F>::template Function, Bf16, float,
                                           kGatedRounding>,
    cutlass::epilogue::fusion::Sm90EVT<
        cutlass::epilogue::fusion::Sm90AuxStore<kStages, EpilogueTile, Bf16, kGatedRounding,
                                                GatedStride, SmemLayoutAtom, CopyOp, 8>,
        cutlass::epilogue::fusion::Sm90EVT<
            cutlass::epilogue::fusion::Sm90Compute<cutlass::plus, float, float, kGatedRounding>,
            cutlass::epilogue::fusion::Sm90AccFetch,
            cutlass::epilogue::fusion::Sm90ColBroadcast<
                0, CtaTile, Bf16, float, cute::Stride<cute::_1, cute::_0, std::int64_t>, 8>>>,
    cutlass::epilogue::fusion::Sm90SrcFetch<Bf16>>;

}  // namespace twill::cuda::sparse

namespace cutlass::epilogue::fusion {

template <int kStagesC, int kStagesD, int kFragmentSize, bool kReuseSmemC, bool kDelayTmaStore,
          class F, class CtaTile, class EpilogueTile, class SmemLayoutAtom, class CopyOp>
struct FusionCallbacks<
    Sm90TmaWarpSpecialized<kStagesC, kStagesD, kFragmentSize, kReuseSmemC, kDelayTmaStore>,
    twill::cuda::sparse::GatedOperation<F>, CtaTile, EpilogueTile, SmemLayoutAtom, CopyOp>
    : twill::cuda::sparse::GatedTree<F, kStagesD, CtaTile, EpilogueTile, SmemLayoutAtom, CopyOp> {
  using Impl =
      twill::cuda::sparse::GatedTree<F, kStagesD, CtaTile, EpilogueTile, SmemLayoutAtom, CopyOp>;
  using Operation = twill::cuda::sparse::GatedOperation<F>;

  struct Arguments {
    const twill::cuda::sparse::Bf16* bias_ptr = nullptr;
    twill::cuda::sparse::Bf16* aux_ptr = nullptr;
    twill::cuda::sparse::GatedStride dAux = {};

    // In the tree's order, the arguments of a node behind those of its children.
    operator typename Impl::Arguments() const {
      return {{{{}, {bias_ptr, twill::cuda::sparse::Bf16(0), {}}, {}}, {aux_ptr, dAux}}, {}, {}};
    }
  };

  using Impl::Impl;
};

}  // namespace cutlass::epilogue::fusion
