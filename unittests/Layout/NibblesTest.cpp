//===-- NibblesTest.cpp - Two 4-bit codes in a byte -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Layout/Nibbles.h"

#include "gtest/gtest.h"
#include <vector>

using namespace blockscale;

// layout_c5
TEST(Nibbles, EvenIndexInTheLowNibble) {
  const uint8_t codes[] = {1, 2, 3, 4};
  uint8_t bytes[2];
  packNibbles(codes, bytes, 4);
  EXPECT_EQ(bytes[0], 0x21);
  EXPECT_EQ(bytes[1], 0x43);
}

TEST(Nibbles, EveryPairRoundTrips) {
  std::vector<bool> seen(256);
  for (uint8_t low = 0; low < 16; ++low)
    for (uint8_t high = 0; high < 16; ++high) {
      const uint8_t codes[] = {low, high};
      uint8_t byte, back[2];
      packNibbles(codes, &byte, 2);
      unpackNibbles(&byte, back, 2);
      EXPECT_EQ(back[0], low);
      EXPECT_EQ(back[1], high);
      EXPECT_FALSE(seen[byte]);
      seen[byte] = true;
    }
}

TEST(Nibbles, HighBitsOfACodeAreDropped) {
  const uint8_t codes[] = {0xf5, 0xfa};
  uint8_t byte;
  packNibbles(codes, &byte, 2);
  EXPECT_EQ(byte, 0xa5);
}
