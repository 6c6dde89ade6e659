//===-- BalanceTest.cpp - Factors that even out rows and columns ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Balance.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace blockscale;

namespace {

// sinkhorn_log clips the logarithms of factors to -0.3 and 10.
TEST(BalanceTest, LimitsAreThoseOfSINQ) {
  EXPECT_FLOAT_EQ(kMinFactor, float(std::exp(-0.3)));
  EXPECT_FLOAT_EQ(kMaxFactor, float(std::exp(10.0)));
}

TEST(BalanceTest, AFactorMovesByAtMostTwoAndStaysInItsLimits) {
  HostBuilder b;
  auto next = [&](float factor, float deviation, float target) {
    return nextFactor(b, b.f32(factor), b.f32(deviation), b.f32(target))
        .asFloat();
  };
  EXPECT_EQ(next(1, 3, 2), 1.5f);
  EXPECT_EQ(next(1, 100, 2), 2.0f);
  EXPECT_EQ(next(4, 0.1f, 2), 4 * 0.7f);
  EXPECT_EQ(next(1, 0.1f, 2), kMinFactor);
  EXPECT_EQ(next(20000, 100, 1), kMaxFactor);
  // Deviations outside of [1e-3, 1e3] count as these.
  EXPECT_EQ(next(1, 0, 1e-3f), 1.0f);
}

// Two columns, one three times the other, rows alike: one step divides by 2.
TEST(BalanceTest, ColumnsBecomeEven) {
  std::vector<float> w = {1, -3, -1, 3, 1, -3, -1, 3};
  reference::Balanced result{std::vector<float>(8), std::vector<float>(2)};
  reference::balanceTiles(w.data(), 4, 2, 2, 2, 0, 1, result);
  EXPECT_NEAR(result.columns[1] / result.columns[0], 2, 1e-5);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(result.values[i], w[i] / result.columns[i % 2]);
}

TEST(BalanceTest, ATileWithANaNIsLeftAlone) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> w = {1, 30, 1, 30, nan, 4, 5, 60};
  reference::Balanced result{std::vector<float>(8), std::vector<float>(4)};
  reference::balanceTiles(w.data(), 2, 4, 2, 8, 0, 2, result);
  EXPECT_EQ(result.columns[0], 1);
  EXPECT_EQ(result.columns[1], 1);
}

} // namespace
