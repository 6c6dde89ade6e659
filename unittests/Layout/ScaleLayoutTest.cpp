//===-- ScaleLayoutTest.cpp - The laws of the 128x4 scale tile ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Layout/ScaleLayout.h"

#include "gtest/gtest.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

using namespace blockscale;

static nlohmann::json readSwizzle() {
  std::ifstream file(BLOCKSCALE_REFS "/swizzle_128x4.json");
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

// layout_c2
TEST(ScaleLayout, VectorsOfOneTile) {
  nlohmann::json tile = readSwizzle()["tile"];
  ASSERT_EQ(tile.size(), 128u);
  for (int64_t row = 0; row < 128; ++row)
    for (int64_t col = 0; col < 4; ++col)
      EXPECT_EQ(tiledScaleOffset(row, col, 4), tile[row][col]);
}

// layout_c1, layout_c3
TEST(ScaleLayout, VectorsOfAMatrix) {
  nlohmann::json json = readSwizzle();
  int64_t rows = json["example_rows"], cols = json["example_cols"];
  EXPECT_EQ(tiledScaleBytes(rows, cols), json["padded_bytes"]);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      EXPECT_EQ(tiledScaleOffset(row, col, cols),
                json["example_offset"][row][col]);
}

TEST(ScaleLayout, OneTileIsABijection) {
  std::set<int64_t> offsets;
  for (int64_t row = 0; row < kScaleTileRows; ++row)
    for (int64_t col = 0; col < kScaleTileCols; ++col)
      offsets.insert(tiledScaleOffset(row, col, kScaleTileCols));
  EXPECT_EQ(offsets.size(), size_t(kScaleTileBytes));
  EXPECT_EQ(*offsets.begin(), 0);
  EXPECT_EQ(*offsets.rbegin(), kScaleTileBytes - 1);
}

static const std::pair<int64_t, int64_t> kShapes[] = {
    {1, 1},
    {1, 4},
    {32, 5},
    {127, 3},
    {128, 4},
    {129, 4},
    {200, 10},
    // A row count and a K (8224 = 257 blocks of 32) that fill no tile.
    {1296, 257}};

// layout_c3
TEST(ScaleLayout, DifferentScalesLieApartAndInside) {
  for (auto [rows, cols] : kShapes) {
    std::set<int64_t> offsets;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        offsets.insert(tiledScaleOffset(row, col, cols));
    EXPECT_EQ(int64_t(offsets.size()), rows * cols);
    EXPECT_GE(*offsets.begin(), 0);
    EXPECT_LT(*offsets.rbegin(), tiledScaleBytes(rows, cols));
  }
}

// layout_c4; vllm#45739: padded scales were uninitialised.
TEST(ScaleLayout, PaddingIsZero) {
  for (auto [rows, cols] : kShapes) {
    const int64_t batch = 2;
    std::vector<uint8_t> linear(batch * rows * cols, 0x38);
    std::vector<uint8_t> tiled(batch * tiledScaleBytes(rows, cols), 0xff);
    packTiledScales(linear.data(), tiled.data(), batch, rows, cols);
    int64_t scales = 0;
    for (uint8_t byte : tiled) {
      EXPECT_TRUE(byte == 0 || byte == 0x38);
      scales += byte == 0x38;
    }
    EXPECT_EQ(scales, batch * rows * cols);
  }
}

TEST(ScaleLayout, UnpackInvertsPack) {
  for (auto [rows, cols] : kShapes) {
    const int64_t batch = 3;
    std::vector<uint8_t> linear(batch * rows * cols);
    for (size_t i = 0; i < linear.size(); ++i)
      linear[i] = uint8_t(i * 37 + i / 251);
    std::vector<uint8_t> tiled(batch * tiledScaleBytes(rows, cols));
    packTiledScales(linear.data(), tiled.data(), batch, rows, cols);
    std::vector<uint8_t> back(linear.size());
    unpackTiledScales(tiled.data(), back.data(), batch, rows, cols);
    EXPECT_EQ(back, linear);
  }
}

// torch-mlir#4598: row 1 was put at byte 4.
TEST(ScaleLayout, SecondRowIsSixteenBytesAway) {
  EXPECT_EQ(tiledScaleOffset(1, 0, 4), 16);
  EXPECT_EQ(tiledScaleOffset(32, 0, 4), 4);
}
