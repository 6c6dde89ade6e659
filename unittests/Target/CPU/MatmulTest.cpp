//===-- MatmulTest.cpp - scaled_matmul equals the exact sums --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements and scales are chosen so that every order of summation gives the
// same f64 (matmul_c2): then one f32 is right. Formats whose values have all
// their bits (nf4, f32 scales) are held to a bound instead.
//
//===----------------------------------------------------------------------===//
#include "MatmulCase.h"

#include <cmath>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

/// Whether sums of products of such values are exact in f64.
static bool isExact(const Side &side) {
  return !side.format || (side.moderate && side.format->element.kind !=
                                               ElementType::Kind::Codebook);
}

static void run(const Compiled &compiled, const MatmulCase &c,
                std::vector<int64_t> batch, int64_t m, int64_t n) {
  SCOPED_TRACE(c.describe() + ": M " + std::to_string(m) + ", N " +
               std::to_string(n));
  MatmulData data(c, batch, m, n, uint32_t(m * 1009 + n));
  std::vector<runtime::Tensor> results = compiled(data.inputs());
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].shape(), data.resultShape);
  std::vector<float> actual = floatsOf(results[0]);
  Reals expected(c.result, data.expected);
  if (isExact(c.lhs) && isExact(c.rhs))
    return expectSame(bitsOf(actual), bitsOf(expected.values), "sum");
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(data.expected[i])) { // e5m2 has NaN and infinities.
      ASSERT_TRUE(std::isnan(actual[i])) << i;
      continue;
    }
    // Half an ulp of the result, and K roundings of f64.
    double bound = std::fabs(double(data.expected[i])) * 0x1p-23 +
                   double(data.magnitude[i]) * double(c.k) * 0x1p-52;
    if (std::isinf(data.expected[i]))
      bound = 0;
    ASSERT_NEAR(actual[i], data.expected[i], bound) << i;
  }
}

static void run(const MatmulCase &c, std::vector<int64_t> batch, int64_t m,
                int64_t n) {
  Compiled compiled(c.text());
  ASSERT_TRUE(bool(compiled)) << c.text();
  run(compiled, c, batch, m, n);
}

static Side side(const Format &format) { return {format}; }
static Side side(const char *preset) { return {*Format::fromPreset(preset)}; }
static Side plain(DataType real) { return {std::nullopt, real}; }

/// A K that is an odd multiple of both blocks.
static int64_t oddK(const Side &a, const Side &b, int64_t times) {
  int64_t k = 1;
  for (const Side *side : {&a, &b})
    if (side->format)
      k = std::max(k, side->format->blockCols);
  return k * times;
}

TEST(Matmul, EveryPresetByItself) {
  for (const Preset &preset : presets()) {
    MatmulCase c{side(preset.format), side(preset.format)};
    c.k = 3 * preset.format.blockCols;
    run(c, {}, 7, 35);
  }
}

TEST(Matmul, TwoFormats) {
  const std::vector<Preset> &all = presets();
  for (size_t i = 0; i < all.size(); ++i) {
    size_t step = 1 + i % 5;
    MatmulCase c{side(all[i].format),
                 side(all[(i + step) % all.size()].format)};
    c.k = oddK(c.lhs, c.rhs, 3);
    c.alpha = i % 2;
    run(c, {}, 5, 33);
  }
}

TEST(Matmul, APlainSide) {
  const std::vector<Preset> &all = presets();
  DataType reals[] = {DataType::BF16, DataType::F16, DataType::F32};
  for (size_t i = 0; i < all.size(); ++i) {
    MatmulCase c{plain(reals[i % 3]), side(all[i].format)};
    c.k = 3 * all[i].format.blockCols;
    run(c, {}, 3, 34);
    std::swap(c.lhs, c.rhs);
    run(c, {}, 3, 34);
  }
}

// Without formats K is free.
TEST(Matmul, TwoPlainSides) {
  for (DataType real : {DataType::F32, DataType::BF16, DataType::F16})
    for (int64_t k : {1, 7, 8, 9, 1025}) {
      MatmulCase c{plain(real), plain(DataType::F32)};
      c.k = k;
      run(c, {}, 6, 31);
    }
}

TEST(Matmul, EveryM) {
  MatmulCase c{side("nvfp4"), side("nvfp4")};
  c.k = 48;
  Compiled compiled(c.text());
  ASSERT_TRUE(bool(compiled));
  for (int64_t m = 1; m <= 300; ++m)
    run(compiled, c, {}, m, 37);
  for (int64_t n = 1; n <= 100; ++n)
    run(compiled, c, {}, 5, n);
  // More rows than fit into a panel.
  run(compiled, c, {}, 512, 32);
  run(compiled, c, {}, 1100, 65);
}

// K longer than a slice, and no multiple of it.
TEST(Matmul, LongK) {
  for (const char *preset : {"nvfp4", "mxfp4", "mxint4"})
    for (int64_t blocks : {31, 65, 129}) {
      MatmulCase c{side(preset), side(preset)};
      c.k = blocks * c.lhs.format->blockCols;
      run(c, {}, 4, 33);
    }
}

TEST(Matmul, BlocksOfEveryShape) {
  std::string error;
  for (const char *block : {"8", "24", "40", "96", "128", "8x8", "16x16"}) {
    auto format = Format::fromText(
        "e2m1", {{"block", block}, {"scale", "ue4m3"}, {"tensor", "f32"}},
        error);
    ASSERT_TRUE(format) << error;
    MatmulCase c{side(*format), side(*format)};
    c.k = 11 * format->blockCols;
    c.batchDims = 1;
    run(c, {2}, 37, 29);
  }
}

TEST(Matmul, Batches) {
  for (bool shared : {false, true})
    for (int64_t dims : {1, 2}) {
      MatmulCase c{side("nvfp4"), side("mxfp8_e4m3")};
      c.k = 96;
      c.batchDims = dims;
      c.sharedRhs = shared;
      std::vector<int64_t> batch(dims, 3);
      batch[0] = 2;
      run(c, batch, 5, 9); // M, N and K differ.
    }
}

TEST(Matmul, AlphaAndC) {
  for (DataType acc : {DataType::F32, DataType::BF16, DataType::F16})
    for (DataType result : {DataType::F32, DataType::BF16, DataType::F16}) {
      MatmulCase c{side("nvfp4"), side("nvfp4")};
      c.k = 80;
      c.alpha = true;
      c.acc = acc;
      c.result = result;
      c.batchDims = acc == DataType::F32;
      run(c, c.batchDims ? std::vector<int64_t>{3} : std::vector<int64_t>(), 17,
          33);
    }
}

TEST(Matmul, ScalesInTiles) {
  for (bool left : {false, true})
    for (bool right : {false, true})
      for (const char *preset : {"nvfp4", "mxfp8_e5m2"}) {
        MatmulCase c{side(preset), side(preset)};
        c.lhs.tiled = left;
        c.rhs.tiled = right;
        c.k = 5 * c.lhs.format->blockCols;
        c.batchDims = 1;
        if (left && right) {
          c.staticM = 150;
          c.staticN = 130;
        }
        run(c, {2}, 150, 130);
      }
}

// Scales of every size, and values with all their bits.
TEST(Matmul, WithinTheContract) {
  for (const char *preset : {"nvfp4", "mxfp8_e5m2", "mxfp6_e3m2", "mxint8",
                             "nf4", "uint4", "fp4_ue5m3"}) {
    MatmulCase c{side(preset), side(preset)};
    c.lhs.moderate = c.rhs.moderate = false;
    c.k = 9 * c.lhs.format->blockCols;
    run(c, {}, 6, 33);
  }
}

TEST(Matmul, Nothing) {
  MatmulCase c{side("nvfp4"), side("nvfp4")};
  c.k = 32;
  c.batchDims = 1;
  Compiled compiled(c.text());
  ASSERT_TRUE(bool(compiled));
  run(compiled, c, {0}, 3, 4);
  run(compiled, c, {2}, 0, 4);
  run(compiled, c, {2}, 3, 0);
  run(compiled, c, {1}, 1, 1);
}
