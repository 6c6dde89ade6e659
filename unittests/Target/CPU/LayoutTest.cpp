//===-- LayoutTest.cpp - relayout and amax as compiled --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compiled.h"
#include "Values.h"

#include "blockscale/Numerics/Reference.h"

#include <cmath>
#include <random>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

namespace {
struct Sizes {
  std::vector<int64_t> batch;
  int64_t rows, cols;
};
} // namespace

static const Sizes kSizes[] = {
    {{}, 1, 1},    {{}, 128, 4},  {{}, 129, 5}, {{3}, 127, 3}, {{2, 2}, 33, 9},
    {{}, 300, 17}, {{2}, 256, 8}, {{0}, 5, 4},  {{}, 1, 260},
};

static std::string relayout(const std::string &from, const std::string &to) {
  return "func.func @f(%s: " + from + ") -> " + to +
         " {\n  %t = blockscale.relayout %s : " + from + " -> " + to +
         "\n  return %t : " + to + "\n}\n";
}

TEST(Layout, RelayoutBothWays) {
  for (const auto &[batch, rows, cols] : kSizes)
    for (bool dynamic : {false, true}) {
      std::string shape;
      int64_t batches = 1;
      std::vector<int64_t> linearShape = batch, tiledShape = batch;
      for (int64_t extent : batch) {
        shape += (dynamic ? "?" : std::to_string(extent)) + "x";
        batches *= extent;
      }
      // Tiles do not tell how many rows they hold.
      std::string rowText = std::to_string(rows);
      std::string rest = "x" + std::to_string(cols) + "xf8E8M0FNU";
      std::string tiles = rest + ", #blockscale.tiled_128x4>";
      SCOPED_TRACE(shape + rowText + rest);
      std::string anyRows = "tensor<" + shape + (dynamic ? "?" : rowText);
      std::string fixedRows = "tensor<" + shape + rowText;

      std::mt19937 random(uint32_t(rows * cols));
      std::vector<uint8_t> scales(batches * rows * cols);
      for (uint8_t &scale : scales)
        scale = uint8_t(random());
      std::vector<uint32_t> wide(scales.begin(), scales.end());
      std::vector<uint32_t> clean = tiledCodes(wide, batches, rows, cols);
      std::vector<uint32_t> dirty = tiledCodes(wide, batches, rows, cols, 0xa5);
      linearShape.insert(linearShape.end(), {rows, cols});
      tiledShape.push_back((rows + 127) / 128 * ((cols + 3) / 4) * 512);

      Compiled to(relayout(anyRows + rest + ">", anyRows + tiles));
      ASSERT_TRUE(bool(to));
      auto results = to({view(DataType::U8, scales.data(), linearShape)});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(results[0].shape(), tiledShape);
      expectSame(codesOf(results[0], 8), clean, "tiles");

      Compiled from(relayout(fixedRows + tiles, fixedRows + rest + ">"));
      ASSERT_TRUE(bool(from));
      std::vector<uint8_t> bytes(dirty.begin(), dirty.end());
      results = from({view(DataType::U8, bytes.data(), tiledShape)});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(results[0].shape(), linearShape);
      expectSame(codesOf(results[0], 8), wide, "linear");
    }
}

TEST(Layout, AmaxOfEverySize) {
  for (DataType type : {DataType::F32, DataType::BF16, DataType::F16}) {
    std::string source = "tensor<?x7x" + std::string(name(type)) + ">";
    Compiled amax("func.func @f(%x: " + source +
                  ") -> tensor<f32> {\n  %a = blockscale.amax %x : " + source +
                  " -> tensor<f32>\n  return %a : tensor<f32>\n}\n");
    ASSERT_TRUE(bool(amax));
    for (int64_t rows : {0, 1, 9, 10, 585, 586, 3001}) {
      Reals x(type, awkwardValues(rows * 7, uint32_t(rows), false));
      if (!x.values.empty()) {
        // The largest in the last place, and NaN is left out.
        std::vector<float> values = x.values;
        values.back() = -50000;
        values[values.size() / 2] = rows > 1 ? NAN : -50000.0f;
        x = Reals(type, values);
      }
      auto results = amax({x.view({rows, 7})});
      ASSERT_EQ(results.size(), 1u);
      expectSame(
          bitsOf(floatsOf(results[0])),
          bitsOf({reference::amax(x.values.data(), int64_t(x.values.size()))}),
          "amax");
      EXPECT_EQ(floatsOf(results[0])[0] > 40000, rows > 0);
    }
  }
}
