//===-- CUDADeviceTest.cpp - Calls on a GPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ../GPU/TestGPULibrary.c on FakeDriver.c: which driver calls are made, and
// what errors look like. ../GPU/GPULibraryTest.cpp runs it on real devices too.
//
//===----------------------------------------------------------------------===//
#include "../TemporaryFolder.h"
#include "../Views.h"
#include "blockscale/Runtime/Library.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace blockscale::runtime;
using blockscale::test::TemporaryFolder;
using blockscale::test::view;

static std::string variant(const std::string &name) {
  return std::string(TEST_LIBRARIES) + "/" + name + ".so";
}

namespace {
/// The environment of one test: the fake, and its log.
class CUDADevice : public testing::Test {
protected:
  void SetUp() override {
    setenv("BLOCKSCALE_LIBCUDA", variant("fake_cuda").c_str(), 1);
    setenv("FAKE_CUDA_LOG", folder.path("log").c_str(), 1);
  }
  void TearDown() override {
    library.reset();
    for (const char *name :
         {"BLOCKSCALE_LIBCUDA", "FAKE_CUDA_LOG", "FAKE_CUDA_DEVICES",
          "FAKE_CUDA_CAPABILITY", "FAKE_CUDA_POOLS", "FAKE_CUDA_OWNER",
          "FAKE_CUDA_FAIL"})
      unsetenv(name);
  }
  static void fail(const char *what) { setenv("FAKE_CUDA_FAIL", what, 1); }

  void open(const char *device = "cuda") {
    library = Library::openFor(variant("gpu"), device, error);
    ASSERT_NE(library, nullptr) << error;
  }
  /// What opening says, after the name of the file.
  std::string openError(const char *name = "gpu", const char *device = "cuda") {
    EXPECT_EQ(Library::openFor(variant(name), device, error), nullptr);
    const std::string start = "cannot use '" + variant(name) + "': ";
    EXPECT_EQ(error.substr(0, start.size()), start);
    return error.substr(std::min(error.size(), start.size()));
  }
  std::optional<std::vector<Tensor>>
  call(const char *name, const std::vector<TensorView> &inputs) {
    return library->call(*library->manifest().find(name, error), inputs, error);
  }
  std::string callError(const char *name,
                        const std::vector<TensorView> &inputs = {}) {
    EXPECT_FALSE(call(name, inputs));
    return error;
  }
  /// The lines logged since the last time.
  std::string log() {
    std::string text;
    std::ifstream file(folder.path("log"));
    file.seekg(static_cast<std::streamoff>(logged));
    text.assign(std::istreambuf_iterator<char>(file), {});
    logged += text.size();
    return text;
  }
  static std::vector<float> values(const Tensor &tensor) {
    std::vector<float> result(tensor.count());
    std::memcpy(result.data(), tensor.data(), tensor.bytes());
    return result;
  }

  TemporaryFolder folder;
  std::string error;
  size_t logged = 0;
  std::unique_ptr<Library> library;
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6, 7, 8};
  const float two = 2;
};
} // namespace

TEST_F(CUDADevice, Call) {
  open();
  EXPECT_EQ(library->device().name(), "cuda:0");
  EXPECT_EQ(library->gpu()->model(), "Fake GPU 0");
  EXPECT_EQ(log(), "open device 0\nattribute 8 of tile is 61568\n");
  auto results =
      call("scale_rows", {view({2, 4}, matrix.data()), view({}, &two)});
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(values(results->front()),
            (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16}));
  EXPECT_EQ(log(), "copy 32 bytes in\ncopy 4 bytes in\n"
                   "launch scale_rows grid 1 1 1 block 32 1 1 shared 0 "
                   "cluster 1 stream own\n");
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, TensorMapsAndClusters) {
  open("cuda:0");
  log();
  std::vector<float> in(5 * 8);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i + 1);
  auto results = call("tile", {view({5, 8}, in.data())});
  ASSERT_TRUE(results) << error;
  in.resize(8 * 8);
  EXPECT_EQ(values(results->front()), in);
  EXPECT_EQ(log(), "copy 160 bytes in\n"
                   "tensor map type 7 rank 2 sizes 8 5 stride 32 box 8 4 "
                   "element strides 1 1 interleave 0 swizzle 0 promotion 3 "
                   "fill 0\n"
                   "launch tile grid 2 1 1 block 32 1 1 shared 61568 "
                   "cluster 2 stream own overlaps\n");
}

TEST_F(CUDADevice, ResidentBlocks) {
  open();
  log();
  std::unique_ptr<Device> device = Device::create("cuda", error);
  ASSERT_TRUE(device && device->prepare("sm_90a", error)) << error;
  GPUDevice &gpu = *device->asGPU();
  std::unique_ptr<GPUModule> module = gpu.load(".version 8.0", {}, error);
  ASSERT_NE(module, nullptr) << error;
  log();
  // 2 blocks on each of 5 multiprocessors; asked for once.
  EXPECT_EQ(gpu.residentBlocks(*module, "tile", 64, 100, error), 10);
  EXPECT_EQ(gpu.residentBlocks(*module, "tile", 64, 100, error), 10);
  EXPECT_EQ(log(), "occupancy of tile with 64 threads, 100 bytes\n");
  EXPECT_EQ(gpu.residentBlocks(*module, "none", 64, 100, error), 0);
  EXPECT_EQ(error, "cuda:0: the library has no kernel 'none'");
}

TEST_F(CUDADevice, EmptyGridsAndArrays) {
  open();
  log();
  auto results = call("scale_rows", {view({0, 4}, nullptr), view({}, &two)});
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(results->front().text(), "f32[0x4]");
  EXPECT_EQ(log(), "copy 4 bytes in\n");
}

TEST_F(CUDADevice, PointersOfTheDevice) {
  open();
  std::shared_ptr<GPUDevice> gpu = library->gpu();
  // Any number will do where nothing is done with it but passing it on.
  auto *stream = reinterpret_cast<Stream>(0x77);
  auto x =
      DeviceTensor::upload(gpu, view({2, 4}, matrix.data()), stream, error);
  auto factor = DeviceTensor::upload(gpu, view({}, &two), stream, error);
  ASSERT_TRUE(x && factor) << error;
  log();
  auto results =
      library->callOnDevice(*library->manifest().find("scale_rows", error),
                            {x->view(), factor->view()}, stream, error);
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(log(), "launch scale_rows grid 1 1 1 block 32 1 1 shared 0 "
                   "cluster 1 stream 0x77\n");
  EXPECT_EQ(results->front().stream(), stream);
  EXPECT_EQ(results->front().bytes(), 32u);
  library.reset();
  // Results keep the device, not the library.
  auto host = results->front().download(error);
  ASSERT_TRUE(host) << error;
  EXPECT_EQ(values(*host)[7], 16);
  results.reset();
  x.reset();
  factor.reset();
  EXPECT_EQ(log(), "");
  gpu.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, ResultsThatAreInputsOrShared) {
  open();
  auto results = call("same", {view({2, 4}, matrix.data())});
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(values((*results)[0]), matrix);
  EXPECT_EQ(values((*results)[1]), std::vector<float>(8));
  EXPECT_EQ(values((*results)[2]), std::vector<float>(8));
  log();
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, ResultsInMemoryOfTheCaller) {
  open();
  std::shared_ptr<GPUDevice> gpu = library->gpu();
  auto *stream = reinterpret_cast<Stream>(0x77);
  auto x =
      DeviceTensor::upload(gpu, view({2, 4}, matrix.data()), stream, error);
  auto factor = DeviceTensor::upload(gpu, view({}, &two), stream, error);
  auto y = DeviceTensor::allocate(gpu, DataType::F32, {2, 4}, stream, error);
  ASSERT_TRUE(x && factor && y) << error;
  const Entry &entry = *library->manifest().find("scale_rows", error);
  const std::vector<TensorView> inputs = {x->view(), factor->view()};
  log();
  // Nothing is allocated.
  fail("cuMemAllocFromPoolAsync:2");
  auto results = library->callOnDevice(entry, inputs, stream, error, {*y});
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(log(), "launch scale_rows grid 1 1 1 block 32 1 1 shared 0 "
                   "cluster 1 stream 0x77\n");
  results.reset();
  auto host = y->download(error);
  ASSERT_TRUE(host) << error;
  EXPECT_EQ(values(*host)[7], 16);

  setenv("FAKE_CUDA_OWNER", "1", 1);
  EXPECT_FALSE(library->callOnDevice(entry, inputs, stream, error, {*y}));
  EXPECT_EQ(error.rfind("result 0 of 'scale_rows' expects memory of device "
                        "'cuda:0', but got 0x",
                        0),
            0u)
      << error;
  EXPECT_EQ(log(), "");
}

TEST_F(CUDADevice, DevicesWithoutPools) {
  setenv("FAKE_CUDA_POOLS", "0", 1);
  fail("cuMemAllocFromPoolAsync:1");
  open();
  auto results =
      call("scale_rows", {view({2, 4}, matrix.data()), view({}, &two)});
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(values(results->front())[7], 16);
  log();
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, FreeingAfterTheStream) {
  fail("cuMemFreeAsync:400");
  open();
  ASSERT_TRUE(call("same", {view({2, 4}, matrix.data())})) << error;
  log();
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, ErrorsOfCalls) {
  open();
  EXPECT_EQ(callError("fail_size", {view({2, 4}, matrix.data())}),
            "'fail_size': rows of operand 0: expects 3, but got 2");
  EXPECT_EQ(callError("too_large"),
            "'too_large': cuda:0: 2305843009213693952 bytes do not fit in its "
            "memory: 1000 of 2000 are free");
  EXPECT_EQ(callError("no_kernel"),
            "'no_kernel': cuda:0: the library has no kernel 'absent'");
  EXPECT_EQ(callError("wide_grid"),
            "'wide_grid': cuda:0: kernel 'scale_rows' expects 1 to 65535 "
            "blocks along y, but got 65536");
  EXPECT_EQ(callError("transposed"),
            "result 0 of 'transposed' is not row-major; the library is faulty");
  EXPECT_EQ(callError("scale_rows", {view({2, 4}, matrix.data())}),
            "'scale_rows' expects 2 inputs, but got 1");
  log();
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, ErrorsOfTheDriver) {
  open();
  const std::vector<TensorView> inputs = {view({2, 4}, matrix.data()),
                                          view({}, &two)};
  struct {
    const char *what, *expected;
  } cases[] = {
      {"cuMemcpyHtoDAsync_v2:1",
       "cuda:0: cannot copy to its memory: a made-up error (CUDA_ERROR_FAKE)"},
      {"cuLaunchKernel:701", "'scale_rows': cuda:0: cannot launch kernel "
                             "'scale_rows': a made-up error (CUDA_ERROR_FAKE)"},
      {"cuStreamSynchronize:700",
       "cuda:0: cannot finish its work: an illegal memory access was "
       "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"},
      {"cuMemAllocFromPoolAsync:2",
       "cuda:0: 32 bytes do not fit in its memory: "
       "1000 of 2000 are free"},
  };
  for (const auto &each : cases) {
    fail(each.what);
    EXPECT_EQ(callError("scale_rows", inputs), each.expected);
  }
  fail("cuTensorMapEncodeTiled:1");
  std::vector<float> in(8 * 8);
  EXPECT_EQ(callError("tile", {view({8, 8}, in.data())}),
            "'tile': cuda:0: cannot make a tensor map of 8x8: a made-up error "
            "(CUDA_ERROR_FAKE)");
  unsetenv("FAKE_CUDA_FAIL");
  EXPECT_TRUE(call("scale_rows", inputs)) << error;
  log();
  library.reset();
  EXPECT_EQ(log(), "close device 0, 0 bytes live\n");
}

TEST_F(CUDADevice, NoDriver) {
  setenv("BLOCKSCALE_LIBCUDA", "libcuda.so.none", 1);
  EXPECT_EQ(openError(), "no CUDA driver: libcuda.so.none: cannot open shared "
                         "object file: No such file or directory; install "
                         "NVIDIA's driver, or name its library in "
                         "BLOCKSCALE_LIBCUDA");
  setenv("BLOCKSCALE_LIBCUDA", variant("good").c_str(), 1);
  EXPECT_EQ(openError(), "the CUDA driver " + variant("good") +
                             " has no 'cuInit': expects one of CUDA 11.2 or "
                             "later");
}

TEST_F(CUDADevice, NoDevice) {
  fail("cuInit:100");
  EXPECT_EQ(openError(), "no CUDA device: the driver finds none");
  fail("cuInit:34");
  EXPECT_EQ(openError(), "no CUDA driver: " + variant("fake_cuda") +
                             " is the toolkit's stub, good for linking only");
  fail("cuInit:999");
  EXPECT_EQ(openError(), "the CUDA driver does not start: a made-up error "
                         "(CUDA_ERROR_FAKE)");
  unsetenv("FAKE_CUDA_FAIL");
  setenv("FAKE_CUDA_DEVICES", "2", 1);
  EXPECT_EQ(openError("gpu", "cuda:2"),
            "there is no device 'cuda:2'; the driver has cuda:0 (Fake GPU 0), "
            "cuda:1 (Fake GPU 1)");
  open("cuda:1");
  EXPECT_EQ(library->device().name(), "cuda:1");
}

TEST_F(CUDADevice, FailedOpeningLeavesNothing) {
  for (const char *what : {"cuDevicePrimaryCtxRetain:1", "cuStreamCreate:1",
                           "cuMemPoolCreate:1", "cuMemPoolSetAttribute:1"}) {
    fail(what);
    EXPECT_NE(openError().find("a made-up error"), std::string::npos) << error;
    std::string text = log();
    EXPECT_EQ(text.find("open") == std::string::npos,
              text.find("close") == std::string::npos)
        << what;
  }
}

TEST_F(CUDADevice, WrongTarget) {
  setenv("FAKE_CUDA_CAPABILITY", "100", 1);
  EXPECT_EQ(openError(), "it was compiled for 'sm_90a', which needs compute "
                         "capability 9.0 exactly, but device 'cuda:0' (Fake "
                         "GPU 0) has 10.0; compile for another target");
  EXPECT_EQ(openError("good"),
            "it was compiled for 'cpu', which device 'cuda:0' does not run; "
            "choose device 'cpu'");
  EXPECT_EQ(openError("gpu", "cpu"),
            "it was compiled for 'sm_90a', which device 'cpu' does not run; "
            "choose device 'cuda', or 'sim' for the simulator");
}

TEST_F(CUDADevice, WrongKernels) {
  EXPECT_EQ(openError("gpu_bad_ptx"),
            "cuda:0: its PTX has version 99.1, which is newer than the driver "
            "(CUDA 12.4); update the driver, or compile for an older PTX "
            "version");
  EXPECT_EQ(openError("gpu_shared"),
            "cuda:0: kernel 'tile' needs 232449 bytes of shared memory per "
            "block, but the device has 232448");
  EXPECT_EQ(openError("other_target"),
            "it was compiled for 'sm_120a', which needs compute capability "
            "12.0 exactly, but device 'cuda:0' (Fake GPU 0) has 9.0; compile "
            "for another target");
  setenv("FAKE_CUDA_CAPABILITY", "120", 1);
  EXPECT_EQ(openError("other_target"),
            "it was compiled for 'sm_120a', but exports no 'blockscale_ptx'");
  setenv("FAKE_CUDA_CAPABILITY", "90", 1);
  fail("cuModuleLoadDataEx:218");
  EXPECT_EQ(openError(),
            "cuda:0: cannot load the kernels: a made-up error "
            "(CUDA_ERROR_INVALID_PTX): ptxas error : line 7: Unknown symbol "
            "'x'");
}

TEST_F(CUDADevice, Time) {
  open();
  auto results = library->gpu()->time([] { return true; }, error);
  EXPECT_EQ(results, 0.5e-3);
  EXPECT_FALSE(library->gpu()->time([] { return false; }, error));
  EXPECT_EQ(library->gpu()->cacheBytes(), 1000u);
  fail("cuEventRecord:1");
  EXPECT_FALSE(library->gpu()->time([] { return true; }, error));
  EXPECT_EQ(error, "cuda:0: cannot record an event: a made-up error "
                   "(CUDA_ERROR_FAKE)");
}
