// SPDX-License-Identifier: Apache-2.0
// Activations in the order of a channel-major product, on rows of tokens: a thread has one element, and
// its neighbour the next token of the same channel. No two of a warp share a sector: of 32 bytes that
// memory moves two are used. Training runs activation.cu; `bench gemm` shows what this order would cost.
// The functions are the same, and so are the bits.
#include "backends/cuda/device/pieces.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/layers/activation_kinds.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;

// Elements of y, or of dy, and where the one of a channel and a token lies in it and in x.
struct Channels {
  std::int64_t tokens, channels;
  std::int64_t row;  // elements of a row of x

  template <class Body>
  __device__ __forceinline__ void each(const Body& body) const {
    const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < tokens * channels;
         i += stride) {
      const Division at = divide(i, tokens);  // channel, token
      body(at.rest * channels + at.quotient, at.rest * row + at.quotient);
    }
  }
};

template <class T, class F, bool kGated>
__global__ __launch_bounds__(kThreads) void forward_by_channel_kernel(const T* x, T* y,
                                                                      Channels all) {
  all.each([&](std::int64_t in_y, std::int64_t in_x) {
    float result = F::value(to_f32(x[kGated ? in_x + all.channels : in_x]));
    if constexpr (kGated) result *= to_f32(x[in_x]);
    y[in_y] = from_f32<T>(result);
  });
}

template <class T, class F, bool kGated>
__global__ __launch_bounds__(kThreads) void backward_by_channel_kernel(const T* x, const T* dy,
                                                                       T* dx, Channels all) {
  all.each([&](std::int64_t in_y, std::int64_t in_x) {
    const float from_above = to_f32(dy[in_y]);
    if constexpr (kGated) {
      const GatedGradient of =
          gated_gradient<F>(to_f32(x[in_x]), to_f32(x[in_x + all.channels]), from_above);
      dx[in_x] = from_f32<T>(of.value);
      dx[in_x + all.channels] = from_f32<T>(of.gate);
    } else {
      dx[in_x] = from_f32<T>(plain_gradient<F>(to_f32(x[in_x]), from_above));
    }
  });
}

Channels channels_of(const ConstView& y, bool is_gated) {
  return {.tokens = y.rows(), .channels = y.cols(), .row = y.cols() * (is_gated ? 2 : 1)};
}

unsigned blocks_for(const ConstView& y, const Device& device) {
  return grid_for(ceil_div(y.num_elements(), kThreads), kBlocksPerSm, device);
}

}  // namespace

void activation_forward_by_channel(const ActivationForwardArgs& args, const Device& device,
                                   Queue& queue) {
  if (args.y.num_elements() == 0) return;
  by_type(args.y.dtype(), [&]<class T>(TypeOf<T>) {
    by_kind<T>(args.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
      forward_by_channel_kernel<T, F, kGated>
          <<<blocks_for(args.y, device), kThreads, 0, stream_of(queue)>>>(
              pointer<T>(args.x), pointer<T>(args.y), channels_of(args.y, kGated));
      TWILL_CUDA_CHECK_LAUNCH();
    });
  });
}

void activation_backward_by_channel(const ActivationBackwardArgs& args, const Device& device,
                                    Queue& queue) {
  if (args.dy.num_elements() == 0) return;
  by_type(args.dy.dtype(), [&]<class T>(TypeOf<T>) {
    by_kind<T>(args.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
      backward_by_channel_kernel<T, F, kGated>
          <<<blocks_for(args.dy, device), kThreads, 0, stream_of(queue)>>>(
              pointer<T>(args.x), pointer<T>(args.dy), pointer<T>(args.dx),
              channels_of(args.dy, kGated));
      TWILL_CUDA_CHECK_LAUNCH();
    });
  });
}

}  // namespace twill::cuda
