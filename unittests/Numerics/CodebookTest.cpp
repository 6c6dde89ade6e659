//===-- CodebookTest.cpp - Elements that index sixteen values -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Codebook.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

// encode_c12: the number of thresholds strictly below x.
TEST(Codebook, NF4Thresholds) {
  Json codes = readRefs("codes/nf4.json")["codes"];
  std::vector<double> thresholds;
  for (const Json &row : codes)
    if (!row["upper_threshold"].is_null())
      thresholds.push_back(row["upper_threshold"]);
  ASSERT_EQ(thresholds.size(), 15u);
  auto expected = [&](float x) {
    uint32_t code = 0;
    for (double threshold : thresholds)
      code += double(x) > threshold;
    return code;
  };
  ElementType type = ElementType::nf4();
  for (double threshold : thresholds)
    for (float x : {float(threshold), std::nextafter(float(threshold), -2.0f),
                    std::nextafter(float(threshold), 2.0f)})
      EXPECT_EQ(encodeOne(type, x, Rounding::NearestEven), expected(x)) << x;
  for (int i = -70000; i <= 70000; ++i)
    ASSERT_EQ(encodeOne(type, i / 65536.0f, Rounding::NearestEven),
              expected(i / 65536.0f));
}

TEST(Codebook, DirectedRoundings) {
  ElementType type = ElementType::nf4();
  for (uint32_t code = 0; code < 16; ++code) {
    float value = decodeOne(type, code);
    EXPECT_EQ(encodeOne(type, value, Rounding::TowardZero), code);
    EXPECT_EQ(encodeOne(type, value, Rounding::Up), code);
  }
  // Between values 7 (0) and 8, and between 6 and 7.
  EXPECT_EQ(encodeOne(type, 0.079f, Rounding::TowardZero), 7u);
  EXPECT_EQ(encodeOne(type, 0.001f, Rounding::Up), 8u);
  EXPECT_EQ(encodeOne(type, -0.091f, Rounding::TowardZero), 7u);
  EXPECT_EQ(encodeOne(type, -0.095f, Rounding::TowardZero), 6u);
}

TEST(Codebook, SaturatesAndHasNoNaN) {
  ElementType type = ElementType::nf4();
  float infinity = std::numeric_limits<float>::infinity();
  for (Rounding rounding :
       {Rounding::NearestEven, Rounding::TowardZero, Rounding::Stochastic}) {
    EXPECT_EQ(encodeOne(type, infinity, rounding), 15u);
    EXPECT_EQ(encodeOne(type, -infinity, rounding), 0u);
    EXPECT_EQ(encodeOne(type, std::nanf(""), rounding), 7u);
    EXPECT_EQ(encodeOne(type, 1e30f, rounding), 15u);
  }
}

TEST(Codebook, ThresholdsOfIntegersAreTheirMiddles) {
  CodebookValues values;
  for (unsigned i = 0; i < 16; ++i)
    values[i] = float(i) - 8;
  ElementType type = ElementType::codebookOf(values);
  EXPECT_EQ(encodeOne(type, 0.5f, Rounding::NearestEven), 8u); // lower on a tie
  EXPECT_EQ(encodeOne(type, -0.5f, Rounding::NearestEven), 7u);
  EXPECT_EQ(encodeOne(type, std::nextafter(0.5f, 1.0f), Rounding::NearestEven),
            9u);
  EXPECT_EQ(type.maxMagnitude(), 8.0f);
}
