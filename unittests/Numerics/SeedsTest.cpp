//===-- SeedsTest.cpp - Derived seeds and random signs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Seeds.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace blockscale;

namespace {

// The first outputs of SplitMix64 from state 0.
TEST(SeedsTest, SitesAreTheStepsOfSplitMix64) {
  EXPECT_EQ(deriveSeed(0, 1), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(deriveSeed(0, 2), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(deriveSeed(0, 3), 0x06C45D188009454Fu);
}

// Seeds collide only where base + site * stride does; sites less than 2^16
// apart move it by at least 2^47.
TEST(SeedsTest, NearbyBasesShareNoSeed) {
  uint64_t closest = ~uint64_t(0);
  for (uint64_t sites = 1; sites < uint64_t(kMaxSites); ++sites) {
    uint64_t distance = sites * kSiteStride;
    closest = std::min({closest, distance, 0 - distance});
  }
  EXPECT_GE(closest, uint64_t(1) << 47);
}

TEST(SeedsTest, SignsAreTopBitsOfTheThirdCounterWord) {
  HostBuilder b;
  uint64_t seed = 0x123456789ABCDEF0u;
  std::vector<int8_t> signs = randomSigns(seed, 30);
  ASSERT_EQ(signs.size(), 30u);
  for (unsigned i = 0; i < 30; ++i) {
    auto words = philox4x32_10(b, b.i32(i / 4), b.i32(0), b.i32(1), b.i32(0),
                               b.i32(uint32_t(seed)), b.i32(seed >> 32));
    EXPECT_EQ(signs[i], words[i % 4][0] >> 31 ? -1 : 1) << i;
  }
  // More signs do not change the first ones.
  std::vector<int8_t> more = randomSigns(seed, 256);
  EXPECT_TRUE(std::equal(signs.begin(), signs.end(), more.begin()));
}

} // namespace
