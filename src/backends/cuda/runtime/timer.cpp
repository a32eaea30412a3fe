// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/runtime/timer.h"

#include <cstddef>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/queue.h"
#include "base/check.h"

namespace twill::cuda {
namespace {

class EventTimer final : public Timer {
 public:
  explicit EventTimer(const CudaQueue& queue) : queue_(queue) {}
  ~EventTimer() override {
    for (cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start() override {
    TWILL_CHECK(num_used_ % 2 == 0, "a timer is stopped before it is started again");
    mark();
  }
  void stop() override {
    TWILL_CHECK(num_used_ % 2 == 1, "a timer is started before it is stopped");
    mark();
  }
  std::vector<double> take() override;

 private:
  void mark();

  const CudaQueue& queue_;
  std::vector<cudaEvent_t> events_;  // start, stop, start, stop, …; used again after take()
  std::size_t num_used_ = 0;
};

void EventTimer::mark() {
  TWILL_CHECK(!queue_.is_recording(), "work that is recorded takes no time");
  if (num_used_ == events_.size()) {
    events_.push_back(nullptr);
    const cudaError_t error = cudaEventCreate(&events_.back());
    if (error != cudaSuccess) events_.pop_back();
    TWILL_CUDA_CHECK(error);
  }
  TWILL_CUDA_CHECK(cudaEventRecord(events_[num_used_], queue_.stream()));
  ++num_used_;
}

std::vector<double> EventTimer::take() {
  TWILL_CHECK(num_used_ % 2 == 0, "a timer is stopped before it is read");
  std::vector<double> seconds;
  // The last event of a stream is reached behind all others.
  if (num_used_ > 0) TWILL_CUDA_CHECK(cudaEventSynchronize(events_[num_used_ - 1]));
  for (std::size_t i = 0; i < num_used_; i += 2) {
    float milliseconds = 0.0f;
    TWILL_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]));
    seconds.push_back(1e-3 * static_cast<double>(milliseconds));
  }
  num_used_ = 0;
  return seconds;
}

}  // namespace

std::unique_ptr<Timer> open_timer(Queue& queue) {
  return std::make_unique<EventTimer>(cuda_queue(queue));
}

}  // namespace twill::cuda
