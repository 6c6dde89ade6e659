//===-- ConvertTest.cpp - Float arrays, width to width ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Convert.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace blockscale::runtime;

TEST(Convert, BF16KnownValues) {
  EXPECT_EQ(toBF16(1.0), 0x3F80);
  EXPECT_EQ(toBF16(-0.0), 0x8000);
  EXPECT_EQ(toBF16(1.00390625), 0x3F80); // 1 + 2^-8: a tie, to even
  EXPECT_EQ(toBF16(1.01171875), 0x3F82); // 1 + 3 * 2^-8: a tie, to even
  EXPECT_EQ(toBF16(3.3895313892515355e38), 0x7F7F);
  EXPECT_EQ(toBF16(3.4e38), 0x7F80); // beyond the largest by over half
  EXPECT_EQ(toBF16(1e300), 0x7F80);
  EXPECT_EQ(toBF16(std::ldexp(1.0, -133)), 0x0001);
  EXPECT_EQ(toBF16(std::ldexp(1.0, -134)), 0x0000); // a tie, to even
  EXPECT_EQ(toBF16(std::ldexp(1.5, -134)), 0x0001);
  EXPECT_EQ(toBF16(-std::numeric_limits<double>::infinity()), 0xFF80);
}

TEST(Convert, BF16RoundsOnce) {
  // Just above a tie of bf16, by less than f32 can tell: through f32 it would
  // become the tie, and then the even number below.
  double above = 1.00390625 + std::ldexp(1.0, -40);
  EXPECT_EQ(toBF16(above), 0x3F81);
  double below = 1.01171875 - std::ldexp(1.0, -40);
  EXPECT_EQ(toBF16(below), 0x3F81);
}

TEST(Convert, F16RoundsOnce) {
  EXPECT_EQ(toF16(1.0), 0x3C00);
  EXPECT_EQ(toF16(65504), 0x7BFF);
  EXPECT_EQ(toF16(65520), 0x7C00);
  EXPECT_EQ(toF16(1 + std::ldexp(1.0, -11)), 0x3C00);
  EXPECT_EQ(toF16(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), 0x3C01);
  EXPECT_EQ(toF16(std::ldexp(1.0, -24)), 0x0001);
}

TEST(Convert, NaNStaysNaN) {
  uint32_t lowPayload = 0x7F800001;
  float nan;
  std::memcpy(&nan, &lowPayload, sizeof nan);
  EXPECT_TRUE(std::isnan(fromBF16(toBF16(nan))));
  EXPECT_TRUE(std::isnan(fromF16(toF16(nan))));
}

TEST(Convert, EveryCodeSurvives) {
  for (uint32_t code = 0; code <= 0xFFFF; ++code) {
    float wide = fromBF16(static_cast<uint16_t>(code));
    if (!std::isnan(wide))
      ASSERT_EQ(toBF16(wide), code);
    wide = fromF16(static_cast<uint16_t>(code));
    if (!std::isnan(wide))
      ASSERT_EQ(toF16(wide), code);
  }
}

TEST(Convert, Arrays) {
  std::string error;
  std::optional<Tensor> doubles = Tensor::allocate(DataType::F64, {3}, error);
  ASSERT_TRUE(doubles) << error;
  const double values[] = {1, -2.5, 65520};
  std::memcpy(doubles->data(), values, sizeof values);
  for (DataType type : {DataType::F16, DataType::BF16, DataType::F32}) {
    std::optional<Tensor> narrow = convertFloats(*doubles, type, error);
    ASSERT_TRUE(narrow) << error;
    EXPECT_EQ(narrow->type(), type);
    EXPECT_EQ(narrow->shape(), doubles->shape());
    std::optional<Tensor> back = convertFloats(*narrow, DataType::F64, error);
    ASSERT_TRUE(back) << error;
    EXPECT_EQ(valueAt(*back, 0), 1);
    EXPECT_EQ(valueAt(*back, 1), -2.5);
    EXPECT_EQ(valueAt(*back, 2),
              type == DataType::F16    ? std::numeric_limits<double>::infinity()
              : type == DataType::BF16 ? 65536 // 8 significant bits
                                       : 65520);
  }
}
