// SPDX-License-Identifier: Apache-2.0
// Threads that run numbered tasks. Which thread runs a task is left open; what a task does depends
// on its number alone. So results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace twill {

class ThreadPool {
 public:
  // `num_threads` counts the calling thread; it must be at least 1. Throws twill::Error when the
  // system does not give so many.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // task(index, thread): every index in [0, num_tasks) once, `thread` in [0, num_threads()).
  // Tasks start in ascending order: one may wait for what an earlier one does. Returns when all have
  // finished. The first exception of a task is thrown here; whether the tasks
  // behind it still run is open.
  using Task = std::function<void(std::int64_t index, int thread)>;
  void run(std::int64_t num_tasks, const Task& task);

 private:
  void stop_workers();
  void worker_loop(int thread);
  void work(int thread);
  bool wait_for_job(std::uint64_t seen);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::exception_ptr error_;
  const Task* task_ = nullptr;
  std::int64_t num_tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> busy_{0};
  std::atomic<std::uint64_t> job_{0};
  std::atomic<bool> stop_{false};
};

// Cuts [0, count) into pieces of `grain` (the last may be shorter) and runs body(begin, end) on each.
// The cut depends on count and grain alone. The pool is handed a reference: a std::function made from
// the lambda itself would allocate.
template <class Body>
void parallel_for(ThreadPool& pool, std::int64_t count, std::int64_t grain, const Body& body) {
  grain = std::max<std::int64_t>(grain, 1);
  const auto piece = [&](std::int64_t index, int) {
    body(index * grain, std::min(count, (index + 1) * grain));
  };
  pool.run((count + grain - 1) / grain, std::cref(piece));
}

// The logical CPUs this process may run on, at least 1.
int default_num_threads();

}  // namespace twill
