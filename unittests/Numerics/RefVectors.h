//===-- RefVectors.h - The vectors under test/Inputs/refs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_UNITTESTS_NUMERICS_REFVECTORS_H
#define BLOCKSCALE_UNITTESTS_NUMERICS_REFVECTORS_H

#include "blockscale/Numerics/HostBuilder.h"
#include "blockscale/Numerics/Reference.h"
#include "blockscale/Numerics/ScaleCoding.h"

#include "gtest/gtest.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace blockscale::test {

using Json = nlohmann::json;

/// A file of test/Inputs/refs; null, and a failure, if it cannot be read.
inline Json readRefs(const std::string &name) {
  std::ifstream file(std::string(BLOCKSCALE_REFS) + "/" + name);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    ADD_FAILURE() << "cannot read " << name;
    return nullptr;
  }
  return json;
}

/// What the vectors call them.
inline constexpr std::pair<const char *, Rounding> kRoundings[] = {
    {"rne", Rounding::NearestEven}, {"rtz", Rounding::TowardZero},
    {"rna", Rounding::NearestAway}, {"rnz", Rounding::NearestZero},
    {"ru", Rounding::Up},
};

inline uint32_t hexBits(const Json &json) {
  return uint32_t(std::stoul(json.get<std::string>(), nullptr, 16));
}
inline float hexFloat(const Json &json) { return f32OfBits(hexBits(json)); }
inline std::vector<float> hexFloats(const Json &json) {
  std::vector<float> values;
  for (const Json &value : json)
    values.push_back(hexFloat(value));
  return values;
}

/// The element that the vectors call `e4m3fn`, `mxint4`, ...
inline ElementType elementOf(std::string name) {
  if (name == "mxint8")
    return ElementType::integer(8, 6);
  if (name == "mxint6")
    return ElementType::integer(6, 4);
  if (name == "mxint4")
    return ElementType::integer(4, 2);
  if (name == "e4m3fn")
    name = "e4m3";
  std::string error;
  auto type = ElementType::fromName(name, error);
  EXPECT_TRUE(type) << error;
  return type.value_or(ElementType());
}

inline ScaleType scaleOf(const std::string &name) {
  std::string error;
  auto type = ScaleType::fromName(name, error);
  EXPECT_TRUE(type) << error;
  return type.value_or(ScaleType());
}

inline Format formatOf(const std::string &head,
                       const std::vector<Format::Option> &options = {}) {
  std::string error;
  auto format = Format::fromText(head, options, error);
  EXPECT_TRUE(format) << error;
  return format.value_or(Format());
}

inline ScaleRule ruleOf(const std::string &head,
                        const std::vector<Format::Option> &options = {}) {
  std::string error;
  auto rule = ScaleRule::fromText(head, options, error);
  EXPECT_TRUE(rule) << error;
  return rule.value_or(ScaleRule());
}

inline uint32_t encodeOne(const ElementType &type, float x, Rounding rounding,
                          uint32_t random = 0) {
  HostBuilder b;
  return encodeElement(b, type, b.f32(x), rounding, {b.i32(random)})[0];
}
inline float decodeOne(const ElementType &type, uint32_t code) {
  HostBuilder b;
  return decodeElement(b, type, b.i32(code)).asFloat();
}
inline uint32_t encodeScaleOne(const ScaleType &type, float x,
                               Rounding rounding = Rounding::NearestEven) {
  HostBuilder b;
  return encodeScale(b, type, b.f32(x), rounding)[0];
}
inline float decodeScaleOne(const ScaleType &type, uint32_t code) {
  HostBuilder b;
  return decodeScale(b, type, b.i32(code)).asFloat();
}

/// Quantizes a matrix and back.
struct RoundTrip {
  reference::Scales scales;
  std::vector<uint8_t> codes;
  std::vector<float> values;

  RoundTrip(const Format &format, const ScaleRule &rule,
            const std::vector<float> &x, int64_t rows, int64_t cols,
            Rounding rounding = Rounding::NearestEven, uint64_t seed = 0,
            std::optional<float> heldAmax = std::nullopt) {
    reference::Extents extents{1, rows, cols};
    EXPECT_EQ(rule.check(format), "");
    scales = reference::scale(format, rule, x.data(), extents, heldAmax);
    codes =
        reference::quantize(format, scales, x.data(), extents, rounding, seed);
    reference::Extents padded{
        1, rows, reference::blockGridOf(format, extents).paddedCols};
    values = reference::dequantize(format, scales, codes.data(), padded);
  }
};

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_NUMERICS_REFVECTORS_H
