//===-- BlockScalingTest.cpp - The steps of the scale rules ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/BlockScaling.h"
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static const float kInfinity = std::numeric_limits<float>::infinity();

/// The scale code of a block of one value and zeros.
static uint32_t scaleCode(const Format &format, const ScaleRule &rule,
                          float amax) {
  std::vector<float> x(format.blockCols, 0.0f);
  x[3] = -amax;
  return reference::scale(format, rule, x.data(), {1, 1, format.blockCols})
      .codes[0];
}

static Format mxFormat(const std::string &element) {
  Format format = formatOf("mxfp4");
  format.element = elementOf(element);
  return format;
}

// scale_c11
TEST(BlockScaling, E8M0Vectors) {
  unsigned count = 0;
  Json rows = readRefs("e8m0_scale_vectors.json")["rows"];
  for (const Json &row : rows) {
    Format format = mxFormat(row["elem"]);
    float amax = hexFloat(row["amax"]);
    for (const char *rule : {"floor", "ceil", "rceil", "even"})
      EXPECT_EQ(scaleCode(format, ruleOf(rule), amax), row[rule])
          << rule << row.dump();
    EXPECT_EQ(scaleCode(format, ruleOf("rceil", {{"satfinite", "true"}}), amax),
              row["rceil_satfinite"])
        << row.dump();
    ++count;
  }
  EXPECT_EQ(count, 208u);
}

// The definitions, in exact arithmetic, over many amax.
TEST(BlockScaling, PowerOfTwoRulesMatchTheirDefinitions) {
  for (const char *element : {"e2m1", "e4m3", "e5m2", "mxint8", "mxint4"}) {
    Format format = mxFormat(element);
    int emax = format.element.maxExponent();
    auto clamp = [](int code) { return uint32_t(std::clamp(code, 0, 254)); };
    for (uint64_t bits = 1; bits < 0x7f800000; bits += 5000011) {
      float amax = f32OfBits(uint32_t(bits));
      int exponent;
      double fraction = std::frexp(double(amax), &exponent);
      int floorLog = exponent - 1;
      int ceilLog = fraction == 0.5 ? exponent - 1 : exponent;
      EXPECT_EQ(scaleCode(format, ruleOf("floor"), amax),
                clamp(floorLog - emax + 127));
      EXPECT_EQ(scaleCode(format, ruleOf("ceil"), amax),
                clamp(ceilLog - emax + 127));
      float quotient = amax * (1.0f / format.element.maxMagnitude());
      fraction = std::frexp(double(quotient), &exponent);
      ceilLog = fraction == 0.5 ? exponent - 1 : exponent;
      EXPECT_EQ(scaleCode(format, ruleOf("rceil"), amax),
                quotient == 0 ? 0 : clamp(ceilLog + 127));
    }
  }
}

// An element below 1 raises the exponent, without losing the low end.
TEST(BlockScaling, ElementsBelowOne) {
  Format format = formatOf("mxint8");
  format.element = ElementType::integer(8, 8); // up to 127/256, emax = -2
  EXPECT_EQ(scaleCode(format, ruleOf("floor"), 1.0f), 129u);
  EXPECT_EQ(scaleCode(format, ruleOf("ceil"), 0x1p-128f), 1u);
  EXPECT_EQ(scaleCode(format, ruleOf("floor"), 0x1p-130f), 0u);
  EXPECT_EQ(scaleCode(format, ruleOf("floor"), 0x1p127f), 254u);
}

// scale_c12: what is not a number.
TEST(BlockScaling, SpecialMeasures) {
  Format mx = formatOf("mxfp4");
  for (const char *rule : {"floor", "ceil", "rceil", "even"}) {
    EXPECT_EQ(scaleCode(mx, ruleOf(rule), std::nanf("")), 255u) << rule;
    EXPECT_EQ(scaleCode(mx, ruleOf(rule), kInfinity), 255u) << rule;
    ScaleRule satfinite = ruleOf(rule, {{"satfinite", "true"}});
    EXPECT_EQ(scaleCode(mx, satfinite, kInfinity), 254u) << rule;
    EXPECT_EQ(scaleCode(mx, satfinite, std::nanf("")), 255u) << rule;
    EXPECT_EQ(scaleCode(mx, ruleOf(rule), 0.0f), 0u) << rule;
  }
  for (const char *rule : {"two_level", "torchao_two_level"}) {
    Format nv = formatOf("nvfp4");
    EXPECT_EQ(scaleCode(nv, ruleOf(rule), std::nanf("")), 127u) << rule;
    EXPECT_EQ(scaleCode(nv, ruleOf(rule), kInfinity), 126u) << rule;
  }
  EXPECT_EQ(scaleCode(formatOf("nvfp4"), ruleOf("two_level"), 0.0f), 0u);
}

// scale_c9: one bad block leaves the others as they would have been.
TEST(BlockScaling, ANaNStaysInItsBlock) {
  std::vector<float> x = Pcg32(5).normals(64);
  for (const char *head : {"nvfp4", "mxfp4", "nvint4", "mxfp8_e4m3"}) {
    Format format = formatOf(head, {{"block", "16"}});
    ScaleRule rule = ScaleRule::defaultFor(format);
    std::vector<float> clean = x, bad = x;
    // The tensor's amax lies elsewhere.
    clean[60] = bad[60] = 9;
    std::fill(clean.begin() + 16, clean.begin() + 32, 0.0f);
    bad[17] = std::nanf("");
    RoundTrip good(format, rule, clean, 1, 64),
        poisoned(format, rule, bad, 1, 64);
    EXPECT_EQ(good.scales.tensorScale, poisoned.scales.tensorScale);
    for (unsigned i = 0; i < 64; ++i)
      if (i / 16 == 1)
        EXPECT_TRUE(std::isnan(poisoned.values[i])) << head << i;
      else
        EXPECT_EQ(good.values[i], poisoned.values[i]) << head << i;
  }
}

// scale_c10: levels that say nothing are 1.
TEST(BlockScaling, TensorLevel) {
  HostBuilder b;
  Format format = formatOf("nvfp4");
  auto level = [&](const char *rule, float amax) {
    return tensorLevel(b, format, ruleOf(rule), b.f32(amax));
  };
  EXPECT_EQ(level("two_level", 2688).decode.asFloat(), 1.0f);
  EXPECT_EQ(level("two_level", 1344).decode.asFloat(), 0.5f);
  EXPECT_EQ(level("torchao_two_level", 1344).decode.asFloat(), 0.5f);
  EXPECT_EQ(level("four_over_six", 1536).decode.asFloat(), 1.0f);
  for (const char *rule : {"two_level", "torchao_two_level", "ue5m3"})
    for (float amax : {0.0f, kInfinity, std::nanf("")}) {
      EXPECT_EQ(level(rule, amax).decode.asFloat(), 1.0f) << rule << amax;
      EXPECT_EQ(level(rule, amax).encode.asFloat(), 1.0f) << rule << amax;
    }
  // S would be infinite.
  EXPECT_EQ(level("two_level", 1e-40f).decode.asFloat(), 1.0f);
}

// scale_c8
TEST(BlockScaling, RmsMeasure) {
  // 16 values of magnitude 3: the root mean square is 3.
  Format format = formatOf("mxfp4");
  std::vector<float> x(32, 3.0f);
  for (unsigned i = 0; i < 32; i += 2)
    x[i] = -3.0f;
  // 2.92247856 / 6 * 3 = 1.4612: floor to 2^0, ceil to 2^1.
  ScaleRule rule = ruleOf("rms");
  reference::Extents extents{1, 1, 32};
  EXPECT_EQ(reference::scale(format, rule, x.data(), extents).codes[0], 127u);
  rule.order = ScaleRule::Order::Ceil;
  EXPECT_EQ(reference::scale(format, rule, x.data(), extents).codes[0], 128u);
  rule.order = ScaleRule::Order::RCeil;
  EXPECT_EQ(reference::scale(format, rule, x.data(), extents).codes[0], 128u);
}

// scale_c15
TEST(BlockScaling, MinMaxWithAZeroPoint) {
  Format format = formatOf("uint4", {{"block", "8"}});
  std::vector<float> x = {-2, -1, 0, 1, 2, 3, 4, 5.5f};
  RoundTrip coded(format, ruleOf("minmax"), x, 1, 8);
  EXPECT_EQ(coded.scales.codes[0], 0x3800u); // 7.5 / 15 = 0.5
  EXPECT_EQ(coded.scales.zeros[0], 4u);
  EXPECT_EQ(coded.codes, (std::vector<uint8_t>{0, 2, 4, 6, 8, 10, 12, 15}));
  EXPECT_EQ(coded.values, x);

  // A zero point between two codes.
  format.zero = ZeroPoint::F16;
  x[0] = -2.25f, x[7] = 5.25f;
  RoundTrip shifted(format, ruleOf("minmax"), x, 1, 8);
  EXPECT_EQ(shifted.scales.zeros[0], 0x4480u); // 4.5
  EXPECT_EQ(shifted.values[0], -2.25f);
  EXPECT_EQ(shifted.values[7], 5.25f);

  // Zero is in the range, and a block of zeros stays one.
  std::vector<float> positive(8, 3.0f), zeros(8, 0.0f);
  RoundTrip high(format, ruleOf("minmax"), positive, 1, 8);
  EXPECT_EQ(high.scales.zeros[0], 0u);
  EXPECT_NEAR(high.values[0], 3.0f, 2e-3);
  EXPECT_EQ(RoundTrip(format, ruleOf("minmax"), zeros, 1, 8).values, zeros);
}

TEST(BlockScaling, MinMaxTakesNaNOfEitherSign) {
  Format format = formatOf("uint4", {{"block", "8"}});
  for (uint32_t bits : {0x7fc00000u, 0xffc00000u}) {
    std::vector<float> x(8, 1.0f);
    x[2] = f32OfBits(bits);
    RoundTrip coded(format, ruleOf("minmax"), x, 1, 8);
    EXPECT_TRUE(std::isnan(coded.values[0]));
  }
}

// scale_c13: MXFP4 training scales elements, not the measure, by 3/4.
TEST(BlockScaling, PreMultiplier) {
  Format format = formatOf("mxfp4");
  std::vector<float> x(32, 4.0f);
  x[0] = 7.9f;
  RoundTrip coded(format, ruleOf("floor", {{"pre_multiplier", "0.75"}}), x, 1,
                  32);
  EXPECT_EQ(coded.scales.codes[0], 127u);
  EXPECT_EQ(coded.scales.encodeFactors[0], 0.75f);
  EXPECT_EQ(coded.values[0], 6.0f);
  EXPECT_EQ(coded.values[1], 3.0f);
}

// scale_c13: a scale rounded down by up to 1/17 no longer clips.
TEST(BlockScaling, HeadroomKeepsTheLargestElementInside) {
  Format format = formatOf("nvfp4");
  ScaleRule plain = ruleOf("two_level");
  ScaleRule roomy = ruleOf("two_level", {{"headroom", "0.9411765"}});
  std::vector<float> x = Pcg32(9).normals(4096);
  auto largestCode = [&](const ScaleRule &rule) {
    reference::Scales scales =
        reference::scale(format, rule, x.data(), {1, 1, 4096});
    float largest = 0;
    for (unsigned i = 0; i < 4096; ++i)
      largest =
          std::max(largest, std::fabs(x[i] * scales.encodeFactors[i / 16]));
    return largest;
  };
  EXPECT_GT(largestCode(plain), 6.1f);
  EXPECT_LE(largestCode(roomy), 6.0001f);
}

// quantize_c4
TEST(BlockScaling, AZeroScaleGivesZerosOfTheSameSign) {
  Format format = formatOf("e2m1", {{"block", "8"}, {"scale", "ue4m3"}});
  reference::Scales scales;
  scales.codes = {0};
  std::vector<float> x = {1, -1, 0, -0.0f, 1e30f, -1e30f, 1e-40f, -1e-40f};
  std::vector<uint8_t> codes = reference::quantize(
      format, scales, x.data(), {1, 1, 8}, Rounding::NearestEven);
  EXPECT_EQ(codes, (std::vector<uint8_t>{0, 8, 0, 8, 0, 8, 0, 8}));
}

// scale_c14: 1536 is 6 * 256 and 4 * 384, both without error.
TEST(BlockScaling, FourOverSixTakesSixOnATie) {
  Format format = formatOf("nvfp4");
  std::vector<float> x(16, 0.0f);
  x[5] = 1536;
  for (const char *rule : {"four_over_six", "four_over_six_mae"}) {
    RoundTrip coded(format, ruleOf(rule), x, 1, 16);
    EXPECT_EQ(decodeScaleOne(format.scale, coded.scales.codes[0]), 256.0f);
    EXPECT_EQ(coded.codes[5], 7u);
    // 1152 is 4.5 * 256, between two codes, and 3 * 384.
    std::fill(x.begin(), x.begin() + 4, 1152.0f);
    RoundTrip four(format, ruleOf(rule), x, 1, 16);
    EXPECT_EQ(decodeScaleOne(format.scale, four.scales.codes[0]), 384.0f);
    EXPECT_EQ(four.values, x);
    std::fill(x.begin(), x.begin() + 4, 0.0f);
  }
}
