// SPDX-License-Identifier: Apache-2.0
// A way of sparse_product.h out of CUTLASS's sparse collective for Hopper: TMA loads, wgmma.sp, a
// persistent grid. K tiles of 64 entries, which packed_layout.h is made for.
#pragma once

#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include <type_traits>

#include "backends/cuda/packing/packed_layout.h"
#include "backends/cuda/sparse_products/sparse_epilogue.cuh"
#include "backends/cuda/sparse_products/sparse_gated_epilogue.cuh"
#include "backends/cuda/sparse_products/sparse_mainloop.cuh"
#include "backends/cuda/sparse_products/sparse_product.h"

namespace twill::cuda {
namespace sparse {

using cute::_1;
using cute::_128;
using cute::_2;
using cute::_256;
using cute::_64;
using cute::Int;
using cute::Shape;
using RowMajor = cutlass::layout::RowMajor;

// f of a number as it is stored, so that what recomputes it from there finds the same bits.
template <class F>
struct Stored {
  template <class T>
  struct Function {
    __device__ T operator()(const T& z) const {
      T y;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < T::kElements; ++i) y[i] = F::value(static_cast<float>(Bf16(z[i])));
      return y;
    }
  };
};

template <class F>
struct Slope {
  template <class T>
  struct Function {
    __device__ T operator()(const T& dy, const T& z) const {
      T y;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < T::kElements; ++i) y[i] = plain_gradient<F>(z[i], dy[i]);
      return y;
    }
  };
};

template <SparseEpilogue kEpilogue>
constexpr auto operation_of() {
  namespace fusion = cutlass::epilogue::fusion;
  if constexpr (kEpilogue == SparseEpilogue::kWeightGradient) {
    return std::type_identity<fusion::LinearCombination<float, float, float, float>>();
  } else if constexpr (kEpilogue == SparseEpilogue::kSum) {
    return std::type_identity<fusion::LinCombPerRowBias<Bf16, float, Bf16, Bf16, float>>();
  } else {
    using F = FunctionOf<kEpilogue>;
    if constexpr (is_gated(kEpilogue))
      return std::type_identity<GatedOperation<F>>();
    else if constexpr (multiplies_by_slope(kEpilogue))
      return std::type_identity<fusion::LinCombDeEltAct<ColumnMajor, Slope<F>::template Function,
                                                        Bf16, float, Bf16, void, float>>();
    else
      return std::type_identity<fusion::LinCombPerRowBiasEltActAux<
          ColumnMajor, Stored<F>::template Function, Bf16, float, Bf16, Bf16, void, float>>();
  }
}

// Positions of some rows of a matrix: its atoms lie as far apart along K as the whole one's.
template <class Layout>
Layout among_atoms(Layout layout, std::int64_t whole_atoms_down) {
  auto stride = layout.stride();
  if (whole_atoms_down != 0) cute::get<1, 1>(stride) = whole_atoms_down * kAtom * kAtom;
  return Layout(layout.shape(), stride);
}

template <SparseEpilogue kEpilogue, class Tile, class Cluster,
          class Scheduler = cutlass::gemm::PersistentScheduler>
struct Way {
  static constexpr bool kIsGradient = kEpilogue == SparseEpilogue::kWeightGradient;
  static constexpr bool kIsGated = is_gated(kEpilogue);
  static constexpr bool kHasBefore = activates(kEpilogue) || multiplies_by_slope(kEpilogue);
  static constexpr bool kHasBias = kEpilogue == SparseEpilogue::kSum || activates(kEpilogue);
  using Arch = cutlass::arch::Sm90;
  using Cores = cutlass::arch::OpClassSparseTensorOp;
  using LayoutA = std::conditional_t<kIsGradient, ColumnMajor, RowMajor>;
  using LayoutB = std::conditional_t<kIsGradient, RowMajor, ColumnMajor>;
  using LayoutD = std::conditional_t<kIsGradient, RowMajor, ColumnMajor>;
  using ElementD = std::conditional_t<kIsGradient, float, Bf16>;
  // What is added, or a gated activation's value.
  using ElementC = std::conditional_t<kHasBefore && !kIsGated, void, ElementD>;
  // A gradient goes from registers to memory, four lanes to a sector of 32 bytes: through shared memory
  // f32 would take the place of two stages of operands, which costs 2 to 20 %.
  using EpilogueSchedule = std::conditional_t<kIsGradient, cutlass::epilogue::NoSmemWarpSpecialized,
                                              cutlass::epilogue::TmaWarpSpecializedCooperative>;
  static constexpr int kAlignD = 16 / static_cast<int>(sizeof(ElementD));

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      Arch, Cores, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
      ElementC, LayoutD, kAlignD, ElementD, LayoutD, kAlignD, EpilogueSchedule,
      typename decltype(operation_of<kEpilogue>())::type>::CollectiveOp;
  using Collective = typename cutlass::gemm::collective::CollectiveBuilder<
      Arch, Cores, Bf16, LayoutA, 16, Bf16, LayoutB, 8, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
  // A queue of products gains 2 to 7 % with two instructions to a K tile, and loses as much with the four
  // of 256 rows.
  using Mainloop =
      std::conditional_t<cute::size<0>(Tile{}) == 128, QueuedMainloop<Collective>, Collective>;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue,
                                                      Scheduler>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
  using Arguments = typename Gemm::Arguments;

  // Of an (inside, outside) matrix without gaps.
  template <class Stride>
  static Stride packed(std::int64_t length) {
    Stride stride{};
    if constexpr (std::is_integral_v<std::decay_t<decltype(cute::get<0>(stride))>>)
      cute::get<0>(stride) = length;
    else
      cute::get<1>(stride) = length;
    return stride;
  }

  static Arguments arguments(const SparseProduct& p, SparseOrder order, int num_sms) {
    using Config = typename Mainloop::SparseConfig;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    const auto shape = cute::make_tuple(m, n, k, 1);
    const std::int64_t row_of_b = kIsGradient ? p.n : p.k,
                       row_of_d = kIsGradient ? p.n : p.pitch_of_d();
    Arguments a{cutlass::gemm::GemmUniversalMode::kGemm,
                {m, n, k, 1},
                {static_cast<const Bf16*>(p.values), Config::fill_layoutA(shape),
                 static_cast<const Bf16*>(p.b), packed<typename Kernel::StrideB>(row_of_b),
                 static_cast<const typename Mainloop::ElementE*>(p.positions),
                 among_atoms(Config::fill_layoutE(shape), p.whole_atoms_down)},
                {{},
                 nullptr,
                 packed<typename Kernel::StrideC>(kIsGated ? p.pitch_of_before() : row_of_d),
                 static_cast<ElementD*>(p.d),
                 packed<typename Kernel::StrideD>(row_of_d)}};
    auto& fusion = a.epilogue.thread;
    if constexpr (kHasBias) fusion.bias_ptr = static_cast<const Bf16*>(p.bias);
    if constexpr (kHasBefore) {
      fusion.aux_ptr = static_cast<Bf16*>(p.before);
      fusion.dAux = packed<std::decay_t<decltype(fusion.dAux)>>(p.pitch_of_before());
      if constexpr (kIsGated) a.epilogue.ptr_C = static_cast<const Bf16*>(p.value);
    } else {
      // A descriptor wants an address also where nothing is read.
      fusion.beta = p.addend != nullptr ? 1.0f : 0.0f;
      a.epilogue.ptr_C = static_cast<const ElementD*>(p.addend != nullptr ? p.addend : p.d);
    }
    using Params = cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90Params;
    a.scheduler.max_swizzle_size = order.swizzle;
    a.scheduler.raster_order =
        order.along_n ? Params::RasterOrderOptions::AlongN : Params::RasterOrderOptions::AlongM;
    a.hw_info.sm_count = num_sms;
    return a;
  }

  static std::int64_t workspace(const SparseProduct& product, SparseOrder order, int num_sms) {
    SparseProduct whole = product;
    whole.whole_atoms_down = 0;  // the check knows no matrices that are rows of another
    const Arguments a = arguments(whole, order, num_sms);
    if (Gemm::can_implement(a) != cutlass::Status::kSuccess) return -1;
    return static_cast<std::int64_t>(Gemm::get_workspace_size(a));
  }

  static bool launch(const SparseProduct& product, SparseOrder order, int num_sms,
                     std::byte* workspace, cudaStream_t stream) {
    Gemm gemm;
    return gemm.initialize(arguments(product, order, num_sms), workspace, stream) ==
               cutlass::Status::kSuccess &&
           gemm.run(stream) == cutlass::Status::kSuccess;
  }
};

template <class AWay>
constexpr SparseWay way(const char* name) {
  return {.name = name,
          .workspace = AWay::workspace,
          .launch = AWay::launch,
          .oldest_generation = 90,
          .latest_generation = 90};
}

}  // namespace sparse
}  // namespace twill::cuda
