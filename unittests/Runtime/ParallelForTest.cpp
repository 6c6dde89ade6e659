//===-- ParallelForTest.cpp - Threads of a compiled library -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/CPU/ParallelFor.h"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// Calls blockscaleParallelFor() with a lambda.
template <typename Body>
void parallelFor(int64_t count, int64_t grain, Body body) {
  blockscaleParallelFor(
      count, grain,
      [](void *context, int64_t begin, int64_t end) {
        (*static_cast<Body *>(context))(begin, end);
      },
      &body);
}

int64_t sumOf(int64_t count, int64_t grain) {
  std::atomic<int64_t> sum{0};
  parallelFor(count, grain, [&](int64_t begin, int64_t end) {
    int64_t part = 0;
    for (int64_t i = begin; i < end; ++i)
      part += i;
    sum += part;
  });
  return sum;
}

/// Runs `check` in a child process; whether it returned true there.
template <typename Check> bool inChild(Check check) {
  pid_t child = fork();
  if (child == 0)
    _exit(check() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

} // namespace

// First in this file, so that the pool starts with four threads everywhere.
TEST(ParallelFor, ThreadsFromEnvironment) {
  setenv("BLOCKSCALE_NUM_THREADS", "4", 1);
  EXPECT_EQ(blockscaleNumThreads(), 4);
  // A child sets up its own pool, from its own environment.
  EXPECT_TRUE(inChild([] {
    setenv("BLOCKSCALE_NUM_THREADS", "3", 1);
    return blockscaleNumThreads() == 3 && sumOf(1000, 1) == 499500;
  }));
  for (const char *text : {"", "0", "-2", "many", "3x"})
    EXPECT_TRUE(inChild([text] {
      setenv("BLOCKSCALE_NUM_THREADS", text, 1);
      cpu_set_t set;
      testing::internal::CaptureStderr();
      bool right = sched_getaffinity(0, sizeof set, &set) == 0 &&
                   blockscaleNumThreads() == CPU_COUNT(&set);
      std::string warning = testing::internal::GetCapturedStderr();
      // Empty is as good as unset.
      return right && (*text ? warning.find("got '" + std::string(text) +
                                            "'") != std::string::npos
                             : warning.empty());
    })) << text;
  EXPECT_TRUE(inChild([] {
    setenv("BLOCKSCALE_NUM_THREADS", "999999999", 1);
    return blockscaleNumThreads() == 1024;
  }));
}

TEST(ParallelFor, CoversTheRangeOnce) {
  for (int64_t count : {1, 2, 3, 31, 32, 33, 1000})
    for (int64_t grain : {-1, 1, 3, 32, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      std::atomic<bool> isAligned{true};
      parallelFor(count, grain, [&](int64_t begin, int64_t end) {
        int64_t step = grain < 1 ? 1 : grain;
        if (begin % step != 0 || (end != count && end - begin < step))
          isAligned = false;
        for (int64_t i = begin; i < end; ++i)
          ++seen[static_cast<size_t>(i)];
      });
      EXPECT_TRUE(isAligned) << count << " by " << grain;
      for (auto &times : seen)
        EXPECT_EQ(times, 1) << count << " by " << grain;
    }
}

TEST(ParallelFor, NothingToDo) {
  parallelFor(0, 1, [](int64_t, int64_t) { ADD_FAILURE(); });
  parallelFor(-5, 1, [](int64_t, int64_t) { ADD_FAILURE(); });
}

TEST(ParallelFor, SmallCountsStayOnTheCaller) {
  std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  parallelFor(64, 64, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 64);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelFor, HugeCounts) {
  std::atomic<int64_t> covered{0};
  parallelFor(INT64_MAX, 1,
              [&](int64_t begin, int64_t end) { covered += end - begin; });
  EXPECT_EQ(covered, INT64_MAX);
}

TEST(ParallelFor, UsesSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Each of four chunks waits for the others: only four threads can end it.
  std::atomic<int> arrived{0};
  parallelFor(4, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++arrived;
    while (arrived < 4)
      std::this_thread::yield();
    std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 4u);
}

TEST(ParallelFor, NestedCallsRunInPlace) {
  std::atomic<int64_t> sum{0};
  parallelFor(20, 1, [&](int64_t begin, int64_t end) {
    std::thread::id outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      parallelFor(100, 1, [&](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        sum += to - from;
      });
  });
  EXPECT_EQ(sum, 2000);
  EXPECT_EQ(sumOf(1000, 1), 499500); // The caller is no longer inside.
}

TEST(ParallelFor, ConcurrentCallers) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        if (sumOf(1000, 7) != 499500)
          ++wrong;
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ParallelFor, AfterFork) {
  ASSERT_EQ(sumOf(1000, 1), 499500);
  EXPECT_TRUE(inChild([] { return sumOf(1000, 1) == 499500; }));
  // Also while another thread is in the middle of a loop.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop)
      sumOf(1000, 1);
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(inChild([] { return sumOf(1000, 1) == 499500; }));
  stop = true;
  busy.join();
  EXPECT_EQ(sumOf(1000, 1), 499500);
}

TEST(Fail, ReturnsTheMessage) {
  void *args[] = {nullptr};
  const char *message = blockscale_call(
      [](void **) { blockscaleFail("expects 3 rows, but got 4"); }, args);
  ASSERT_NE(message, nullptr);
  EXPECT_STREQ(message, "expects 3 rows, but got 4");
  EXPECT_EQ(blockscale_call([](void **) {}, args), nullptr);
}

TEST(Fail, NestedCalls) {
  void *args[] = {nullptr};
  const char *message = blockscale_call(
      [](void **inner) {
        if (blockscale_call([](void **) { blockscaleFail("inner"); }, inner))
          blockscaleFail("outer");
      },
      args);
  ASSERT_NE(message, nullptr);
  EXPECT_STREQ(message, "outer");
}

TEST(FailDeathTest, WithoutACallItAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(blockscaleFail("expects 3 rows"), "^error: expects 3 rows\n$");
}
