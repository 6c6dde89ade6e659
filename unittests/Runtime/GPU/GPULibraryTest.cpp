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

  /// An array on the device.
  DeviceTensor put(std::vector<int64_t> shape, const std::vector<float> &data) {
    auto tensor = DeviceTensor::upload(
        library->gpu(), view(std::move(shape), data.data()), stream(), error);
    EXPECT_TRUE(tensor) << error;
    EXPECT_TRUE(library->gpu()->synchronize(stream(), error)) << error;
    return *tensor;
  }
  /// `array`, from some byte on, with other sizes.
  DeviceTensor part(const DeviceTensor &array, std::vector<int64_t> shape,
                    size_t byte) {
    return DeviceTensor::borrow(library->gpu(), array.type(), std::move(shape),
                                static_cast<char *>(array.data()) + byte,
                                stream());
  }
  std::vector<float> get(const DeviceTensor &array) {
    auto host = array.download(error);
    EXPECT_TRUE(host) << error;
    return values(*host);
  }
  Stream stream() { return library->gpu()->ownStream(); }
  std::optional<std::vector<DeviceTensor>>
  callInto(const char *name, const std::vector<DeviceTensor> &inputs,
           const std::vector<std::optional<DeviceTensor>> &into) {
    std::vector<TensorView> views;
    for (const DeviceTensor &input : inputs)
      views.push_back(input.view());
    return library->callOnDevice(entry(name), views, stream(), error, into);
  }
  std::string intoError(const char *name,
                        const std::vector<DeviceTensor> &inputs,
                        const std::vector<std::optional<DeviceTensor>> &into) {
    EXPECT_FALSE(callInto(name, inputs, into));
    return error;
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

TEST_P(GPULibrary, ResultsInMemoryOfTheCaller) {
  const DeviceTensor factor = put({}, {3});
  for (int64_t rows : {0, 1, 9, 300}) {
    const auto count = static_cast<size_t>(rows) * 4;
    std::vector<float> in = counted(count);
    const DeviceTensor x = put({rows, 4}, in);
    // In the middle of a larger array, whose other elements stay.
    std::vector<float> expected(count + 8, -1);
    const DeviceTensor y = put({static_cast<int64_t>(count) + 8}, expected);
    const DeviceTensor given = part(y, {rows, 4}, 16);
    auto results = callInto("scale_rows", {x, factor}, {given});
    ASSERT_TRUE(results) << error;
    EXPECT_EQ(results->front().data(), given.data());
    EXPECT_EQ(results->front().shape(), given.shape());
    for (size_t i = 0; i < count; ++i)
      expected[4 + i] = in[i] * 3;
    EXPECT_EQ(get(results->front()),
              std::vector<float>(expected.begin() + 4, expected.end() - 4));
    results.reset(); // It is not the result's to free.
    EXPECT_EQ(get(y), expected);
  }
  // An empty array may be nowhere.
  EXPECT_TRUE(callInto("scale_rows", {put({0, 4}, {}), factor},
                       {DeviceTensor::borrow(library->gpu(), DataType::F32,
                                             {0, 4}, nullptr, stream())}))
      << error;
}

TEST_P(GPULibrary, ResultsThatAreCopiedToTheCaller) {
  const std::vector<float> in = counted(8), poison(8, -1), zeros(8);
  const DeviceTensor x = put({2, 4}, in);
  std::vector<std::optional<DeviceTensor>> into = {
      put({2, 4}, poison), put({2, 4}, poison), put({2, 4}, poison)};
  ASSERT_TRUE(callInto("same", {x}, into)) << error;
  EXPECT_EQ(get(*into[0]), in);
  EXPECT_EQ(get(*into[1]), zeros);
  EXPECT_EQ(get(*into[2]), zeros);

  // Memory for some of them.
  for (size_t given : {0, 1, 2}) {
    into.assign(3, std::nullopt);
    into[given] = put({2, 4}, poison);
    auto results = callInto("same", {x}, into);
    ASSERT_TRUE(results) << error;
    EXPECT_EQ((*results)[given].data(), into[given]->data());
    EXPECT_EQ(get((*results)[0]), in);
    EXPECT_EQ(get((*results)[1]), zeros);
    EXPECT_EQ(get((*results)[2]), zeros);
  }
}

TEST_P(GPULibrary, InputsThatAreNotAligned) {
  const DeviceTensor factors = put({8}, {3, 3, 3, 3, 3, 3, 3, 3});
  const DeviceTensor x = put({4, 4}, counted(16));
  EXPECT_TRUE(callInto("scale_rows",
                       {part(x, {2, 4}, 16), part(factors, {}, 4)},
                       {std::nullopt}))
      << error;
  auto refused = [&](int64_t offset, int64_t factorOffset, const char *text) {
    EXPECT_FALSE(
        callInto("scale_rows",
                 {part(x, {2, 4}, offset), part(factors, {}, factorOffset)},
                 {std::nullopt}));
    EXPECT_EQ(error.rfind(text, 0), 0u) << error;
  };
  refused(8, 0,
          "input 0 of 'scale_rows' expects memory aligned to 16 bytes, "
          "but got 0x");
  refused(0, 2,
          "input 1 of 'scale_rows' expects memory aligned to 4 bytes, "
          "but got 0x");
  // No kernel reads an empty one.
  EXPECT_TRUE(callInto("scale_rows", {part(x, {0, 4}, 4), part(factors, {}, 0)},
                       {std::nullopt}))
      << error;
}

TEST_P(GPULibrary, MemoryThatDoesNotFit) {
  const std::string device(library->device().name());
  const DeviceTensor factor = put({}, {3}), x = put({2, 4}, counted(8));
  const std::vector<float> poison(16, -1);
  const DeviceTensor y = put({4, 4}, poison);
  EXPECT_EQ(intoError("scale_rows", {x, factor}, {y, y}),
            "'scale_rows' expects memory for 1 results, but got it for 2");
  EXPECT_EQ(intoError("scale_rows", {x, factor}, {part(y, {4, 2}, 0)}),
            "result 0 of 'scale_rows' expects tensor<?x4xf32>, but got "
            "f32[4x2]: dimension 1 must be 4");
  EXPECT_EQ(intoError("scale_rows", {x, factor},
                      {DeviceTensor::borrow(library->gpu(), DataType::F64,
                                            {2, 4}, y.data(), stream())}),
            "result 0 of 'scale_rows' expects tensor<?x4xf32>, but got "
            "f64[2x4]");
  EXPECT_EQ(intoError("scale_rows", {x, factor},
                      {DeviceTensor::borrow(library->gpu(), DataType::F32,
                                            {2, 4}, nullptr, stream())}),
            "result 0 of 'scale_rows' has no data");
  // How many rows there are is the call's to say.
  EXPECT_EQ(intoError("scale_rows", {x, factor}, {part(y, {3, 4}, 0)}),
            "'scale_rows': result 0 takes 32 bytes, but the memory given for "
            "f32[3x4] has 48");
  EXPECT_EQ(intoError("scale_rows", {x, factor}, {part(y, {0, 4}, 0)}),
            "'scale_rows': result 0 takes 32 bytes, but the memory given for "
            "f32[0x4] has 0");

  auto start = [&](const char *text) {
    EXPECT_EQ(error.rfind(text, 0), 0u) << error;
  };
  intoError("scale_rows", {x, factor}, {part(y, {2, 4}, 4)});
  start("result 0 of 'scale_rows' expects memory aligned to 16 bytes, but got "
        "0x");
  alignas(16) float host[8];
  intoError("scale_rows", {x, factor},
            {DeviceTensor::borrow(library->gpu(), DataType::F32, {2, 4}, host,
                                  stream())});
  start(("result 0 of 'scale_rows' expects memory of device '" + device +
         "', but got 0x")
            .c_str());

  // Next to each other is fine.
  EXPECT_TRUE(callInto("scale_rows", {part(y, {2, 4}, 0), factor},
                       {part(y, {2, 4}, 32)}))
      << error;
  EXPECT_EQ(intoError("scale_rows", {part(y, {2, 4}, 0), factor},
                      {part(y, {2, 4}, 16)}),
            "result 0 of 'scale_rows' expects memory of its own, but got some "
            "of input 0");
  EXPECT_EQ(intoError("same", {x},
                      {part(y, {1, 4}, 0), std::nullopt, part(y, {1, 4}, 0)}),
            "result 2 of 'same' expects memory of its own, but got some of "
            "result 0");

  // As many bytes, but other sizes.
  EXPECT_EQ(intoError("zeros", {}, {part(y, {4, 2}, 0)}),
            "result 0 of 'zeros' is f32[2x4], but memory was given for "
            "f32[4x2]");
  EXPECT_TRUE(callInto("zeros", {}, {part(y, {2, 4}, 0)})) << error;
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
