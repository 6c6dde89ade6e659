//===-- QuantizeVectorsTest.cpp - Whole tensors against the vectors -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static std::vector<uint32_t> codesOf(const Json &json) {
  return json.get<std::vector<uint32_t>>();
}
template <typename T>
static std::vector<uint32_t> widened(const std::vector<T> &codes) {
  return {codes.begin(), codes.end()};
}
static std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(bitsOfF32(value));
  return bits;
}

static void expectVector(const RoundTrip &actual, const Json &expected,
                         const char *valuesKey = "dq") {
  EXPECT_EQ(actual.scales.codes, codesOf(expected["scales"]));
  EXPECT_EQ(widened(actual.codes), codesOf(expected["codes"]));
  // As numbers: the vectors' values come from exact arithmetic, in which zero
  // has no sign. The codes above have it.
  EXPECT_EQ(actual.values, hexFloats(expected[valuesKey]));
}

static Json tensors() { return readRefs("quant_vectors.json")["tensors"]; }

TEST(QuantizeVectors, MX) {
  unsigned count = 0;
  Json all = tensors();
  for (auto &[name, tensor] : all.items()) {
    if (!tensor.contains("mx"))
      continue;
    std::vector<float> x = hexFloats(tensor["x"]);
    for (auto &[variant, expected] : tensor["mx"].items()) {
      SCOPED_TRACE(name + " " + variant);
      size_t slash = variant.find('/');
      Format format = formatOf("mxfp4");
      format.element = elementOf(variant.substr(0, slash));
      RoundTrip actual(format, ruleOf(variant.substr(slash + 1)), x, 1,
                       int64_t(x.size()));
      ++count;
      if (name == "huge" && variant == "mxint4/rceil") {
        // The vector has the NaN scale 255 here. Its amax, 3e38, is finite, and
        // a finite amax saturates at 254 (scale_c11): the block is kept.
        EXPECT_EQ(codesOf(expected["scales"]), std::vector<uint32_t>{255});
        EXPECT_EQ(actual.scales.codes, std::vector<uint32_t>{254});
        EXPECT_EQ(actual.values[0], x[0] < 0 ? -0x1.cp127f : 0x1.cp127f);
        continue;
      }
      expectVector(actual, expected);
    }
  }
  EXPECT_EQ(count, 5u * 24);
}

namespace {
struct Variant {
  const char *name;
  Format format;
  ScaleRule rule;
};
} // namespace

static std::vector<Variant> nvVariants() {
  Format nvfp4 = formatOf("nvfp4");
  Format oneLevel = formatOf("nvfp4", {{"tensor", "none"}});
  return {
      {"te", nvfp4, ruleOf("two_level")},
      {"te_256", nvfp4, ruleOf("two_level", {{"bound", "256"}})},
      {"nvint4", formatOf("nvint4"), ruleOf("two_level")},
      {"torchao_two_level", nvfp4, ruleOf("torchao_two_level")},
      {"torchao_one_level", oneLevel, ruleOf("division")},
      {"cublas_scale_in_1", oneLevel, ruleOf("reciprocal")},
      {"nunchaku_act", oneLevel, ruleOf("svdquant")},
      {"four_over_six_mse", nvfp4, ruleOf("four_over_six")},
      {"four_over_six_mae", nvfp4, ruleOf("four_over_six_mae")},
  };
}

TEST(QuantizeVectors, NV) {
  unsigned count = 0;
  Json all = tensors();
  for (auto &[name, tensor] : all.items()) {
    if (!tensor.contains("nvfp4"))
      continue;
    std::vector<float> x = hexFloats(tensor["x"]);
    for (const Variant &variant : nvVariants()) {
      SCOPED_TRACE(name + " " + variant.name);
      const Json &expected = tensor["nvfp4"][variant.name];
      RoundTrip actual(variant.format, variant.rule, x, 1, int64_t(x.size()));
      ++count;
      if (expected.is_null()) {
        // An amax of zero, for which torchao divides by zero: here the tensor
        // scale is 1 and the values are zeros of the same sign (scale_c10).
        EXPECT_EQ(name, "neg_zeros");
        EXPECT_EQ(actual.scales.tensorScale, 1.0f);
        EXPECT_EQ(bitsOf(actual.values), bitsOf(x));
        continue;
      }
      bool isCublas = std::string(variant.name) == "cublas_scale_in_1";
      expectVector(actual, expected, isCublas ? "dq_before_unscale" : "dq");
      if (expected.contains("global_decode_scale") &&
          !expected["global_decode_scale"].is_null())
        EXPECT_EQ(bitsOfF32(actual.scales.tensorScale),
                  hexBits(expected["global_decode_scale"]));
      if (expected.contains("pick")) {
        // Six is the first candidate: the scale that two_level takes.
        ScaleRule six = ruleOf("two_level", {{"bound", "256"}});
        RoundTrip first(variant.format, six, x, 1, int64_t(x.size()));
        for (size_t i = 0; i < expected["pick"].size(); ++i)
          if (expected["pick"][i] == "6")
            EXPECT_EQ(actual.scales.codes[i], first.scales.codes[i]);
      }
    }
  }
  EXPECT_EQ(count, 4u * 9);
}

// scale_c20. The vectors divide by G where a tensor scale multiplies by
// fl(1/G), so values may differ in the last bit; codes and scales may not.
TEST(QuantizeVectors, HeldAmax) {
  Format format = formatOf("fp4_ue5m3", {{"tensor", "f32"}});
  unsigned count = 0;
  Json all = tensors();
  for (auto &[name, tensor] : all.items())
    for (const char *variant : {"ue5m3_T448", "ue5m3_T2048"}) {
      if (!tensor.contains("nvfp4"))
        continue;
      SCOPED_TRACE(name + " " + variant);
      const Json &expected = tensor["nvfp4"][variant];
      std::vector<float> x = hexFloats(tensor["x"]);
      ScaleRule rule = ruleOf("ue5m3");
      rule.bound = expected["T"];
      RoundTrip actual(format, rule, x, 1, int64_t(x.size()),
                       Rounding::NearestEven, 0,
                       hexFloat(expected["cached_amax"]));
      EXPECT_EQ(actual.scales.codes, codesOf(expected["scales"]));
      EXPECT_EQ(widened(actual.codes), codesOf(expected["codes"]));
      EXPECT_EQ(actual.scales.tensorScale, 1.0f / hexFloat(expected["G"]));
      std::vector<float> values = hexFloats(expected["dq"]);
      for (size_t i = 0; i < values.size(); ++i) {
        float value = std::fabs(actual.values[i]);
        int32_t ulps =
            int32_t(bitsOfF32(value) - bitsOfF32(std::fabs(values[i])));
        EXPECT_LE(std::abs(ulps), 1) << i;
      }
      ++count;
    }
  EXPECT_EQ(count, 8u);
}

// scale_c12
TEST(QuantizeVectors, AnInfiniteBlockIsNaN) {
  Json tensor = tensors()["has_inf"];
  std::vector<float> x = hexFloats(tensor["x"]);
  for (const char *head : {"mxfp4", "mxfp6_e2m3", "mxfp8_e4m3", "mxint8"})
    for (const char *rule : {"floor", "ceil", "rceil", "even"}) {
      RoundTrip actual(formatOf(head), ruleOf(rule), x, 1, int64_t(x.size()));
      EXPECT_EQ(actual.scales.codes,
                codesOf(Json::array({tensor["recommended"]["mx_scale_code"]})));
      for (float value : actual.values)
        EXPECT_TRUE(std::isnan(value)) << head << " " << rule;
    }
}

// quantize_c2: given the scales alone, quantize divides by them. For powers of
// two that is what the rule itself does.
TEST(QuantizeVectors, FromScalesAlone) {
  Json all = tensors();
  for (auto &[name, tensor] : all.items()) {
    if (!tensor.contains("mx"))
      continue;
    std::vector<float> x = hexFloats(tensor["x"]);
    const Json &expected = tensor["mx"]["e4m3fn/floor"];
    reference::Scales scales;
    scales.codes = codesOf(expected["scales"]);
    EXPECT_EQ(widened(reference::quantize(formatOf("mxfp8_e4m3"), scales,
                                          x.data(), {1, 1, int64_t(x.size())},
                                          Rounding::NearestEven)),
              codesOf(expected["codes"]));
  }
}
