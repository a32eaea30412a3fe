// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "twill/error.h"

namespace twill {
namespace {

class Pool : public testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

TEST_P(Pool, RunsEveryTaskOnce) {
  EXPECT_EQ(pool_.num_threads(), GetParam());
  for (const std::int64_t num_tasks : {0, 1, 2, 3, 17, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(num_tasks));
    std::atomic<bool> threads_in_range = true;
    pool_.run(num_tasks, [&](std::int64_t index, int thread) {
      ++runs[static_cast<std::size_t>(index)];
      if (thread < 0 || thread >= GetParam()) threads_in_range = false;
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_TRUE(threads_in_range);
  }
}

// Scratch of a thread is used by one task at a time.
TEST_P(Pool, ATaskHasItsThreadForItself) {
  std::vector<std::atomic<int>> inside(static_cast<std::size_t>(GetParam()));
  std::atomic<int> collisions = 0;
  pool_.run(1000, [&](std::int64_t, int thread) {
    std::atomic<int>& count = inside[static_cast<std::size_t>(thread)];
    if (count.fetch_add(1) != 0) ++collisions;
    count.fetch_sub(1);
  });
  EXPECT_EQ(collisions, 0);
}

// What tasks wrote without synchronisation of their own is visible after run().
TEST_P(Pool, CanBeUsedTenThousandTimes) {
  std::vector<std::int64_t> sums(5, 0);
  for (int repeat = 0; repeat < 10'000; ++repeat)
    pool_.run(5, [&](std::int64_t index, int) { sums[static_cast<std::size_t>(index)] += index; });
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 10'000 * i);
}

TEST_P(Pool, ThrowsWhatATaskThrows) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::atomic<int> others = 0;
    const auto run = [&] {
      pool_.run(20, [&](std::int64_t index, int) {
        if (index == 7) throw std::runtime_error("task 7");
        ++others;
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_LE(others, 19);
  }
  std::atomic<int> after = 0;
  pool_.run(20, [&](std::int64_t, int) { ++after; });
  EXPECT_EQ(after, 20);
}

TEST_P(Pool, ManyExceptionsBecomeOne) {
  const auto run = [&] {
    pool_.run(50, [](std::int64_t, int) { throw std::runtime_error("every task"); });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

TEST_P(Pool, ParallelForCoversTheRange) {
  for (const std::int64_t count : {0, 1, 5, 64, 65, 1000}) {
    for (const std::int64_t grain : {0, 1, 7, 64, 5000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      std::atomic<bool> pieces_fit = true;
      parallel_for(pool_, count, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t step = std::max<std::int64_t>(grain, 1);
        if (begin % step != 0 || end - begin > step || end <= begin) pieces_fit = false;
        for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
      });
      for (const auto& times : runs) ASSERT_EQ(times, 1) << count << " by " << grain;
      EXPECT_TRUE(pieces_fit) << count << " by " << grain;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 4));

TEST(ThreadPool, NeedsAThread) { EXPECT_THROW(ThreadPool(0), InternalError); }

// As the kernel counts them. A thread that was joined stays in the list for a moment.
std::ptrdiff_t num_threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

bool becomes(std::ptrdiff_t num_threads) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (num_threads_of_process() != num_threads) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  const std::ptrdiff_t before = num_threads_of_process();
  for (int repeat = 0; repeat < 100; ++repeat) {
    {
      const ThreadPool pool(3);
      EXPECT_EQ(pool.num_threads(), 3);
      ASSERT_TRUE(becomes(before + 2)) << "the caller is the third";
    }
    ASSERT_TRUE(becomes(before)) << "threads of pool " << repeat << " outlive it";
  }
}

TEST(ThreadPool, DefaultIsAtLeastOneThread) { EXPECT_GE(default_num_threads(), 1); }

}  // namespace
}  // namespace twill
