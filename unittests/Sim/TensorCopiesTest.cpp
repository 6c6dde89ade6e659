//===-- TensorCopiesTest.cpp - Bulk and tensor copies -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "blockscale/Sim/TensorMap.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
std::string coordinates(unsigned rank) {
  std::string text;
  for (unsigned k = 0; k < rank; ++k)
    text += (k ? ", %c" : "%c") + std::to_string(k);
  return "{" + text + "}";
}

/// Copies a box to shared memory and its raw bytes to `raw`; then, if `back` is
/// a map, the box to that tensor.
std::string kernel(unsigned rank, unsigned bytes) {
  std::string n = std::to_string(rank), size = std::to_string(bytes);
  std::string load;
  for (unsigned k = 0; k < rank; ++k)
    load += "ld.param.u32 %c" + std::to_string(k) + ", [start+" +
            std::to_string(4 * k) + "];\n";
  return ".version 8.6\n.target sm_90a\n.address_size 64\n"
         ".visible .entry copy(.param .align 64 .b8 from[128],"
         " .param .align 64 .b8 to[128], .param .align 4 .b8 start[20],"
         " .param .u64 raw)\n{ .reg .b64 %d<9>; .reg .b32 %r<9>, %c<5>;\n"
         ".reg .pred %p<3>;\n.shared .align 1024 .b8 tile[" +
         size + "];\n.shared .align 8 .b64 bar;\n" + load +
         "mov.b64 %d0, from; cvta.param.u64 %d0, %d0;\n"
         "mov.b64 %d1, to; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [raw];\n"
         "mov.u32 %r0, tile; mov.u32 %r1, bar; mov.u32 %r2, %tid.x;\n"
         "setp.eq.u32 %p0, %r2, 0;\n"
         "@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\n"
         "@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
         "@!%p0 bra wait;\n"
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], " +
         size +
         ";\n"
         "cp.async.bulk.tensor." +
         n +
         "d.shared::cluster.global.tile."
         "mbarrier::complete_tx::bytes [%r0], [%d0, " +
         coordinates(rank) +
         "], [%r1];\nwait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1],"
         " 0;\n@!%p1 bra wait;\nmov.u32 %r3, %r2;\n"
         "loop: setp.ge.u32 %p1, %r3, " +
         std::to_string(bytes / 4) +
         ";\n@%p1 bra done; mad.lo.u32 %r4, %r3, 4, %r0;\n"
         "ld.shared.b32 %r5, [%r4]; mad.wide.u32 %d3, %r3, 4, %d2;\n"
         "st.global.b32 [%d3], %r5; add.u32 %r3, %r3, 64; bra loop;\n"
         "done: ld.param.b8 %r6, [to]; setp.eq.u32 %p1, %r6, 0; @%p1 bra end;\n"
         "@!%p0 bra end;\ncp.async.bulk.tensor." +
         n + "d.global.shared::cta.tile.bulk_group [%d1, " + coordinates(rank) +
         "], [%r0];\ncp.async.bulk.commit_group;\n"
         "cp.async.bulk.wait_group 0;\nend: ret; }\n";
}

struct Copy {
  TensorMapShape shape;
  std::vector<uint8_t> data;
  std::array<int32_t, 5> start = {};
  std::vector<uint8_t> raw, back;

  /// Dense data of `elementBytes`, each byte different from its neighbours.
  Copy(TensorMapType type, unsigned elementBytes, std::vector<uint64_t> size,
       std::vector<uint32_t> box, TensorMapSwizzle swizzle) {
    shape.type = type;
    shape.rank = size.size();
    uint64_t stride = elementBytes;
    for (unsigned k = 0; k < shape.rank; ++k) {
      shape.size[k] = size[k];
      shape.box[k] = box[k];
      shape.stride[k] = k ? stride : 0;
      stride *= size[k];
    }
    shape.swizzle = swizzle;
    data.resize(stride);
    Random random(stride);
    for (uint8_t &byte : data)
      byte = random.next();
  }
  void run(unsigned boxBytes, bool store) {
    Device device;
    std::string error;
    ASSERT_TRUE(device.load(kernel(shape.rank, boxBytes), error)) << error;
    shape.address = device.upload(data.data(), data.size(), "tensor");
    std::optional<TensorMap> from = makeTensorMap(shape, error);
    ASSERT_TRUE(from) << error;
    TensorMapShape target = shape;
    target.address = device.allocate(data.size(), "target");
    device.fill(target.address, 0xee, data.size());
    std::optional<TensorMap> to = makeTensorMap(target, error);
    TensorMap none = {};
    uint64_t bytes = device.allocate(boxBytes, "raw");
    Launch launch;
    launch.entry = "copy";
    launch.block = {64};
    launch.add(*from).add(store ? *to : none).add(start).add(bytes);
    Result result = device.launch(launch);
    ASSERT_TRUE(result) << result.text();
    raw.resize(boxBytes);
    device.read(bytes, raw.data(), boxBytes);
    back.resize(data.size());
    device.read(target.address, back.data(), back.size());
  }
};
} // namespace

TEST(TensorCopies, Swizzles) {
  // Rows of the swizzle's width; the unit of 16 bytes u of row r lies at u ^ x,
  // where x counts rows of 128 bytes: r % 8, r / 2 % 4, r / 4 % 2.
  struct Case {
    TensorMapSwizzle swizzle;
    unsigned span;
    unsigned (*x)(unsigned row);
  };
  for (const Case &test :
       {Case{TensorMapSwizzle::B128, 128, [](unsigned r) { return r % 8; }},
        Case{TensorMapSwizzle::B64, 64, [](unsigned r) { return r / 2 % 4; }},
        Case{TensorMapSwizzle::B32, 32, [](unsigned r) { return r / 4 % 2; }},
        Case{TensorMapSwizzle::None, 64, [](unsigned) { return 0u; }}}) {
    Copy copy(TensorMapType::BF16, 2, {256, 64}, {test.span / 2, 32},
              test.swizzle);
    copy.start = {32, 16};
    copy.run(test.span * 32, true);
    for (unsigned r = 0; r < 32; ++r)
      for (unsigned b = 0; b < test.span; ++b) {
        unsigned unit = b / 16 ^ test.x(r);
        ASSERT_EQ(copy.raw[r * test.span + unit * 16 + b % 16],
                  copy.data[(16 + r) * 512 + 64 + b])
            << test.span << " " << r << " " << b;
      }
    // The store puts the box back in its place and touches nothing else.
    for (unsigned r = 0; r < 64; ++r)
      for (unsigned b = 0; b < 512; ++b) {
        bool inside = r >= 16 && r < 48 && b >= 64 && b < 64 + test.span;
        ASSERT_EQ(copy.back[r * 512 + b],
                  inside ? copy.data[r * 512 + b] : 0xee);
      }
  }
}

TEST(TensorCopies, OutOfBoundsIsZero) {
  Copy copy(TensorMapType::F32, 4, {20, 10}, {16, 8}, TensorMapSwizzle::None);
  copy.start = {12, -3};
  copy.run(16 * 8 * 4, true);
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 16; ++c) {
      uint32_t got = 0, expected = 0;
      std::memcpy(&got, &copy.raw[(r * 16 + c) * 4], 4);
      if (r >= 3 && c < 8)
        std::memcpy(&expected, &copy.data[((r - 3) * 20 + 12 + c) * 4], 4);
      ASSERT_EQ(got, expected) << r << " " << c;
    }
}

TEST(TensorCopies, FiveDimensions) {
  Copy copy(TensorMapType::U8, 1, {32, 3, 4, 3, 2}, {16, 2, 2, 2, 1},
            TensorMapSwizzle::None);
  copy.start = {16, 1, 2, 0, 1};
  copy.run(16 * 8, false);
  for (unsigned i = 0; i < 128; ++i) {
    unsigned x = i % 16, y = i / 16 % 2, z = i / 32 % 2, w = i / 64;
    unsigned from = ((((1 * 3 + w) * 4 + 2 + z) * 3) + 1 + y) * 32 + 16 + x;
    ASSERT_EQ(copy.raw[i], copy.data[from]);
  }
}

TEST(TensorCopies, MapsAreChecked) {
  TensorMapShape shape;
  shape.type = TensorMapType::BF16;
  shape.rank = 2;
  shape.address = 512;
  shape.size = {64, 8};
  shape.stride = {0, 128};
  shape.box = {64, 8};
  std::string error;
  EXPECT_TRUE(makeTensorMap(shape, error));
  shape.swizzle = TensorMapSwizzle::B64;
  EXPECT_FALSE(makeTensorMap(shape, error));
  EXPECT_EQ(error,
            "expects an inner box of at most the swizzle's 64 bytes, but "
            "got 128");
  shape.swizzle = TensorMapSwizzle::None;
  shape.stride[1] = 120;
  EXPECT_FALSE(makeTensorMap(shape, error));
  EXPECT_EQ(error, "expects stride[1] that is a multiple of 16 below 2^40, but "
                   "got 120");
}
