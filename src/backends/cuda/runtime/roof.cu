// SPDX-License-Identifier: Apache-2.0
// The copy roof: 512 MiB of random bits (data changes power, power changes clocks), ten times L2 on
// an H200, copied by a kernel of ours and by the driver; the best of all rounds counts.
//
// A thread has four loads of 16 bytes in flight before its first store; a block moves 16 KiB, so
// that 32768 blocks cover the whole and none has a tail.
#include "backends/cuda/runtime/roof.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/timer.h"

namespace twill::cuda {
namespace {

constexpr std::int64_t kBytes = std::int64_t{512} << 20;
constexpr int kRounds = 16;  // of 0.25 ms each at 4 TB/s, and two copies a round
constexpr int kThreads = 256;
constexpr int kLoads = 4;
constexpr std::int64_t kQuads = kBytes / 16;
constexpr std::int64_t kBlocks = kQuads / (kThreads * kLoads);
static_assert(kBlocks * kThreads * kLoads == kQuads);

// A bijection of 32-bit words whose bits look independent (the finaliser of murmur3).
__device__ __forceinline__ std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85eb'ca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2'ae35u;
  return x ^ (x >> 16);
}

__device__ __forceinline__ std::int64_t first_quad() {
  return std::int64_t{blockIdx.x} * (kThreads * kLoads) + threadIdx.x;
}

__global__ __launch_bounds__(kThreads) void random_bits_kernel(uint4* __restrict__ to) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const std::int64_t quad = first_quad() + i * kThreads;
    const auto word = static_cast<std::uint32_t>(4 * quad);  // 2^27 words in all
    to[quad] =
        make_uint4(scrambled(word), scrambled(word + 1), scrambled(word + 2), scrambled(word + 3));
  }
}

__global__ __launch_bounds__(kThreads) void copy_kernel(const uint4* __restrict__ from,
                                                        uint4* __restrict__ to) {
  uint4 quads[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) quads[i] = from[first_quad() + i * kThreads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) to[first_quad() + i * kThreads] = quads[i];
}

struct Free {
  void operator()(uint4* data) const { static_cast<void>(cudaFree(data)); }
};
using DeviceQuads = std::unique_ptr<uint4, Free>;

// Empty when there is no room.
DeviceQuads allocate() {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, static_cast<std::size_t>(kBytes));
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // the next launch shall not report it
    return nullptr;
  }
  TWILL_CUDA_CHECK(error);
  return DeviceQuads(static_cast<uint4*>(data));
}

}  // namespace

double copy_bytes_per_second(const Device&, Queue& queue) {
  const DeviceQuads from = allocate(), to = allocate();
  if (!from || !to) return 0.0;
  const cudaStream_t stream = stream_of(queue);
  random_bits_kernel<<<kBlocks, kThreads, 0, stream>>>(from.get());
  TWILL_CUDA_CHECK_LAUNCH();
  const std::unique_ptr<Timer> timer = open_timer(queue);
  for (int round = 0; round < kRounds; ++round) {
    timer->start();
    copy_kernel<<<kBlocks, kThreads, 0, stream>>>(from.get(), to.get());
    TWILL_CUDA_CHECK_LAUNCH();
    timer->stop();
    timer->start();
    TWILL_CUDA_CHECK(cudaMemcpyAsync(to.get(), from.get(), static_cast<std::size_t>(kBytes),
                                     cudaMemcpyDeviceToDevice, stream));
    timer->stop();
  }
  return 2.0 * static_cast<double>(kBytes) / std::ranges::min(timer->take());
}

}  // namespace twill::cuda
