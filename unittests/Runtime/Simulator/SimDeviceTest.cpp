//===-- SimDeviceTest.cpp - The simulator as a device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What no compiled library gets wrong; ../GPU/GPULibraryTest.cpp calls one.
//
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/GPU/GPUDevice.h"
#include "blockscale/Sim/TensorMap.h"

#include <gtest/gtest.h>

using namespace blockscale;
using namespace blockscale::runtime;

static const char *const ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r;
  .reg .b64 %a;
  ld.param.u64 %a, [out];
  ld.param.u32 %r, [value];
  st.global.b32 [%a], %r;
  ret;
}
)";

namespace {
class SimDevice : public testing::Test {
protected:
  void SetUp() override {
    device = Device::create("sim", error);
    ASSERT_NE(device, nullptr) << error;
    ASSERT_TRUE(device->prepare("sm_90a", error)) << error;
    gpu = device->asGPU();
    ASSERT_NE(gpu, nullptr);
  }
  bool launch(int64_t numParams) {
    if (!module)
      module = gpu->load(ptx, {}, error);
    void *params[] = {&memory, &value};
    return module &&
           gpu->launch(*module,
                       {"store", {1, 1, 1}, 1, 1, 0, false, params, numParams},
                       nullptr, error);
  }

  std::string error;
  std::unique_ptr<Device> device;
  GPUDevice *gpu = nullptr;
  std::unique_ptr<GPUModule> module;
  void *memory = nullptr;
  uint32_t value = 42;
};
} // namespace

TEST_F(SimDevice, Launch) {
  memory = gpu->allocate(4, nullptr, error);
  ASSERT_TRUE(launch(2)) << error;
  uint32_t host = 0;
  ASSERT_TRUE(gpu->copyOut(&host, memory, 4, nullptr, error)) << error;
  EXPECT_EQ(host, 42u);
  EXPECT_EQ(gpu->takeProfile(), "");
  EXPECT_TRUE(gpu->enableProfile());
  ASSERT_TRUE(launch(2)) << error;
  // Two loads, a store, a return.
  EXPECT_EQ(
      gpu->takeProfile().rfind("kernel 'store': 4 warp instructions, ", 0), 0u);
  EXPECT_EQ(gpu->takeProfile(), "");
  EXPECT_FALSE(launch(1));
  EXPECT_EQ(error, "sim: kernel 'store': expects 2 parameters, but got 1");
}

TEST_F(SimDevice, FaultsAreErrors) {
  memory = gpu->allocate(2, nullptr, error);
  EXPECT_FALSE(launch(2));
  EXPECT_EQ(error.rfind("sim: kernel 'store': line 10: st.global.b32: ", 0), 0u)
      << error;
  EXPECT_EQ(gpu->load("nonsense", {}, error), nullptr);
  EXPECT_EQ(error.rfind("sim: cannot load the kernels: ", 0), 0u) << error;
  EXPECT_EQ(gpu->load(".version 8.0\n.target sm_90a\n.address_size 64\n",
                      {Kernel{"absent", {}, {}, 0}}, error),
            nullptr);
  EXPECT_EQ(error.rfind("sim: cannot load kernel 'absent': ", 0), 0u) << error;
}

TEST_F(SimDevice, MemoryIsChecked) {
  memory = gpu->allocate(8, nullptr, error);
  uint8_t bytes[16] = {};
  EXPECT_FALSE(gpu->copyIn(memory, bytes, 16, nullptr, error));
  EXPECT_EQ(error.rfind("sim: expects 16 bytes of one allocation at 0x", 0),
            0u);
  ASSERT_TRUE(gpu->fill(memory, 1, 5, nullptr, error)) << error;
  EXPECT_FALSE(gpu->copyOut(bytes, memory, 8, nullptr, error));
  EXPECT_EQ(error, "sim: byte 5 of 8 of a result was never written");
  gpu->free(memory, nullptr);
  EXPECT_FALSE(gpu->copyOut(bytes, memory, 4, nullptr, error));
  EXPECT_EQ(gpu->allocate(uint64_t(1) << 61, nullptr, error), nullptr);
}

TEST_F(SimDevice, TensorMaps) {
  sim::TensorMap map;
  const int64_t sizes[] = {64, 7}, strides[] = {128};
  const int32_t box[] = {16, 4};
  TensorMapRequest request = {map.bytes.data(), 0x1000, 9, 2, sizes,
                              strides,          box,    1};
  ASSERT_TRUE(gpu->tensorMap(request, error)) << error;
  auto shape = sim::readTensorMap(map.bytes.data());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->type, sim::TensorMapType::BF16); // BFLOAT16 is 9.
  EXPECT_EQ(shape->swizzle, sim::TensorMapSwizzle::B32);
  EXPECT_EQ(shape->size[1], 7u);
  EXPECT_EQ(shape->stride[1], 128u);
  EXPECT_EQ(shape->box[0], 16u);
  EXPECT_FALSE(shape->nanFill);
  for (int type : {-1, 10, 12, 16}) {
    request.elementType = type;
    EXPECT_FALSE(gpu->tensorMap(request, error)) << type;
  }
}
