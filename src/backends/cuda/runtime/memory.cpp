// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/memory.h"

#include <algorithm>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

std::byte* allocate_device(std::int64_t bytes) {
  void* data = nullptr;
  TWILL_CUDA_CHECK(cudaMalloc(&data, static_cast<std::size_t>(bytes)));
  TWILL_CUDA_CHECK(cudaMemset(data, 0, static_cast<std::size_t>(bytes)));
  // The fill runs on the legacy stream, which our non-blocking streams do not wait for.
  TWILL_CUDA_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  return static_cast<std::byte*>(data);
}

// A failing release has no one to tell: the process is about to end, or the device is lost anyway.
void release_device(std::byte* data, std::int64_t) { static_cast<void>(cudaFree(data)); }

std::byte* allocate_pinned(std::int64_t bytes) {
  void* data = nullptr;
  TWILL_CUDA_CHECK(cudaMallocHost(&data, static_cast<std::size_t>(bytes)));
  std::fill_n(static_cast<std::byte*>(data), bytes, std::byte{0});
  return static_cast<std::byte*>(data);
}

void release_pinned(std::byte* data, std::int64_t) { static_cast<void>(cudaFreeHost(data)); }

}  // namespace

const Memory& device_memory() {
  static constexpr Memory kMemory{.allocate = allocate_device, .release = release_device};
  return kMemory;
}

const Memory& pinned_memory() {
  static constexpr Memory kMemory{.allocate = allocate_pinned, .release = release_pinned};
  return kMemory;
}

void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes, Queue& queue) {
  TWILL_CUDA_CHECK(cudaMemcpyAsync(to, host, static_cast<std::size_t>(bytes),
                                   cudaMemcpyHostToDevice, stream_of(queue)));
}

void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes, Queue& queue) {
  TWILL_CUDA_CHECK(cudaMemcpyAsync(host, from, static_cast<std::size_t>(bytes),
                                   cudaMemcpyDeviceToHost, stream_of(queue)));
  wait(queue);
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes, Queue& queue) {
  TWILL_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                   cudaMemcpyDeviceToDevice, stream_of(queue)));
}

void wait(Queue& queue) { TWILL_CUDA_CHECK(cudaStreamSynchronize(stream_of(queue))); }

std::int64_t free_bytes() {
  std::size_t free = 0, total = 0;
  TWILL_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

}  // namespace twill::cuda
