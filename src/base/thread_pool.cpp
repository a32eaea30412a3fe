// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"

namespace twill {
namespace {

// Ops of a step follow each other within microseconds: a sleeping worker would cost 50 us to wake.
// 2000 pauses are about 40 us, after which the worker sleeps and leaves the core to others.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  TWILL_CHECK(num_threads >= 1, "a pool has at least the calling thread");
  try {
    for (int thread = 1; thread < num_threads; ++thread)
      workers_.emplace_back([this, thread] { worker_loop(thread); });
  } catch (const std::system_error& error) {
    const std::string started = std::to_string(workers_.size() + 1);
    stop_workers();
    throw Error("cannot start " + std::to_string(num_threads) + " threads, only " + started + ": " +
                error.code().message() + "; set threads to less");
  }
}

ThreadPool::~ThreadPool() { stop_workers(); }

void ThreadPool::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t num_tasks, const Task& task) {
  if (num_tasks <= 0) return;
  if (workers_.empty() || num_tasks == 1) {
    for (std::int64_t index = 0; index < num_tasks; ++index) task(index, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    num_tasks_ = num_tasks;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    job_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  work(0);
  for (int spin = 0; spin < kSpins && busy_.load(std::memory_order_acquire) > 0; ++spin) pause();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_.load(std::memory_order_acquire) == 0; });
  task_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work(int thread) {
  for (;;) {
    const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= num_tasks_) return;
    try {
      (*task_)(index, thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
}

bool ThreadPool::wait_for_job(std::uint64_t seen) {
  const auto ready = [&] { return stop_.load() || job_.load(std::memory_order_acquire) != seen; };
  for (int spin = 0; spin < kSpins && !ready(); ++spin) pause();
  if (!ready()) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, ready);
  }
  return !stop_.load();
}

void ThreadPool::worker_loop(int thread) {
  std::uint64_t seen = 0;
  while (wait_for_job(seen)) {
    {
      // The mutex orders the job's fields, written under it, before our reads.
      const std::lock_guard lock(mutex_);
      seen = job_.load();
    }
    work(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::lock_guard lock(mutex_);
      finished_.notify_one();
    }
  }
}

int default_num_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace twill
