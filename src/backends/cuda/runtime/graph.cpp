// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/graph.h"

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

class Graph final : public Recording {
 public:
  explicit Graph(cudaGraph_t graph) {
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    TWILL_CUDA_CHECK(error);
  }
  ~Graph() override { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cudaGraphExec_t executable() const { return executable_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

void begin_recording(Queue& queue) {
  TWILL_CUDA_CHECK(cudaStreamBeginCapture(stream_of(queue), cudaStreamCaptureModeThreadLocal));
  cuda_queue(queue).set_recording(true);
}

std::unique_ptr<Recording> end_recording(Queue& queue) {
  cudaGraph_t graph = nullptr;
  cuda_queue(queue).set_recording(false);
  TWILL_CUDA_CHECK(cudaStreamEndCapture(stream_of(queue), &graph));
  return std::make_unique<Graph>(graph);
}

void replay(const Recording& recording, Queue& queue) {
  TWILL_CUDA_CHECK(
      cudaGraphLaunch(static_cast<const Graph&>(recording).executable(), stream_of(queue)));
}

}  // namespace twill::cuda
