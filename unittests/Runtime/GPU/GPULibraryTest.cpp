//===-- GPULibraryTest.cpp - One library on every GPU there is --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TestGPULibrary.c, whose kernels are real, in the simulator and on the devices
// of this machine. Skipped where a device is not there.
//
//===----------------------------------------------------------------------===//
#include "../Views.h"
#include "blockscale/Runtime/GPU/DeviceTensor.h"
#include "blockscale/Runtime/GPU/GPUDevice.h"
#include "blockscale/Runtime/Library.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace blockscale::runtime;
using blockscale::test::view;

namespace {
class GPULibrary : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!Device::create(GetParam(), error))
      GTEST_SKIP() << error;
    // The build may be that of another machine (scripts/test-gpu).
    const char *folder = std::getenv("BLOCKSCALE_TEST_LIBRARIES");
    library = Library::openFor(std::string(folder ? folder : TEST_LIBRARIES) +
                                   "/gpu.so",
                               GetParam(), error);
    if (!library && std::string(GetParam()) == "cuda" &&
        error.find("cuda:0: cannot") == std::string::npos)
      GTEST_SKIP() << error;
    ASSERT_NE(library, nullptr) << error;
  }
  const Entry &entry(const char *name) {
    return *library->manifest().find(name, error);
  }
  static std::vector<float> values(const Tensor &tensor) {
    std::vector<float> result(tensor.count());
    std::memcpy(result.data(), tensor.data(), tensor.bytes());
    return result;
  }
  static std::vector<float> counted(size_t count) {
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = static_cast<float>(i + 1);
    return numbers;
  }

  std::string error;
  std::unique_ptr<Library> library;
  const float three = 3;
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, GPULibrary, testing::Values("sim", "cuda"),
                         [](const auto &info) { return info.param; });

TEST_P(GPULibrary, ScaleRows) {
  for (int64_t rows : {0, 1, 9, 300}) {
    std::vector<float> in = counted(static_cast<size_t>(rows) * 4);
    auto results =
        library->call(entry("scale_rows"),
                      {view({rows, 4}, in.data()), view({}, &three)}, error);
    ASSERT_TRUE(results) << error;
    for (float &number : in)
      number *= 3;
    EXPECT_EQ(values(results->front()), in);
  }
}

TEST_P(GPULibrary, TensorCopiesInClusters) {
  for (size_t rows : {1, 4, 5, 8, 20}) {
    std::vector<float> in = counted(rows * 8);
    auto results = library->call(
        entry("tile"), {view({static_cast<int64_t>(rows), 8}, in.data())},
        error);
    ASSERT_TRUE(results) << error;
    in.resize(8 * 8); // Rows that are not there are zero.
    EXPECT_EQ(values(results->front()), in);
  }
}

TEST_P(GPULibrary, DeviceArraysAndStreams) {
  std::shared_ptr<GPUDevice> gpu = library->gpu();
  std::vector<float> in = counted(400);
  for (Stream stream : {gpu->ownStream(), Stream(nullptr)}) {
    auto x =
        DeviceTensor::upload(gpu, view({100, 4}, in.data()), stream, error);
    auto factor = DeviceTensor::upload(gpu, view({}, &three), stream, error);
    ASSERT_TRUE(x && factor) << error;
    // A chain without waiting in between; temporaries die on the way.
    for (int i = 0; i < 4; ++i) {
      auto results = library->callOnDevice(
          entry("scale_rows"), {x->view(), factor->view()}, stream, error);
      ASSERT_TRUE(results) << error;
      x = std::move(results->front());
    }
    auto host = x->download(error);
    ASSERT_TRUE(host) << error;
    EXPECT_EQ(values(*host)[399], 400 * 81);
  }
}

TEST_P(GPULibrary, ManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<float> in = counted(40);
      std::string why;
      const Entry &scale = *library->manifest().find("scale_rows", why);
      for (int i = 0; i < 20; ++i) {
        auto results = library->call(
            scale, {view({10, 4}, in.data()), view({}, &three)}, why);
        if (!results || values(results->front())[39] != 120)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(GPULibrary, Errors) {
  const std::string name = GetParam();
  std::vector<float> in = counted(8);
  EXPECT_FALSE(
      library->call(entry("fail_size"), {view({2, 4}, in.data())}, error));
  EXPECT_EQ(error, "'fail_size': rows of operand 0: expects 3, but got 2");
  EXPECT_FALSE(library->call(entry("too_large"), {}, error));
  EXPECT_NE(error.find("2305843009213693952 bytes do not fit in its memory"),
            std::string::npos)
      << error;
  EXPECT_FALSE(library->call(entry("no_kernel"), {}, error));
  EXPECT_NE(error.find("the library has no kernel 'absent'"), std::string::npos)
      << error;
  // The device is as good as before.
  EXPECT_TRUE(library->call(entry("same"), {view({2, 4}, in.data())}, error))
      << error;
  if (name == "sim") {
    EXPECT_FALSE(library->call(entry("unwritten"), {}, error));
    EXPECT_EQ(error, "sim: byte 0 of 16 of a result was never written");
  }
}

TEST_P(GPULibrary, Clock) {
  bool ran = false;
  auto seconds = library->gpu()->time([&] { return ran = true; }, error);
  if (std::string(GetParam()) == "sim") {
    EXPECT_FALSE(seconds);
    return;
  }
  ASSERT_TRUE(seconds) << error;
  EXPECT_TRUE(ran);
  EXPECT_GE(*seconds, 0);
  EXPECT_LT(*seconds, 1e-3);
  EXPECT_GT(library->gpu()->cacheBytes(), 1u << 20);
}
