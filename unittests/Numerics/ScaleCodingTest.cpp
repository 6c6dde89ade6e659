//===-- ScaleCodingTest.cpp - Block scales to codes and back --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/ScaleCoding.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static const std::pair<const char *, const char *> kFiles[] = {
    {"f8e8m0fnu", "e8m0"},
    {"ue4m3_scale", "ue4m3"},
    {"ue5m3_fnu", "ue5m3"},
    {"ue5m3_top_reserved", "ue5m3_reserved"},
    {"scale_E1M6_signbit_unused", "ue1m6"},
    {"scale_E2M5_signbit_unused", "ue2m5"},
    {"scale_E3M4_signbit_unused", "ue3m4"},
    {"scale_E4M3_signbit_unused", "ue4m3"},
    {"scale_E5M2_signbit_unused", "ue5m2"},
    {"scale_E6M1_signbit_unused", "ue6m1"},
    {"scale_UE1M7_unsigned", "ue1m7"},
    {"scale_UE2M6_unsigned", "ue2m6"},
    {"scale_UE3M5_unsigned", "ue3m5"},
    {"scale_UE4M4_unsigned", "ue4m4"},
    {"scale_UE5M3_unsigned", "ue5m3"},
    {"scale_UE6M2_unsigned", "ue6m2"},
    {"scale_UE7M1_unsigned", "ue7m1"},
};

// scale_c1, scale_c2, scale_c3
TEST(ScaleCoding, DecodesEveryCode) {
  for (auto [file, name] : kFiles) {
    SCOPED_TRACE(file);
    ScaleType type = scaleOf(name);
    Json json = readRefs(std::string("codes/") + file + ".json");
    for (const Json &row : json["codes"]) {
      uint32_t code = row["code"], bits = hexBits(row["f32_hex"]);
      float value = decodeScaleOne(type, code);
      if (std::isnan(f32OfBits(bits))) {
        EXPECT_TRUE(std::isnan(value)) << code;
        continue;
      }
      EXPECT_EQ(bitsOfF32(value), bits) << code;
      for (auto [key, rounding] : kRoundings)
        EXPECT_EQ(encodeScaleOne(type, value, rounding), code) << key;
    }
    EXPECT_EQ(type.maxFinite(), json["max_finite"].get<float>());
    EXPECT_EQ(decodeScaleOne(type, type.codeOfOne()), 1.0f);
  }
}

// scale_c2, scale_c3
TEST(ScaleCoding, CastVectors) {
  Json formats = readRefs("cast_vectors.json")["formats"];
  for (auto [name, scale] :
       {std::pair("e8m0fnu", "e8m0"), std::pair("ue5m3_fnu", "ue5m3")}) {
    SCOPED_TRACE(name);
    ScaleType type = scaleOf(scale);
    for (const Json &row : formats[name]["rows"])
      for (auto [key, rounding] : kRoundings)
        EXPECT_EQ(encodeScaleOne(type, hexFloat(row["x"]), rounding), row[key])
            << row["x"] << " " << key;
    const Json &special = formats[name]["special"];
    for (auto [key, rounding] : kRoundings) {
      EXPECT_EQ(encodeScaleOne(type, std::numeric_limits<float>::infinity(),
                               rounding),
                special["inf_satfinite"]);
      EXPECT_EQ(encodeScaleOne(type, std::nanf(""), rounding),
                special["nan_recommended"]);
    }
  }
}

/// The code a table search finds: the nearest value, ties to the even code.
static uint32_t nearestCode(const std::vector<double> &values, double x) {
  auto above = std::upper_bound(values.begin(), values.end(), x);
  if (above == values.end())
    return uint32_t(values.size() - 1);
  if (above == values.begin())
    return 0;
  uint32_t low = uint32_t(above - values.begin()) - 1;
  double below = x - values[low], over = values[low + 1] - x;
  if (below == over)
    return low + (low & 1);
  return low + (over < below);
}

TEST(ScaleCoding, SweepOfF32AgainstATableSearch) {
  for (auto [file, name] : kFiles) {
    SCOPED_TRACE(name);
    ScaleType type = scaleOf(name);
    std::vector<double> values;
    Json codes = readRefs(std::string("codes/") + file + ".json")["codes"];
    for (const Json &row : codes)
      if (!row["value"].is_null())
        values.push_back(row["value"]);
    HostBuilder b;
    for (uint64_t first = 0; first < 0x7f800000; first += 256 * 9973) {
      HostValue x(256);
      for (unsigned i = 0; i < 256; ++i)
        x[i] = uint32_t(
            std::min<uint64_t>(first + uint64_t(i) * 9973, 0x7f7fffff));
      HostValue encoded = encodeScale(b, type, x, Rounding::NearestEven);
      for (unsigned i = 0; i < 256; ++i)
        ASSERT_EQ(encoded[i], nearestCode(values, x.asFloat(i)))
            << std::hex << x[i];
    }
  }
}

// scale_c4
TEST(ScaleCoding, F16MatchesItsDefinition) {
  ScaleType type = scaleOf("f16");
  std::vector<double> values;
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    uint32_t field = code >> 10;
    double fraction = (code & 1023) / 1024.0;
    values.push_back(field ? std::ldexp(1 + fraction, int(field) - 15)
                           : std::ldexp(fraction, -14));
    ASSERT_EQ(double(decodeScaleOne(type, code)), values.back());
  }
  for (uint64_t bits = 0; bits < 0x7f800000; bits += 40009)
    ASSERT_EQ(encodeScaleOne(type, f32OfBits(uint32_t(bits))),
              nearestCode(values, f32OfBits(uint32_t(bits))));
  EXPECT_EQ(encodeScaleOne(type, 1e30f), 0x7bffu);
  EXPECT_EQ(encodeScaleOne(type, std::nanf("")), 0x7e00u);
}

TEST(ScaleCoding, BF16MatchesItsDefinition) {
  ScaleType type = scaleOf("bf16");
  std::vector<double> values;
  for (uint32_t code = 0; code < 0x7f80; ++code)
    values.push_back(f32OfBits(code << 16));
  for (uint64_t bits = 0; bits < 0x7f800000; bits += 40009)
    ASSERT_EQ(encodeScaleOne(type, f32OfBits(uint32_t(bits))),
              nearestCode(values, f32OfBits(uint32_t(bits))));
  EXPECT_EQ(encodeScaleOne(type, std::numeric_limits<float>::infinity()),
            0x7f7fu);
  EXPECT_EQ(encodeScaleOne(type, std::nanf("")), 0x7fc0u);
}

TEST(ScaleCoding, F32IsItsBits) {
  ScaleType type = scaleOf("f32");
  EXPECT_EQ(encodeScaleOne(type, 3.0f), bitsOfF32(3.0f));
  EXPECT_EQ(encodeScaleOne(type, std::numeric_limits<float>::infinity()),
            0x7f7fffffu);
  EXPECT_EQ(type.codeOfOne(), bitsOfF32(1.0f));
}

// scale_c6
TEST(ScaleCoding, SignedF16ForZeroPoints) {
  HostBuilder b;
  EXPECT_EQ(encodeF16(b, b.f32(-7.5f))[0], 0xc780u);
  EXPECT_EQ(decodeF16(b, b.i32(0xc780)).asFloat(), -7.5f);
  EXPECT_EQ(encodeF16(b, b.f32(-1e9f))[0], 0xfbffu);
}

// quantize_c3
TEST(ScaleCoding, InverseOfE8M0IsExact) {
  HostBuilder b;
  for (uint32_t code = 0; code < 255; ++code) {
    double scale = decodeScaleOne(ScaleType(), code);
    EXPECT_EQ(double(invertE8M0(b, b.i32(code)).asFloat()), 1 / scale) << code;
  }
  EXPECT_TRUE(std::isnan(invertE8M0(b, b.i32(255)).asFloat()));
}
