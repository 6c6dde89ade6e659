//===-- TensorTest.cpp - Types and arrays in memory -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Tensor.h"
#include "blockscale/Runtime/DataType.h"

#include <gtest/gtest.h>

using namespace blockscale::runtime;

TEST(DataType, NamesAndSizes) {
  EXPECT_EQ(name(DataType::BF16), "bf16");
  EXPECT_EQ(size(DataType::BF16), 2u);
  EXPECT_EQ(size(DataType::I1), 1u);
  EXPECT_EQ(size(DataType::F64), 8u);
  EXPECT_EQ(dataTypeFromName("u8"), DataType::U8);
  EXPECT_EQ(dataTypeFromName("f8E4M3FN"), std::nullopt);
  EXPECT_EQ(dataTypeFromName(""), std::nullopt);
  for (int i = 0; i <= static_cast<int>(DataType::F64); ++i) {
    DataType type = static_cast<DataType>(i);
    EXPECT_EQ(dataTypeFromName(name(type)), type);
  }
}

TEST(DataType, SameBits) {
  EXPECT_TRUE(sameBits(DataType::I8, DataType::U8));
  EXPECT_TRUE(sameBits(DataType::I64, DataType::U64));
  EXPECT_TRUE(sameBits(DataType::F32, DataType::F32));
  EXPECT_FALSE(sameBits(DataType::I32, DataType::F32));
  EXPECT_FALSE(sameBits(DataType::BF16, DataType::F16));
  EXPECT_FALSE(sameBits(DataType::I1, DataType::U8));
  EXPECT_FALSE(sameBits(DataType::I32, DataType::I64));
}

TEST(DataType, Text) {
  EXPECT_EQ(arrayText(DataType::U8, {4, 32}), "u8[4x32]");
  EXPECT_EQ(arrayText(DataType::F32, {}), "f32[]");
  EXPECT_EQ(shapeText({-1, 3}), "?x3");
}

TEST(DataType, ElementCount) {
  EXPECT_EQ(elementCount({}, 4), 1);
  EXPECT_EQ(elementCount({3, 4}, 4), 12);
  EXPECT_EQ(elementCount({3, 0}, 4), 0);
  EXPECT_EQ(elementCount({3, -1}, 4), std::nullopt);
  EXPECT_EQ(elementCount({INT64_MAX}, 1), INT64_MAX);
  EXPECT_EQ(elementCount({INT64_MAX}, 2), std::nullopt);
  EXPECT_EQ(elementCount({int64_t(1) << 32, int64_t(1) << 32}, 1),
            std::nullopt);
  // Strides of an empty array are products too.
  EXPECT_EQ(elementCount({0, int64_t(1) << 32, int64_t(1) << 32}, 1),
            std::nullopt);
}

TEST(Tensor, Allocate) {
  std::string error;
  std::optional<Tensor> tensor = Tensor::allocate(DataType::F32, {3, 5}, error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->count(), 15);
  EXPECT_EQ(tensor->bytes(), 60u);
  EXPECT_EQ(tensor->text(), "f32[3x5]");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
}

TEST(Tensor, AllocateEmpty) {
  std::string error;
  std::optional<Tensor> tensor = Tensor::allocate(DataType::F32, {0, 5}, error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->bytes(), 0u);
}

TEST(Tensor, AllocateImpossible) {
  std::string error;
  EXPECT_FALSE(Tensor::allocate(DataType::F32, {int64_t(1) << 62, 8}, error));
  EXPECT_EQ(error, "f32[4611686018427387904x8] does not fit in memory");
  EXPECT_FALSE(Tensor::allocate(DataType::F32, {-1}, error));
}

TEST(Tensor, RowMajorStrides) {
  EXPECT_EQ(rowMajorStrides({}), std::vector<int64_t>{});
  EXPECT_EQ(rowMajorStrides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
}

TEST(Tensor, CopyStrided) {
  const uint16_t source[] = {0, 1, 2, 3, 4, 5};
  uint16_t target[6];
  copyStrided(target, source, 2, {3, 2}, {1, 3});
  EXPECT_EQ(std::vector<uint16_t>(target, target + 6),
            (std::vector<uint16_t>{0, 3, 1, 4, 2, 5}));
  copyStrided(target, source, 2, {2, 2}, {3, 1});
  EXPECT_EQ(std::vector<uint16_t>(target, target + 4),
            (std::vector<uint16_t>{0, 1, 3, 4}));
  copyStrided(target, source + 5, 2, {}, {});
  EXPECT_EQ(target[0], 5);
  copyStrided(nullptr, nullptr, 2, {3, 0}, {1, 1});
}
