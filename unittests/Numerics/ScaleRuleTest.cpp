//===-- ScaleRuleTest.cpp - Rules as text, and impossible ones ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/ScaleRule.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;
using Options = std::vector<Format::Option>;

static std::string errorOf(const std::string &head, const Options &options) {
  std::string error;
  EXPECT_FALSE(ScaleRule::fromText(head, options, error));
  return error;
}

TEST(ScaleRule, TextRoundTrips) {
  const Options options[] = {
      {},
      {{"bound", "256"}},
      {{"pre_multiplier", "0.75"}, {"headroom", "0.94117647"}},
      {{"estimator", "rms"}, {"clip", "3"}, {"epsilon", "1.0e-06"}},
      {{"satfinite", "true"}},
      {{"select", "four_over_six_mae"}},
  };
  for (const char *head :
       {"two_level", "torchao_two_level", "four_over_six", "four_over_six_mae",
        "svdquant", "ue5m3", "rms", "minmax", "floor", "ceil", "rceil", "even"})
    for (const Options &extra : options) {
      ScaleRule rule = ruleOf(head, extra);
      std::string text = rule.text();
      Options parsed;
      size_t comma = text.find(", ");
      std::string name = text.substr(0, comma);
      while (comma != std::string::npos) {
        size_t next = text.find(", ", comma + 2);
        std::string option = text.substr(comma + 2, next - comma - 2);
        size_t equal = option.find(" = ");
        parsed.emplace_back(option.substr(0, equal), option.substr(equal + 3));
        comma = next;
      }
      EXPECT_EQ(ruleOf(name, parsed), rule) << text;
    }
  EXPECT_EQ(ruleOf("reciprocal").text(), "two_level");
  EXPECT_EQ(ruleOf("two_level", {{"bound", "256"}}).text(),
            "reciprocal, bound = 256");
}

TEST(ScaleRule, Errors) {
  EXPECT_EQ(errorOf("two_level", {{"bound", "-1"}}),
            "expects a positive number for bound, but got -1");
  EXPECT_EQ(errorOf("two_level", {{"clip", "0"}}),
            "expects a positive number for clip, but got 0");
  EXPECT_EQ(errorOf("two_level", {{"bound", "nan"}}),
            "expects a positive number for bound, but got nan");
  EXPECT_EQ(errorOf("two_level", {{"bound", "1e999"}}),
            "expects a positive number for bound, but got 1e999");
  EXPECT_EQ(errorOf("rceil", {{"satfinite", "yes"}}),
            "expects satfinite = true or false, but got satfinite = yes");
  EXPECT_EQ(errorOf("rceil", {{"estimator", "median"}}),
            "expects estimator = absmax, rms or minmax, but got estimator = "
            "median");
  EXPECT_EQ(errorOf("rceil", {{"margin", "1"}}),
            "expects an option estimator, order, select, satfinite, bound, "
            "pre_multiplier, headroom, clip or epsilon, but got margin");
  EXPECT_NE(errorOf("twolevel", {}).find("but got twolevel"),
            std::string::npos);
}

// scale_c16
TEST(ScaleRule, ImpossibleForAFormat) {
  auto check = [](const char *rule, const char *format,
                  const Options &options = {}) {
    return ruleOf(rule, options).check(formatOf(format));
  };
  EXPECT_EQ(check("rceil", "fp4_ue5m3"),
            "expects scale = e8m0 with order = rceil, but got scale = ue5m3");
  EXPECT_EQ(check("rceil", "fp4_e8m0"),
            "expects a format without a tensor scale with order = rceil, but "
            "got format fp4_e8m0");
  EXPECT_EQ(check("ue5m3", "fp4_ue5m3"),
            "expects a format with tensor = f32 with order = held, which "
            "scales by the tensor's held amax, but got format fp4_ue5m3");
  EXPECT_EQ(check("two_level", "uint4"),
            "expects estimator = minmax with a zero point, but got estimator = "
            "absmax");
  EXPECT_EQ(check("minmax", "nvfp4"),
            "expects a format with a zero point with estimator = minmax, but "
            "got format nvfp4");
  EXPECT_EQ(check("svdquant", "nvfp4"),
            "expects a format without a tensor scale with order = unrounded, "
            "but got format nvfp4");
  EXPECT_EQ(check("two_level", "nvfp4", {{"satfinite", "true"}}),
            "expects order = floor, ceil, rceil or even with satfinite = true, "
            "but got order = reciprocal");
  EXPECT_EQ(check("two_level", "nvfp4", {{"bound", "500"}}),
            "expects a bound of at most 448 with scale = ue4m3, but got bound "
            "= 500");
  EXPECT_EQ(check("four_over_six", "nvint4"),
            "expects an element whose largest magnitude is 6 with select = "
            "four_over_six_mse, but got element int4 with 7");
  EXPECT_EQ(check("floor", "mxfp4", {{"headroom", "0.5"}}),
            "expects headroom = 1 with order = floor, but got headroom = 0.5");
}

TEST(ScaleRule, EveryPresetHasADefault) {
  for (const Preset &preset : presets())
    EXPECT_EQ(ScaleRule::defaultFor(preset.format).check(preset.format), "")
        << preset.name;
  EXPECT_EQ(ScaleRule::defaultFor(formatOf("mxfp4")).text(), "rceil");
  EXPECT_EQ(ScaleRule::defaultFor(formatOf("nvfp4")).text(), "two_level");
  EXPECT_EQ(ScaleRule::defaultFor(formatOf("nf4")).text(), "torchao_two_level");
  EXPECT_EQ(ScaleRule::defaultFor(formatOf("uint4")).text(), "minmax");
}

TEST(ScaleRule, EncodeFactors) {
  EXPECT_TRUE(ruleOf("two_level").hasEncodeFactor());
  EXPECT_TRUE(ruleOf("svdquant").hasEncodeFactor());
  EXPECT_TRUE(ruleOf("ue5m3").hasEncodeFactor());
  EXPECT_FALSE(ruleOf("torchao_two_level").hasEncodeFactor());
  EXPECT_FALSE(ruleOf("floor").hasEncodeFactor());
  EXPECT_TRUE(ruleOf("floor", {{"pre_multiplier", "0.75"}}).hasEncodeFactor());
}
