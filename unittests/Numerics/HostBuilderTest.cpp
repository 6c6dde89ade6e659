//===-- HostBuilderTest.cpp - The numeric templates on host bits ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/HostBuilder.h"

#include "gtest/gtest.h"
#include <limits>

using namespace blockscale;

TEST(HostBuilder, BroadcastsScalars) {
  HostBuilder b;
  HostValue lanes = b.laneConstants({1, 2, 3, 4});
  HostValue sum = b.add(lanes, b.i32(10)), difference = b.sub(b.i32(10), lanes);
  ASSERT_EQ(b.lanes(sum), 4u);
  EXPECT_EQ(sum[3], 14u);
  EXPECT_EQ(difference[3], 6u);
  HostValue picked = b.select(b.ugt(lanes, b.i32(2)), lanes, b.i32(0));
  EXPECT_EQ(picked[1], 0u);
  EXPECT_EQ(picked[2], 3u);
}

TEST(HostBuilder, SignedAndUnsigned) {
  HostBuilder b;
  HostValue minusOne = b.i32(~0u), one = b.i32(1);
  EXPECT_EQ(b.ult(minusOne, one)[0], 0u);
  EXPECT_EQ(b.slt(minusOne, one)[0], 1u);
  EXPECT_EQ(b.umax(minusOne, one)[0], ~0u);
  EXPECT_EQ(b.smax(minusOne, one)[0], 1u);
  EXPECT_EQ(b.lshr(minusOne, b.i32(28))[0], 15u);
  EXPECT_EQ(b.ashr(minusOne, b.i32(28))[0], ~0u);
  auto [low, high] = b.mulWide(minusOne, minusOne);
  EXPECT_EQ(low[0], 1u);
  EXPECT_EQ(high[0], 0xfffffffeu);
  EXPECT_EQ(b.toFloat(minusOne).asFloat(), -1.0f);
}

TEST(HostBuilder, OrderedComparisonsAreFalseOnNaN) {
  HostBuilder b;
  HostValue nan = b.f32(std::numeric_limits<float>::quiet_NaN());
  HostValue one = b.f32(1);
  EXPECT_EQ(b.flt(nan, one)[0] | b.fle(nan, one)[0] | b.fgt(nan, one)[0], 0u);
  EXPECT_EQ(b.fle(one, one)[0], 1u);
}

// The order of additions is part of the builder's contract.
TEST(HostBuilder, ReducesByHalving) {
  HostBuilder b;
  float lanes[] = {1.0f, 0x1p24f, 1.0f, -0x1p24f, 1.0f};
  // Padded to eight: (1 + 1, 2^24, 1, -2^24), then (2 + 1, 2^24 - 2^24).
  EXPECT_EQ(b.reduceFAdd(HostValue::ofFloats(lanes, 5)).asFloat(), 3.0f);
  EXPECT_EQ(b.reduceUMax(b.laneConstants({3, ~0u, 7}))[0], ~0u);
}

TEST(HostBuilder, MovesLanes) {
  HostBuilder b;
  HostValue reversed = b.shuffle(b.laneConstants({1, 2, 3}), {2, 1, 0});
  EXPECT_EQ(reversed[0], 3u);
  HostValue words =
      b.interleave4(b.laneConstants({0, 4}), b.laneConstants({1, 5}),
                    b.laneConstants({2, 6}), b.laneConstants({3, 7}));
  ASSERT_EQ(words.lanes(), 8u);
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(words[i], i);
}
