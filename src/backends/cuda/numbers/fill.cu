// SPDX-License-Identifier: Apache-2.0
// fill on CUDA: a persistent grid writes 16 bytes per thread and step. Bound by writes: every byte
// is written once and nothing is read. The value is rounded on the host, once per call, and the
// kernels know bits only, so that -0 and NaN keep theirs.
#include "ops/numbers/fill.h"

#include <bit>

#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "base/bf16.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;  // 2048 resident threads: full occupancy on sm_80 and sm_90

// `word` is the value's bits, as often as they fit in.
__global__ __launch_bounds__(kThreads) void fill_words_kernel(uint4* x, std::int64_t num_quads,
                                                              std::uint32_t word) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (; i < num_quads; i += stride) x[i] = make_uint4(word, word, word, word);
}

template <class Bits>
__global__ __launch_bounds__(kThreads) void fill_kernel(Bits* x, std::int64_t n, Bits value) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (; i < n; i += stride) x[i] = value;
}

// As many 16-byte words as there are, then the elements behind them.
template <class Bits>
void fill_with(Bits value, const FillArgs& args, const Device& device, cudaStream_t stream) {
  constexpr std::int64_t kPerQuad = 16 / sizeof(Bits);
  const std::int64_t n = args.x.num_elements();
  const std::int64_t num_quads = is_aligned({args.x}) ? n / kPerQuad : 0;
  const std::int64_t rest = n - num_quads * kPerQuad;
  const auto word = static_cast<std::uint32_t>(sizeof(Bits) == 2 ? value * 0x1'0001u : value);
  if (num_quads > 0) {
    const unsigned blocks = grid_for(ceil_div(num_quads, kThreads), kBlocksPerSm, device);
    fill_words_kernel<<<blocks, kThreads, 0, stream>>>(pointer<uint4>(args.x), num_quads, word);
    TWILL_CUDA_CHECK_LAUNCH();
  }
  if (rest > 0) {
    const unsigned blocks = grid_for(ceil_div(rest, kThreads), kBlocksPerSm, device);
    fill_kernel<<<blocks, kThreads, 0, stream>>>(pointer<Bits>(args.x) + num_quads * kPerQuad, rest,
                                                 value);
    TWILL_CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void fill(const FillArgs& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  const auto value = static_cast<float>(args.value);
  by_type(args.x.dtype(), [&]<class T>(TypeOf<T>) {
    if constexpr (sizeof(T) == 2) {
      fill_with(to_bf16(value).bits, args, device, stream_of(queue));
    } else {
      fill_with(std::bit_cast<std::uint32_t>(value), args, device, stream_of(queue));
    }
  });
}

}  // namespace twill::cuda
