//===-- WmmaTest.cpp - Kernels of nvcuda::wmma ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs/Wmma.ptx is what nvcc 13.0 made of Wmma.cu for sm_80. Its tiles
// compute 2 (A B + C), of small integers here, so that every sum is exact.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(int value) {
    _Float16 half = static_cast<_Float16>(value);
    std::memcpy(&bits, &half, 2);
  }
  operator double() const {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return half;
  }
};
struct BFloat {
  uint16_t bits = 0;
  BFloat() = default;
  BFloat(int value) {
    bits = blockscale::sim::test::bits(static_cast<float>(value)) >> 16;
  }
};

/// One warp computes a tile of m x n over `depth`.
template <class Memory, class Sum>
void check(const char *entry, int m, int n, bool rowMajorB, int low = -3) {
  const int depth = 48;
  Random random(5);
  auto integers = [&](size_t count, int least, int most) {
    std::vector<int> data(count);
    for (int &x : data)
      x = least + static_cast<int>(random.next() % (most - least + 1));
    return data;
  };
  std::vector<int> a = integers(m * depth, low, 4);
  std::vector<int> b = integers(depth * n, low, 4);
  std::vector<int> c = integers(m * n, -20, 20);
  std::vector<Memory> aData(a.begin(), a.end()), bData(depth * n);
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < n; ++j)
      bData[rowMajorB ? k * n + j : j * depth + k] = b[k * n + j];
  std::vector<Sum> cData(c.begin(), c.end()), got(m * n);

  Device device;
  std::string error;
  ASSERT_TRUE(device.load(readFile(SIM_KERNELS "/Wmma.ptx"), error)) << error;
  auto upload = [&](const auto &data) {
    return device.upload(data.data(), data.size() * sizeof data[0], "data");
  };
  uint64_t d = device.allocate(got.size() * sizeof(Sum), "d");
  Launch launch;
  launch.entry = entry;
  launch.block = {32, 1, 1};
  launch.add(upload(aData)).add(upload(bData)).add(upload(cData)).add(d);
  launch.add(depth);
  Result result = device.launch(launch);
  ASSERT_TRUE(result) << entry << ": " << result.text();
  device.read(d, got.data(), got.size() * sizeof(Sum));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = c[i * n + j];
      for (int k = 0; k < depth; ++k)
        sum += a[i * depth + k] * b[k * n + j];
      ASSERT_EQ(double(got[i * n + j]), 2 * sum)
          << entry << " " << i << " " << j;
    }
}

/// Of `body` in a warp with `buffer` of 4096 bytes in shared memory.
std::string errorOf(const std::string &body) {
  Device device;
  std::string error;
  if (!device.load(".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".entry k()\n{\n.reg .b32 %r<20>; .reg .f32 %f<9>;\n"
                   ".shared .align 128 .b8 buffer[4096];\n" +
                       body + "\nret;\n}\n",
                   error))
    return error;
  Launch launch;
  launch.entry = "k";
  launch.block = {32, 1, 1};
  return device.launch(launch).text();
}
bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(Wmma, EveryTypeAndShape) {
  check<Half, float>("f16_f32", 16, 16, false);
  check<Half, Half>("f16_f16", 32, 8, true);
  check<Half, float>("f16_wide", 8, 32, false);
  check<BFloat, float>("bf16", 16, 16, true);
  check<BFloat, float>("bf16_tall", 32, 8, false);
  check<BFloat, float>("bf16_wide", 8, 32, true);
  check<int8_t, int>("s8", 16, 16, false);
  check<uint8_t, int>("u8_tall", 32, 8, true, 0);
  check<int8_t, int>("s8_wide", 8, 32, false);
  check<float, float>("tf32", 16, 16, false);
  check<double, double>("f64", 8, 8, true);
}

TEST(Wmma, Faults) {
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
                           "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, ";
  std::string unwritten = errorOf(load + "[buffer], 16;");
  EXPECT_TRUE(contains(unwritten, "was never written") ||
              contains(unwritten, "uninitialised"))
      << unwritten;
  EXPECT_TRUE(contains(errorOf(load + "[buffer+8], 16;"), "multiples of"));
  EXPECT_TRUE(contains(errorOf(load + "[buffer], 20;"),
                       "multiples of 16 bytes, but the stride has 40"));
  EXPECT_TRUE(contains(errorOf("mov.u32 %r8, %laneid; shl.b32 %r8, %r8, 4;\n" +
                               load + "[buffer], %r8;"),
                       "same address and stride"));
  std::string part = errorOf(".reg .pred %p; mov.u32 %r8, %laneid; "
                             "setp.lt.u32 %p, %r8, 9;\n@%p " +
                             load + "[buffer], 16;");
  EXPECT_TRUE(contains(part, "line 9: wmma.load")) << part;
  EXPECT_FALSE(contains(part, "written")) << part;
  EXPECT_TRUE(
      contains(errorOf(load.substr(0, load.rfind(",%r7")) + "}, [buffer], 16;"),
               "expects 8 registers of a fragment, but got 7"));
  EXPECT_TRUE(
      contains(errorOf("wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r0}, "
                       "[buffer], 32;"),
               "does not know this combination of shape and type"));
}
