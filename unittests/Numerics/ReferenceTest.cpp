//===-- ReferenceTest.cpp - Whole tensors on the host ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Reference.h"
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

/// Quantizes both operands of the GEMM vectors and multiplies them.
static void expectGemm(const Json &json, const char *key, const Format &format,
                       const ScaleRule &rule) {
  int64_t k = json["K"];
  const Json &expected = json[key];
  std::vector<float> values[2];
  double factor = 1;
  for (int side = 0; side < 2; ++side) {
    std::vector<float> x = hexFloats(json[side ? "b" : "a"]);
    RoundTrip coded(format, rule, x, 4, k);
    const Json &vector = expected[side ? "B" : "A"];
    EXPECT_EQ(coded.scales.codes,
              vector["scales"].get<std::vector<uint32_t>>());
    EXPECT_EQ(coded.codes, vector["codes"].get<std::vector<uint8_t>>());
    values[side] =
        reference::dequantize(format, coded.scales, coded.codes.data(),
                              {1, 4, k}, /*withTensorScale=*/false);
    factor *= double(coded.scales.tensorScale);
  }
  std::vector<float> d = reference::scaledMatmul(
      values[0].data(), values[1].data(), 1, 4, 4, k, factor);
  std::vector<double> exact = expected["exact"].get<std::vector<double>>();
  ASSERT_EQ(d.size(), exact.size());
  for (size_t i = 0; i < d.size(); ++i)
    EXPECT_EQ(d[i], float(exact[i])) << key << " " << i;
}

// matmul_c1, matmul_c2
TEST(Reference, GemmVectors) {
  Json json = readRefs("gemm_vectors.json");
  expectGemm(json, "nvfp4_te", formatOf("nvfp4"), ruleOf("two_level"));
  expectGemm(json, "mxfp4_rceil", formatOf("mxfp4"), ruleOf("rceil"));
}

// matmul_c3
TEST(Reference, MatmulWithFactorAndC) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};        // 3 x 2
  std::vector<float> b = {1, 0, 0, 1, 1, 1, 2, -1}; // 4 x 2
  std::vector<float> c(12, 100.0f);
  EXPECT_EQ(
      reference::scaledMatmul(a.data(), b.data(), 1, 3, 4, 2, 0.5, c.data()),
      (std::vector<float>{100.5, 101, 101.5, 100, 101.5, 102, 103.5, 101, 102.5,
                          103, 105.5, 102}));
}

TEST(Reference, AmaxLeavesNaNOut) {
  std::vector<float> x(1001, 0.5f);
  x[7] = std::nanf("");
  x[1000] = -3.0f;
  EXPECT_EQ(reference::amax(x.data(), 1001), 3.0f);
  EXPECT_EQ(reference::amax(x.data(), 0), 0.0f);
}

// format_c1: a 2-D block shares its scale over rows and columns, and a trailing
// row of blocks may be shorter.
TEST(Reference, SquareBlocks) {
  Format square = formatOf("nvfp4", {{"block", "16x16"}});
  ScaleRule rule = ruleOf("two_level");
  std::vector<float> x = Pcg32(4).normals(40 * 32);
  reference::Scales scales =
      reference::scale(square, rule, x.data(), {1, 40, 32});
  ASSERT_EQ(scales.codes.size(), 3u * 2);
  float tensorAmax = reference::amax(x.data(), 40 * 32);
  float level = 2688.0f / tensorAmax;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      float amax = 0;
      for (int64_t row = i * 16; row < std::min<int64_t>(40, i * 16 + 16);
           ++row)
        for (int64_t col = j * 16; col < j * 16 + 16; ++col)
          amax = std::max(amax, std::fabs(x[row * 32 + col]));
      EXPECT_EQ(scales.codes[i * 2 + j],
                encodeScaleOne(square.scale, amax * (level * (1.0f / 6))));
    }
  // Each row encodes as it would alone, given the block's scale.
  RoundTrip coded(square, rule, x, 40, 32);
  Format rowwise = formatOf("nvfp4");
  for (int64_t row = 0; row < 40; ++row) {
    reference::Scales own;
    own.tensorScale = scales.tensorScale;
    for (int64_t j = 0; j < 2; ++j) {
      own.codes.push_back(scales.codes[row / 16 * 2 + j]);
      own.encodeFactors.push_back(scales.encodeFactors[row / 16 * 2 + j]);
    }
    std::vector<uint8_t> codes = reference::quantize(
        rowwise, own, &x[row * 32], {1, 1, 32}, Rounding::NearestEven);
    for (int64_t col = 0; col < 32; ++col)
      EXPECT_EQ(codes[col], coded.codes[row * 32 + col]);
  }
}

// Batches do not see one another.
TEST(Reference, BatchesOfSquareBlocks) {
  Format square = formatOf("mxfp4", {{"block", "32x32"}});
  ScaleRule rule = ruleOf("rceil");
  std::vector<float> x = Pcg32(8).normals(3 * 20 * 64);
  reference::Scales all = reference::scale(square, rule, x.data(), {3, 20, 64});
  std::vector<uint8_t> codes = reference::quantize(
      square, all, x.data(), {3, 20, 64}, Rounding::NearestEven);
  for (int64_t t = 0; t < 3; ++t) {
    std::vector<float> one(x.begin() + t * 20 * 64,
                           x.begin() + (t + 1) * 20 * 64);
    RoundTrip coded(square, rule, one, 20, 64);
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(all.codes[t * 2 + i], coded.scales.codes[i]);
    for (int64_t i = 0; i < 20 * 64; ++i)
      EXPECT_EQ(codes[t * 20 * 64 + i], coded.codes[i]);
  }
}

// quantize_c5: what pads the last block is zero, and decides nothing.
TEST(Reference, PaddingOfTheLastBlock) {
  for (const char *head : {"nvfp4", "mxfp8_e4m3", "nf4", "uint4", "mxint8"}) {
    Format format = formatOf(head);
    ScaleRule rule = ScaleRule::defaultFor(format);
    const int64_t rows = 3, cols = 70;
    int64_t padded = reference::blockGridOf(format, {1, rows, cols}).paddedCols;
    std::vector<float> x = Pcg32(6).normals(rows * cols);
    std::vector<float> filled(rows * padded, 0.0f);
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(&x[row * cols], cols, &filled[row * padded]);
    RoundTrip actual(format, rule, x, rows, cols);
    RoundTrip expected(format, rule, filled, rows, padded);
    EXPECT_EQ(actual.scales.codes, expected.scales.codes) << head;
    EXPECT_EQ(actual.codes, expected.codes) << head;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = cols; col < padded; ++col)
        EXPECT_EQ(bitsOfF32(actual.values[row * padded + col]), 0u) << head;
  }
}

// dequantize_c2: values that are on the grid come back unchanged.
TEST(Reference, RoundTripIsIdempotent) {
  for (const Preset &preset : presets()) {
    // A scale without a mantissa or a rounded reciprocal moves the grid.
    if (preset.format.hasTensorScale || preset.format.zero != ZeroPoint::None)
      continue;
    ScaleRule rule = ScaleRule::defaultFor(preset.format);
    std::vector<float> x = Pcg32(2).normals(512);
    RoundTrip once(preset.format, rule, x, 2, 256);
    std::vector<uint8_t> again = reference::quantize(
        preset.format, {once.scales.codes, 1, once.scales.zeros, {}},
        once.values.data(), {1, 2, 256}, Rounding::NearestEven);
    EXPECT_EQ(again, once.codes) << preset.name;
  }
}
