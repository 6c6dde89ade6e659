//===-- KnownTrapsTest.cpp - Mistakes others made -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each test is a bug report against some other software, named by its symptom.
//
//===----------------------------------------------------------------------===//
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static RoundTrip blockOf(const Format &format, const ScaleRule &rule,
                         float first) {
  std::vector<float> x(format.blockCols, 0.0f);
  x[0] = first;
  return RoundTrip(format, rule, x, 1, format.blockCols);
}

// vllm#43557
TEST(KnownTraps, ExponentOfAmaxOverSixOneTooLow) {
  for (auto [amax, scale] :
       {std::pair(2.7f, 0.5f), std::pair(5.5f, 1.0f), std::pair(1.2f, 0.25f)}) {
    RoundTrip coded = blockOf(formatOf("mxfp4"), ruleOf("rceil"), amax);
    EXPECT_EQ(decodeScaleOne(ScaleType(), coded.scales.codes[0]), scale);
  }
}

// torchao#2035
TEST(KnownTraps, RCeilAndCeilDiffer) {
  Format format = formatOf("mxfp8_e4m3");
  EXPECT_EQ(blockOf(format, ruleOf("rceil"), 150).scales.codes[0], 126u);
  EXPECT_EQ(blockOf(format, ruleOf("ceil"), 150).scales.codes[0], 127u);
}

// mlx#4353: a scale rounded to the nearest power of two clips the largest
// element by up to 29 %; rounded up, only the element's own step is lost, at
// most 1/17 of it (half a step of 32 at 272).
TEST(KnownTraps, NearestScaleLosesTheMaximum) {
  Format format = formatOf("mxfp8_e4m3");
  double worst = 0, worstNearest = 0;
  for (int i = 0; i < 4096; ++i) {
    float amax = 1 + i / 4096.0f;
    RoundTrip coded = blockOf(format, ruleOf("rceil"), amax);
    worst = std::max(worst, 1 - double(coded.values[0]) / amax);
    reference::Scales nearest;
    nearest.codes = {encodeScaleOne(ScaleType(), amax / 448)};
    std::vector<float> x(32, amax);
    std::vector<uint8_t> codes = reference::quantize(
        format, nearest, x.data(), {1, 1, 32}, Rounding::NearestEven);
    float back =
        reference::dequantize(format, nearest, codes.data(), {1, 1, 32})[0];
    worstNearest = std::max(worstNearest, 1 - double(back) / amax);
  }
  EXPECT_LE(worst, 1 / 17.0 + 1e-12);
  EXPECT_GT(worst, 0.058);
  EXPECT_GT(worstNearest, 0.29);
}

// FlyDSL#590
TEST(KnownTraps, MaximumOfE2M3IsSevenAndAHalf) {
  Format format = formatOf("mxfp6_e2m3");
  EXPECT_EQ(format.element.maxMagnitude(), 7.5f);
  EXPECT_EQ(blockOf(format, ruleOf("rceil"), 7.5f).scales.codes[0], 127u);
  EXPECT_EQ(blockOf(format, ruleOf("rceil"), 7.5f).values[0], 7.5f);
  EXPECT_EQ(blockOf(format, ruleOf("rceil"), 7.6f).scales.codes[0], 128u);
}

// ml_dtypes#398
TEST(KnownTraps, E8M0CastTiesUp) {
  uint32_t code = encodeScaleOne(ScaleType(), 3.0f);
  EXPECT_EQ(decodeScaleOne(ScaleType(), code), 2.0f);
  code = encodeScaleOne(ScaleType(), 6.0f);
  EXPECT_EQ(decodeScaleOne(ScaleType(), code), 8.0f);
}

// llvm#215295
TEST(KnownTraps, ScaleOfThreeUsedAsTwo) {
  Format format = formatOf("e2m1", {{"block", "8"}, {"scale", "f32"}});
  reference::Scales scales;
  scales.codes = {bitsOfF32(3.0f)};
  std::vector<float> x = {3, 6, 9, 18, -3, 1.5f, 0, 12};
  std::vector<uint8_t> codes = reference::quantize(
      format, scales, x.data(), {1, 1, 8}, Rounding::NearestEven);
  EXPECT_EQ(reference::dequantize(format, scales, codes.data(), {1, 1, 8}), x);
}

// Model-Optimizer#1397, flashinfer#5031, TensorRT-LLM#16447
TEST(KnownTraps, ZeroTensorBecomesNaN) {
  std::vector<float> zeros(256, 0.0f);
  for (const Preset &preset : presets()) {
    RoundTrip coded(preset.format, ScaleRule::defaultFor(preset.format), zeros,
                    2, 128);
    EXPECT_EQ(coded.values, zeros) << preset.name;
    EXPECT_TRUE(std::isfinite(coded.scales.tensorScale)) << preset.name;
    for (uint32_t code : coded.scales.codes)
      EXPECT_TRUE(std::isfinite(decodeScaleOne(preset.format.scale, code)));
  }
}

// flashinfer#5031
TEST(KnownTraps, ZeroRowBesideOthersBecomesNaN) {
  std::vector<float> x = Pcg32(1).normals(256);
  std::fill_n(x.begin(), 128, 0.0f);
  for (const Preset &preset : presets()) {
    RoundTrip coded(preset.format, ScaleRule::defaultFor(preset.format), x, 2,
                    128);
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(coded.values[i], 0.0f) << preset.name;
  }
}

// TensorRT-LLM#16447
TEST(KnownTraps, HeldAmaxOfZeroPoisonsTheLayer) {
  std::vector<float> x = Pcg32(1).normals(128);
  for (const char *rule : {"two_level", "torchao_two_level", "ue5m3"}) {
    RoundTrip coded(formatOf("nvfp4"), ruleOf(rule), x, 1, 128,
                    Rounding::NearestEven, 0, 0.0f);
    for (float value : coded.values)
      EXPECT_TRUE(std::isfinite(value)) << rule;
  }
}

// flashinfer#3932
TEST(KnownTraps, SubnormalE4M3ScalesDecodedTooLarge) {
  for (uint32_t code = 1; code < 8; ++code)
    EXPECT_EQ(decodeScaleOne(scaleOf("ue4m3"), code), code * 0x1p-9f);
  // A block 60000 times below the largest one is still coded by its own scale.
  std::vector<float> x(32, 1e-4f);
  x[0] = 6.0f;
  RoundTrip coded(formatOf("nvfp4"), ruleOf("two_level"), x, 1, 32);
  EXPECT_LT(coded.scales.codes[1], 8u);
  EXPECT_NEAR(coded.values[20], 1e-4f, 1e-5f);
}

// vllm#46676
TEST(KnownTraps, E8M0ByteZeroDecodedAsInfinity) {
  Format format = formatOf("mxfp4");
  reference::Scales scales;
  scales.codes = {0};
  std::vector<uint8_t> codes(32, 1); // 0.5
  std::vector<float> values =
      reference::dequantize(format, scales, codes.data(), {1, 1, 32});
  EXPECT_EQ(bitsOfF32(values[0]) >> 16, 0x0020u); // bf16 2^-128
}

// aiter#3992
TEST(KnownTraps, E2M1TiesRoundedUp) {
  ElementType type = elementOf("e2m1");
  auto rounded = [&](float x) {
    return decodeOne(type, encodeOne(type, x, Rounding::NearestEven));
  };
  for (auto [x, down] : {std::pair(0.25f, 0.0f), std::pair(1.25f, 1.0f),
                         std::pair(2.5f, 2.0f), std::pair(5.0f, 4.0f)})
    EXPECT_EQ(rounded(x), down);
  for (auto [x, up] :
       {std::pair(0.75f, 1.0f), std::pair(1.75f, 2.0f), std::pair(3.5f, 4.0f)})
    EXPECT_EQ(rounded(x), up);
}

// TransformerEngine#3281
TEST(KnownTraps, StochasticGradientsAllZero) {
  std::vector<float> x = Pcg32(1).normals(4096);
  for (float &value : x)
    value *= 1e-6f;
  RoundTrip coded(formatOf("nvfp4"), ruleOf("two_level"), x, 1, 4096,
                  Rounding::Stochastic, 17);
  unsigned zeros = 0;
  double dot = 0, norm = 0;
  for (unsigned i = 0; i < 4096; ++i) {
    zeros += coded.values[i] == 0;
    dot += double(x[i]) * coded.values[i];
    norm += double(x[i]) * x[i];
  }
  EXPECT_LT(zeros, 800u);
  EXPECT_NEAR(dot / norm, 1.0, 0.02);
}

// TransformerEngine#3070
TEST(KnownTraps, NaNBehindTheLastColumnReachesTheResult) {
  const int64_t rows = 4, cols = 40;
  std::vector<float> x = Pcg32(1).normals(rows * cols);
  std::vector<float> poisoned = x;
  poisoned.resize(x.size() + 64, std::nanf(""));
  Format format = formatOf("mxfp8_e4m3");
  RoundTrip clean(format, ruleOf("rceil"), x, rows, cols);
  RoundTrip beside(format, ruleOf("rceil"), poisoned, rows, cols);
  EXPECT_EQ(clean.values, beside.values);
  for (float value : clean.values)
    EXPECT_TRUE(std::isfinite(value));
}

// cudnn-frontend#223
TEST(KnownTraps, BatchStrideTakesMForN) {
  const int64_t batch = 3, m = 2, n = 5, k = 4;
  std::vector<float> a = Pcg32(1).normals(batch * m * k);
  std::vector<float> b = Pcg32(2).normals(batch * n * k);
  std::vector<float> d =
      reference::scaledMatmul(a.data(), b.data(), batch, m, n, k, 1.0);
  for (int64_t t = 0; t < batch; ++t) {
    std::vector<float> one =
        reference::scaledMatmul(&a[t * m * k], &b[t * n * k], 1, m, n, k, 1.0);
    for (int64_t i = 0; i < m * n; ++i)
      EXPECT_EQ(d[t * m * n + i], one[i]);
  }
}

// pytorch#152665
TEST(KnownTraps, KThatIsNoMultipleOf128) {
  for (int64_t k : {32, 96, 160, 224}) {
    std::vector<float> x = Pcg32(1).normals(2 * k);
    RoundTrip coded(formatOf("mxfp8_e4m3"), ruleOf("rceil"), x, 2, k);
    for (int64_t i = 0; i < 2 * k; ++i)
      EXPECT_NEAR(coded.values[i], x[i], std::fabs(x[i]) / 16 + 1e-2);
  }
}

// tilelang#2324
TEST(KnownTraps, BlocksOf48And96DropTheirTail) {
  for (const char *block : {"48", "96", "24", "120"}) {
    Format format = formatOf("nvfp4", {{"block", block}});
    std::vector<float> x = Pcg32(3).normals(format.blockCols * 2);
    x[format.blockCols - 1] = 50; // the last element decides
    RoundTrip coded(format, ruleOf("two_level"), x, 1, format.blockCols * 2);
    EXPECT_NEAR(coded.values[format.blockCols - 1], 50, 2) << block;
    float rest = 0;
    for (int64_t i = format.blockCols; i < 2 * format.blockCols; ++i)
      rest = std::max(rest, std::fabs(coded.values[i] - x[i]));
    EXPECT_LT(rest, 1) << block;
  }
}

// modular#6600: divisors are written elsewhere; here it always multiplies.
TEST(KnownTraps, TensorScaleIsAMultiplier) {
  std::vector<float> x = Pcg32(1).normals(1024);
  float amax = reference::amax(x.data(), 1024);
  RoundTrip coded(formatOf("nvfp4"), ruleOf("two_level"), x, 1, 1024);
  EXPECT_NEAR(coded.scales.tensorScale, amax / 2688, amax * 1e-9);
}

// xla#32525
TEST(KnownTraps, TensorScaleIgnored) {
  std::vector<float> x = Pcg32(1).normals(64);
  Format format = formatOf("nvfp4");
  RoundTrip coded(format, ruleOf("two_level"), x, 1, 64);
  reference::Scales doubled = coded.scales;
  doubled.tensorScale *= 2;
  std::vector<float> values =
      reference::dequantize(format, doubled, coded.codes.data(), {1, 1, 64});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(values[i], 2 * coded.values[i]);
}
