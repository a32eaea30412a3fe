// SPDX-License-Identifier: Apache-2.0
// What a cuda Queue owns: a stream, and what libraries and kernels keep between calls.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "ops/kernel_table.h"

namespace twill::cuda {

// State that one source file keeps with the queue; each has at most one, made on first use.
class QueueState {
 public:
  virtual ~QueueState() = default;
};

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(const Device& device);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  cudaStream_t stream() const { return stream_; }
  bool is_recording() const { return is_recording_; }
  void set_recording(bool recording) { is_recording_ = recording; }

  std::unique_ptr<QueueState>
      products;  // products.cpp: cuBLASLt's handle, workspace, chosen algorithms
  std::unique_ptr<QueueState> rotary;     // rotary.cu: tables of angles
  std::unique_ptr<QueueState> reduction;  // scratch.cpp: partial sums
  std::unique_ptr<QueueState> sparse;     // sparse_products.cpp: workspace of 2:4 products

 private:
  cudaStream_t stream_ = nullptr;
  bool is_recording_ = false;
};

inline CudaQueue& cuda_queue(Queue& queue) { return static_cast<CudaQueue&>(queue); }
inline cudaStream_t stream_of(Queue& queue) { return cuda_queue(queue).stream(); }

// The queue's state of type State in `slot`, made with `arguments` on first use.
template <class State, class... Arguments>
State& state_of(std::unique_ptr<QueueState>& slot, Arguments&&... arguments) {
  if (!slot) slot = std::make_unique<State>(static_cast<Arguments&&>(arguments)...);
  return static_cast<State&>(*slot);
}

}  // namespace twill::cuda
