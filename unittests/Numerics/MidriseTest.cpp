//===-- MidriseTest.cpp - Integers without a zero -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Midrise.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

/// encode_c9 in double: the code of the value nearest to x.
static int nearest(double x, unsigned bits, Rounding rounding) {
  int least = -(1 << (bits - 1)), most = (1 << (bits - 1)) - 1;
  if (std::signbit(x) ? x <= least + 0.5 : x >= most + 0.5)
    return std::signbit(x) ? least : most;
  int low = int(std::floor(x - 0.5));
  // x - 1/2 is inexact in double only for magnitudes below 2^-53.
  if (x != 0 && std::fabs(x) < 0x1p-50)
    low = -1;
  double fraction = x - (low + 0.5);
  bool tie = x == std::floor(x);
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = tie ? (low & 1) != 0 : x > low + 1;
    break;
  case Rounding::NearestAway:
    up = tie ? !std::signbit(x) : x > low + 1;
    break;
  case Rounding::NearestZero:
    up = tie ? std::signbit(x) : x > low + 1;
    break;
  case Rounding::TowardZero:
    up = std::signbit(x) && fraction > 0;
    break;
  default:
    up = fraction > 0;
    break;
  }
  int code = low + up;
  if (rounding == Rounding::TowardZero || rounding == Rounding::NearestZero)
    code = std::signbit(x) ? std::min(code, -1) : std::max(code, 0);
  return code;
}

TEST(Midrise, NearestValue) {
  std::vector<float> inputs = {0.0f, -0.0f, 1e-45f, -1e-45f, 1e-30f, -1e-30f};
  for (int i = -1100; i <= 1100; ++i)
    for (float step : {0.0f, 1e-5f, -1e-5f})
      inputs.push_back(i / 8.0f + step);
  for (unsigned bits = 1; bits <= 8; ++bits)
    for (Rounding rounding :
         {Rounding::NearestEven, Rounding::NearestAway, Rounding::NearestZero,
          Rounding::TowardZero, Rounding::Up})
      for (float x : inputs)
        ASSERT_EQ(encodeOne(ElementType::midrise(bits), x, rounding),
                  uint32_t(nearest(x, bits, rounding)) & ((1u << bits) - 1))
            << x << " in " << bits << " bits, rounding " << int(rounding);
}

TEST(Midrise, FloorAwayFromTies) {
  // QuEST: floor(x) + 1/2.
  ElementType type = ElementType::midrise(4);
  for (float x : {-7.9f, -0.3f, 0.3f, 1.7f, 6.999f})
    EXPECT_EQ(decodeOne(type, encodeOne(type, x, Rounding::NearestEven)),
              std::floor(x) + 0.5f);
  EXPECT_EQ(decodeOne(type, encodeOne(type, 100, Rounding::NearestEven)), 7.5f);
  EXPECT_EQ(decodeOne(type, encodeOne(type, -100, Rounding::NearestEven)),
            -7.5f);
  EXPECT_EQ(encodeOne(type, std::nanf(""), Rounding::NearestEven), 0u);
}

TEST(Midrise, StochasticThreshold) {
  // 1.0 lies half-way between 0.5 (code 0) and 1.5 (code 1).
  ElementType type = ElementType::midrise(4);
  EXPECT_EQ(encodeOne(type, 1.0f, Rounding::Stochastic, 0x7fffffff), 1u);
  EXPECT_EQ(encodeOne(type, 1.0f, Rounding::Stochastic, 0x80000000), 0u);
  // -0.25 is a quarter from -0.5 (code -1) on the way to 0.5.
  EXPECT_EQ(encodeOne(type, -0.25f, Rounding::Stochastic, 0x3fffffff), 0u);
  EXPECT_EQ(encodeOne(type, -0.25f, Rounding::Stochastic, 0x40000000), 15u);
}
