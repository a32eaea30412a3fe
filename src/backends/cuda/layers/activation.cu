// SPDX-License-Identifier: Apache-2.0
// Activations on CUDA: a persistent grid walks over packs of 16 bytes; a thread has three or four
// loads in flight before it computes (48 to 64 KB per multiprocessor, twice what the latency of
// 4.3 TB/s needs).
//
// Bound by memory: bf16 moves 4 B per element of y forward (gated 6), 6 B backward (gated 10), and
// has time for 27 instructions in 4 B; gelu_new takes 14 of them. Elements are independent:
// any grid gives the same bits. Where a row is no whole number of packs or a pointer is not aligned
// to 16 bytes, a pack is one element.
#include "ops/layers/activation.h"

#include "backends/cuda/device/layers/activation_functions.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/layers/activation_kinds.cuh"
#include "backends/cuda/layers/activation_slope.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 4;  // 64 registers a thread; all blocks of the grid are resident

// The packs of y, and what one step of the grid means in rows and columns of it. A row of x holds
// cols more elements than one of y where activations are gated.
struct Cut {
  std::int64_t packs;
  std::int64_t cols;                       // elements in a row of y
  std::int64_t row_packs;                  // packs in a row of y
  std::int64_t stride;                     // threads in the grid
  std::int64_t stride_rows, stride_packs;  // stride = stride_rows row_packs + stride_packs
};

// A pack of y, and for gated activations its row: dividing once per thread, not once per pack.
template <bool kGated, int V>
class Place {
 public:
  __device__ __forceinline__ explicit Place(const Cut& cut)
      : pack_(std::int64_t{blockIdx.x} * kThreads + threadIdx.x) {
    if constexpr (kGated) {
      row_ = pack_ / cut.row_packs;
      in_row_ = pack_ - row_ * cut.row_packs;
    }
  }

  __device__ __forceinline__ std::int64_t pack() const { return pack_; }
  __device__ __forceinline__ std::int64_t in_y() const { return pack_ * V; }
  // Of the value; the gate lies cols behind it.
  __device__ __forceinline__ std::int64_t in_x(const Cut& cut) const {
    return kGated ? pack_ * V + row_ * cut.cols : pack_ * V;
  }

  __device__ __forceinline__ void advance(const Cut& cut) {
    pack_ += cut.stride;
    if constexpr (kGated) {
      row_ += cut.stride_rows;
      in_row_ += cut.stride_packs;
      if (in_row_ >= cut.row_packs) {
        in_row_ -= cut.row_packs;
        ++row_;
      }
    }
  }

 private:
  std::int64_t pack_;
  std::int64_t row_ = 0, in_row_ = 0;
};

// Two neighbours of a row as the word they are stored in; one element of f32.
__device__ __forceinline__ unsigned word_of(const float* from, const __nv_bfloat16*) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(from[0], from[1]);
  return *reinterpret_cast<const unsigned*>(&pair);
}
__device__ __forceinline__ unsigned word_of(const float* from, const float*) {
  return __float_as_uint(from[0]);
}

// store() of vec.cuh, but 16 bytes are one access, by name: of two stores in a row the compiler
// makes eight of two bytes of the first.
template <int V, class T>
__device__ __forceinline__ void store_whole(T* to, const float (&from)[V]) {
  if constexpr (V == 1) {
    *to = from_f32<T>(from[0]);
  } else {
    constexpr int kStep = V / 4;
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(word_of(from, to)), "r"(word_of(from + kStep, to)),
                 "r"(word_of(from + 2 * kStep, to)), "r"(word_of(from + 3 * kStep, to))
                 : "memory");
  }
}

// kPacks packs at once: all loads stand before the first store, which may be to the same memory.
template <int kPacks, class T, class F, bool kGated, int V>
__device__ __forceinline__ void forward_packs(const T* x, T* y, Place<kGated, V>& place,
                                              const Cut& cut) {
  float in[kPacks][V];  // the argument of f
  float value[kGated ? kPacks : 1][V];
  std::int64_t at[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const T* from = x + place.in_x(cut);
    if constexpr (kGated) load<V>(from, value[k]);
    load<V>(kGated ? from + cut.cols : from, in[k]);
    at[k] = place.in_y();
    place.advance(cut);
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      in[k][i] = F::value(in[k][i]);
      if constexpr (kGated) in[k][i] *= value[k][i];
    }
    store_whole<V>(y + at[k], in[k]);
  }
}

template <class T, class F, bool kGated, int V>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void activation_forward_kernel(const T* x,
                                                                                    T* y, Cut cut) {
  constexpr int kPacks = kGated ? 2 : 4;
  Place<kGated, V> place(cut);
  while (place.pack() + (kPacks - 1) * cut.stride < cut.packs)
    forward_packs<kPacks, T, F>(x, y, place, cut);
  while (place.pack() < cut.packs) forward_packs<1, T, F>(x, y, place, cut);
}

// dx = dy f'(x); gated: [dvalue | dgate] = [dy f(gate) | dy value f'(gate)].
template <int kPacks, class T, class F, bool kGated, int V>
__device__ __forceinline__ void backward_packs(const T* x, const T* dy, T* dx,
                                               Place<kGated, V>& place, const Cut& cut) {
  float in[kPacks][V], d[kPacks][V];
  float value[kGated ? kPacks : 1][V];
  std::int64_t at[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    at[k] = place.in_x(cut);
    if constexpr (kGated) load<V>(x + at[k], value[k]);
    load<V>(kGated ? x + at[k] + cut.cols : x + at[k], in[k]);
    load<V>(dy + place.in_y(), d[k]);
    place.advance(cut);
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if constexpr (kGated) {
        const GatedGradient of = gated_gradient<F>(value[k][i], in[k][i], d[k][i]);
        d[k][i] = of.value;
        in[k][i] = of.gate;
      } else {
        d[k][i] = plain_gradient<F>(in[k][i], d[k][i]);
      }
    }
    store_whole<V>(dx + at[k], d[k]);
    if constexpr (kGated) store_whole<V>(dx + at[k] + cut.cols, in[k]);
  }
}

template <class T, class F, bool kGated, int V>
__global__ __launch_bounds__(kThreads,
                             kBlocksPerSm) void activation_backward_kernel(const T* x, const T* dy,
                                                                           T* dx, Cut cut) {
  Place<kGated, V> place(cut);
  if constexpr (!kGated)
    while (place.pack() + cut.stride < cut.packs) backward_packs<2, T, F>(x, dy, dx, place, cut);
  while (place.pack() < cut.packs) backward_packs<1, T, F>(x, dy, dx, place, cut);
}

struct Launch {
  unsigned blocks;
  Cut cut;
};

// `y` is the view with one element per activation: y itself, or dy.
Launch launch_for(const ConstView& y, int vec, const Device& device) {
  const std::int64_t packs = y.num_elements() / vec, row_packs = y.cols() / vec;
  const unsigned blocks = grid_for(ceil_div(packs, kThreads), kBlocksPerSm, device);
  const std::int64_t stride = std::int64_t{blocks} * kThreads;
  return {blocks,
          {.packs = packs,
           .cols = y.cols(),
           .row_packs = row_packs,
           .stride = stride,
           .stride_rows = stride / row_packs,
           .stride_packs = stride % row_packs}};
}

template <class T, class F, bool kGated, int V>
void launch_forward(const ActivationForwardArgs& args, const Device& device, cudaStream_t stream) {
  const Launch launch = launch_for(args.y, V, device);
  activation_forward_kernel<T, F, kGated, V>
      <<<launch.blocks, kThreads, 0, stream>>>(pointer<T>(args.x), pointer<T>(args.y), launch.cut);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class T, class F, bool kGated, int V>
void launch_backward(const ActivationBackwardArgs& args, const Device& device,
                     cudaStream_t stream) {
  const Launch launch = launch_for(args.dy, V, device);
  activation_backward_kernel<T, F, kGated, V><<<launch.blocks, kThreads, 0, stream>>>(
      pointer<T>(args.x), pointer<T>(args.dy), pointer<T>(args.dx), launch.cut);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void activation_forward(const ActivationForwardArgs& args, const Device& device, Queue& queue) {
  if (args.y.num_elements() == 0) return;
  if (args.slope) return activation_with_slope(args, device, queue);
  by_type(args.y.dtype(), [&]<class T>(TypeOf<T>) {
    const bool fits = is_aligned({args.x, args.y}) && args.y.cols() % kVec<T> == 0;
    by_kind<T>(args.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
      if (fits) return launch_forward<T, F, kGated, kVec<T>>(args, device, stream_of(queue));
      return launch_forward<T, F, kGated, 1>(args, device, stream_of(queue));
    });
  });
}

void activation_backward(const ActivationBackwardArgs& args, const Device& device, Queue& queue) {
  if (args.dy.num_elements() == 0) return;
  by_type(args.dy.dtype(), [&]<class T>(TypeOf<T>) {
    const bool fits = is_aligned({args.x, args.dy, args.dx}) && args.dy.cols() % kVec<T> == 0;
    by_kind<T>(args.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
      if (fits) return launch_backward<T, F, kGated, kVec<T>>(args, device, stream_of(queue));
      return launch_backward<T, F, kGated, 1>(args, device, stream_of(queue));
    });
  });
}

}  // namespace twill::cuda
