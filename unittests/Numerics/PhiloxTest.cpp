//===-- PhiloxTest.cpp - Counter-based random bits ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Philox.h"
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

// random_c1: the known answers published with Random123.
TEST(Philox, KnownAnswers) {
  struct Row {
    uint32_t counter[4], key[2], words[4];
  };
  const Row rows[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  HostBuilder b;
  for (const Row &row : rows) {
    auto words = philox4x32_10<HostBuilder>(
        b, b.i32(row.counter[0]), b.i32(row.counter[1]), b.i32(row.counter[2]),
        b.i32(row.counter[3]), b.i32(row.key[0]), b.i32(row.key[1]));
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(words[i][0], row.words[i]);
  }
}

// random_c2: the word of element i is word i % 4 of counter i / 4, whatever
// the width of the vector that draws it; the counter carries into its high
// word inside a vector.
TEST(Philox, LanesDependOnTheIndexAlone) {
  HostBuilder b;
  const uint64_t seed = 0x0123456789abcdefull;
  HostValue seedLow = b.i32(uint32_t(seed)), seedHigh = b.i32(seed >> 32);
  for (uint64_t first : {uint64_t(0), uint64_t(4096), (uint64_t(1) << 34) - 16,
                         (uint64_t(1) << 32) - 8})
    for (unsigned count : {4u, 8u, 32u}) {
      HostValue lanes =
          randomLanes(b, b.i32(uint32_t(first)), b.i32(uint32_t(first >> 32)),
                      count, seedLow, seedHigh);
      ASSERT_EQ(lanes.lanes(), count);
      for (unsigned i = 0; i < count; ++i) {
        uint64_t group = (first + i) / 4;
        auto words = philox4x32_10<HostBuilder>(
            b, b.i32(uint32_t(group)), b.i32(uint32_t(group >> 32)), b.i32(0),
            b.i32(0), seedLow, seedHigh);
        EXPECT_EQ(lanes[i], words[(first + i) % 4][0]) << first << " " << i;
      }
    }
}

// The generator of the reference tensors is not ours, but they are built on it.
TEST(Pcg32, ReproducesTheReferenceStream) {
  Json json = readRefs("prng.json");
  Pcg32 words(json["seed"], json["seq"]), numbers(json["seed"], json["seq"]);
  for (const Json &word : json["first_u32"])
    EXPECT_EQ(words.next(), hexBits(word));
  for (const Json &normal : json["first_normals_f32"])
    EXPECT_EQ(bitsOfF32(numbers.normal()), hexBits(normal));
  Json gemm = readRefs("gemm_vectors.json");
  EXPECT_EQ(Pcg32(11).normals(1024), hexFloats(gemm["a"]));
  EXPECT_EQ(Pcg32(12).normals(1024), hexFloats(gemm["b"]));
}
