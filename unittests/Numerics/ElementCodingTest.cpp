//===-- ElementCodingTest.cpp - Elements to codes and back ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/ElementCoding.h"
#include "Oracle.h"
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static const char *const kElements[] = {
    "e2m1", "e1m2", "e3m0", "e2m3",   "e3m2",   "e4m3",   "e5m2", "e3m4",
    "e4m0", "e6m1", "e7m0", "mxint8", "mxint6", "mxint4", "int4", "int2"};

static void expectSameBits(float actual, uint32_t expected) {
  if (std::isnan(f32OfBits(expected)))
    EXPECT_TRUE(std::isnan(actual));
  else
    EXPECT_EQ(bitsOfF32(actual), expected);
}

// decode_c1, decode_c2, decode_c3, decode_c6
TEST(ElementCoding, DecodesEveryCode) {
  const std::pair<const char *, const char *> files[] = {
      {"f4e1m2", "e1m2"},   {"f4e2m1fn", "e2m1"}, {"f6e2m3fn", "e2m3"},
      {"f6e3m2fn", "e3m2"}, {"f8e4m3fn", "e4m3"}, {"f8e5m2", "e5m2"},
      {"mxint4", "mxint4"}, {"mxint6", "mxint6"}, {"mxint8", "mxint8"},
      {"nf4", "nf4"}};
  for (auto [file, name] : files) {
    SCOPED_TRACE(name);
    ElementType type = elementOf(name);
    Json json = readRefs(std::string("codes/") + file + ".json");
    ASSERT_EQ(json["codes"].size(), 1u << type.bits);
    for (const Json &row : json["codes"])
      expectSameBits(decodeOne(type, row["code"]), hexBits(row["f32_hex"]));
    if (json.contains("emax")) {
      EXPECT_EQ(type.maxExponent(), json["emax"].get<int>());
      EXPECT_EQ(type.maxMagnitude(), json["max_finite"].get<float>());
    }
  }
}

// decode_c5
TEST(ElementCoding, DecodesEveryMidriseCode) {
  Json json = readRefs("codes/quest_midrise.json");
  for (unsigned bits = 1; bits <= 8; ++bits) {
    ElementType type = ElementType::midrise(bits);
    std::vector<float> levels;
    for (int code = -(1 << (bits - 1)); code < 1 << (bits - 1); ++code)
      levels.push_back(decodeOne(type, uint32_t(code) & ((1 << bits) - 1)));
    EXPECT_EQ(levels, json[std::to_string(bits)]["levels_in_steps"]
                          .get<std::vector<float>>());
  }
}

// encode_c1 to encode_c7
TEST(ElementCoding, CastVectors) {
  Json formats = readRefs("cast_vectors.json")["formats"];
  unsigned count = 0;
  for (auto &[name, format] : formats.items()) {
    if (name == "e8m0fnu" || name == "ue5m3_fnu")
      continue; // ScaleCodingTest
    SCOPED_TRACE(name);
    ElementType type = elementOf(name);
    for (const Json &row : format["rows"])
      for (auto [key, rounding] : kRoundings)
        if (row.contains(key)) {
          EXPECT_EQ(encodeOne(type, hexFloat(row["x"]), rounding),
                    row[key].get<uint32_t>())
              << row["x"] << " " << key;
          ++count;
        }
    const Json &special = format["special"];
    float infinity = std::numeric_limits<float>::infinity();
    for (auto [key, rounding] : kRoundings) {
      EXPECT_EQ(encodeOne(type, infinity, rounding), special["inf_satfinite"]);
      EXPECT_EQ(encodeOne(type, -infinity, rounding),
                special["neginf_satfinite"]);
      EXPECT_EQ(encodeOne(type, -0.0f, rounding), special["negzero"]);
      for (uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
        EXPECT_EQ(encodeOne(type, f32OfBits(nan), rounding),
                  special["nan_recommended"]);
    }
  }
  EXPECT_GT(count, 3000u);
}

/// Compares codes of many f32, given by their bits, with the table search.
static void compareWithOracle(const char *name,
                              const std::vector<uint32_t> &inputs) {
  SCOPED_TRACE(name);
  ElementType type = elementOf(name);
  Oracle oracle(type);
  HostBuilder b;
  Pcg32 generator(1);
  const Rounding roundings[] = {Rounding::NearestEven, Rounding::TowardZero,
                                Rounding::NearestAway, Rounding::NearestZero,
                                Rounding::Up,          Rounding::Stochastic};
  unsigned failures = 0;
  for (size_t first = 0; first < inputs.size(); first += 256) {
    unsigned count = std::min<size_t>(256, inputs.size() - first);
    HostValue x = HostValue::ofBits(&inputs[first], count);
    HostValue random(count);
    for (unsigned i = 0; i < count; ++i)
      random[i] = i % 8 ? generator.next() : generator.next() >> 27;
    for (Rounding rounding : roundings) {
      HostValue codes = encodeElement(b, type, x, rounding, {random});
      for (unsigned i = 0; i < count && failures < 5; ++i)
        if (codes[i] != oracle.encode(x.asFloat(i), rounding, random[i])) {
          ++failures;
          ADD_FAILURE() << "bits " << std::hex << x[i] << " rounding "
                        << int(rounding) << ": " << codes[i] << ", not "
                        << oracle.encode(x.asFloat(i), rounding, random[i]);
        }
    }
  }
}

TEST(ElementCoding, EveryBF16) {
  std::vector<uint32_t> inputs;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    inputs.push_back(bits << 16);
  for (const char *name : kElements)
    compareWithOracle(name, inputs);
}

TEST(ElementCoding, EveryF16) {
  HostBuilder b;
  std::vector<uint32_t> inputs;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    inputs.push_back(decodeF16(b, b.i32(bits))[0]);
  for (const char *name : kElements)
    compareWithOracle(name, inputs);
}

TEST(ElementCoding, SweepOfF32) {
  std::vector<uint32_t> inputs;
  for (uint64_t bits = 0; bits < 0x100000000; bits += 4099)
    inputs.push_back(uint32_t(bits));
  for (const char *name : kElements)
    compareWithOracle(name, inputs);
}

// Every boundary and its neighbours, which a sweep may step over.
TEST(ElementCoding, NeighboursOfEveryBoundary) {
  for (const char *name : kElements) {
    ElementType type = elementOf(name);
    std::vector<uint32_t> inputs = {0, 1, 0x007fffff, 0x00800000, 0x7f7fffff};
    for (uint32_t code = 0; code + 1 < 1u << type.bits; ++code) {
      float low = decodeOne(type, code), high = decodeOne(type, code + 1);
      for (float at : {low, (low + high) / 2})
        for (uint32_t step : {0u, 1u, ~0u})
          for (uint32_t sign : {0u, 0x80000000u})
            inputs.push_back((bitsOfF32(at) + step) ^ sign);
    }
    compareWithOracle(name, inputs);
  }
}

// encode_c6: a code decodes to a value that encodes to it.
TEST(ElementCoding, EncodeInvertsDecode) {
  for (const char *name :
       {"e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4", "mxint8",
        "mxint4", "int6", "nf4", "midrise1", "midrise4", "midrise8"}) {
    ElementType type = elementOf(name);
    for (uint32_t code = 0; code < 1u << type.bits; ++code) {
      float value = decodeOne(type, code);
      bool isMostNegative =
          type.kind == ElementType::Kind::Int && code == 1u << (type.bits - 1);
      if (std::isnan(value) || std::isinf(value) || isMostNegative)
        continue;
      for (auto [key, rounding] : kRoundings)
        EXPECT_EQ(encodeOne(type, value, rounding), code) << name << " " << key;
      EXPECT_EQ(encodeOne(type, value, Rounding::Stochastic, 0), code) << name;
    }
  }
}

// encode_c7: the most negative code is decoded if met, never emitted.
TEST(ElementCoding, MostNegativeInteger) {
  ElementType type = ElementType::integer(4, 2);
  EXPECT_EQ(decodeOne(type, 8), -2.0f);
  EXPECT_EQ(encodeOne(type, -2.0f, Rounding::NearestEven), 9u);
}

// encode_c8, encode_c11
TEST(ElementCoding, ZeroPoints) {
  Format format = formatOf("uint4");
  HostBuilder b;
  auto encode = [&](float y, float zero) {
    HostValue point =
        format.zero == ZeroPoint::Code ? b.i32(uint32_t(zero)) : b.f32(zero);
    return encodeWithZero(b, format, b.f32(y), point, Rounding::NearestEven)[0];
  };
  EXPECT_EQ(encode(0.0f, 7), 7u);
  EXPECT_EQ(encode(-0.0f, 7), 7u);
  EXPECT_EQ(encode(2.5f, 7), 9u); // the tie is broken before the zero is added
  EXPECT_EQ(encode(-7.4f, 7), 0u);
  EXPECT_EQ(encode(-100.0f, 15), 0u);
  EXPECT_EQ(encode(100.0f, 0), 15u);
  EXPECT_EQ(encode(std::nanf(""), 7), 7u);
  format.zero = ZeroPoint::F32;
  EXPECT_EQ(encode(0.25f, 7.5f), 8u);
  EXPECT_EQ(encode(-1.0f, 0.5f), 0u);
  EXPECT_EQ(encode(std::nanf(""), 7), 7u);
  EXPECT_EQ(decodeWithZero(b, format, b.i32(3), b.f32(7.5f)).asFloat(), -4.5f);
  format.zero = ZeroPoint::Code;
  EXPECT_EQ(decodeWithZero(b, format, b.i32(3), b.i32(7)).asFloat(), -4.0f);
}
