//===-- FormatTest.cpp - Formats as text, and impossible ones -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Format.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;
using Options = std::vector<Format::Option>;

static std::string errorOf(const std::string &head, const Options &options) {
  std::string error;
  EXPECT_FALSE(Format::fromText(head, options, error));
  return error;
}

/// Splits `head, key = value, ...` as the attribute's parser does.
static Format parseText(const std::string &text) {
  Options options;
  size_t depth = 0, start = 0;
  std::vector<std::string> parts;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !depth)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 2;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t equal = parts[i].find(" = ");
    options.emplace_back(parts[i].substr(0, equal), parts[i].substr(equal + 3));
  }
  return formatOf(parts[0], options);
}

// format_c9
TEST(Format, PresetsPrintByName) {
  for (const Preset &preset : presets()) {
    EXPECT_EQ(preset.format.check(), "") << preset.name;
    EXPECT_EQ(Format::fromPreset(preset.name), preset.format);
    EXPECT_EQ(parseText(preset.format.text()), preset.format);
    if (preset.name != "fp4_e4m3") // another name for nvfp4
      EXPECT_EQ(preset.format.text(), preset.name);
  }
  EXPECT_EQ(presets().size(), 20u);
  EXPECT_EQ(formatOf("fp4_e4m3").text(), "nvfp4");
}

TEST(Format, NVFP4SpelledOut) {
  EXPECT_EQ(
      formatOf("e2m1", {{"block", "16"}, {"scale", "e4m3"}, {"tensor", "f32"}}),
      formatOf("nvfp4"));
  Format weights = formatOf("nvfp4", {{"block", "16x16"}});
  EXPECT_EQ(weights.blockRows, 16);
  EXPECT_EQ(weights.text(), "e2m1, block = 16x16, scale = ue4m3, tensor = f32");
}

TEST(Format, TextRoundTrips) {
  const Options blocks = {{"block", "8"}, {"block", "128"}, {"block", "32x32"}};
  for (const Format::Option &block : blocks)
    for (const char *element :
         {"e2m1", "e3m2", "e1m2", "e4m3", "int4", "int8q6", "midrise3", "nf4"})
      for (const char *scale :
           {"e8m0", "ue4m3", "ue5m3_reserved", "ue1m7", "f16", "bf16", "f32"}) {
        Format format =
            formatOf(element, {block, {"scale", scale}, {"tensor", "none"}});
        EXPECT_EQ(parseText(format.text()), format) << format.text();
      }
  Format asymmetric =
      formatOf("uint4", {{"block", "128"}, {"scale", "f32"}, {"zero", "f16"}});
  EXPECT_EQ(parseText(asymmetric.text()), asymmetric);
}

TEST(Format, CodebookRoundTrips) {
  std::string head = "codebook[-8, -1.5, -1.0e-05, 0, 0.1, 0.2, 0.3, 0.4, 0.5, "
                     "0.6, 0.7, 0.8, 0.9, 1, 2, 3.0e+20]";
  Format format = formatOf(head, {{"block", "64"}, {"scale", "f32"}});
  EXPECT_EQ(format.element.codebook[2], -1e-5f);
  EXPECT_EQ(parseText(format.text()), format);
}

TEST(Format, Errors) {
  EXPECT_EQ(errorOf("nvfp5", {}),
            "expects a preset or an element (eXmY, intN, intNqF, uintN, "
            "midriseN, nf4 or codebook[...]), but got nvfp5");
  EXPECT_EQ(errorOf("e2m1", {{"block", "16"}}),
            "expects a preset, or an element with block and scale, but got "
            "e2m1 without scale");
  EXPECT_EQ(errorOf("e5m5", {}),
            "expects an element eXmY with 1 + X + Y from 3 to 8 and X at "
            "least 1, but got e5m5");
  EXPECT_EQ(errorOf("nvfp4", {{"scale", "e9m9"}}),
            "expects a scale ueXmY with X + Y of 7 or 8, X and Y at least 1, "
            "but got e9m9");
  EXPECT_EQ(errorOf("nvfp4", {{"scale", "f64"}}),
            "expects a scale (e8m0, ueXmY, f16, bf16 or f32), but got f64");
  EXPECT_EQ(errorOf("nvfp4", {{"blocks", "16"}}),
            "expects an option block, scale, tensor or zero, but got blocks");
  EXPECT_EQ(errorOf("nvfp4", {{"block", "16"}, {"block", "32"}}),
            "expects one value of block, but got 16 and 32");
  EXPECT_EQ(errorOf("nvfp4", {{"block", "x"}}),
            "expects block = N or NxN, but got block = x");
  EXPECT_EQ(errorOf("nvfp4", {{"tensor", "f16"}}),
            "expects tensor = f32 or none, but got tensor = f16");
  EXPECT_EQ(errorOf("codebook[1, 2]", {{"block", "16"}, {"scale", "f32"}}),
            "expects 16 values in a codebook, but got 2");
}

// format_c8: impossible combinations, both values named
TEST(Format, Impossible) {
  EXPECT_EQ(errorOf("nvfp4", {{"block", "12"}}),
            "expects a block of a multiple of 8 columns from 8 to 128, but got "
            "12 columns");
  EXPECT_EQ(errorOf("nvfp4", {{"block", "256"}}),
            "expects a block of a multiple of 8 columns from 8 to 128, but got "
            "256 columns");
  EXPECT_EQ(errorOf("nvfp4", {{"block", "8x16"}}),
            "expects a block of 1 row or of as many rows as columns (16), but "
            "got 8 rows");
  EXPECT_EQ(errorOf("nvfp4", {{"zero", "code"}}),
            "expects an element uintN with a zero point, but got element e2m1");
  EXPECT_EQ(errorOf("uint4", {{"zero", "none"}}),
            "expects a zero point (zero = code, f16 or f32) with element "
            "uint4, but got zero = none");
  EXPECT_EQ(errorOf("nvfp4", {{"scale", "f32"}}),
            "expects a scale of at most 16 bits with tensor = f32, but got "
            "scale = f32");
  EXPECT_EQ(errorOf("uint4", {{"tensor", "f32"}}),
            "expects no tensor scale with a zero point, but got tensor = f32 "
            "and element uint4");
  EXPECT_EQ(errorOf("uint4", {{"scale", "e8m0"}}),
            "expects a scale with a mantissa with a zero point, but got scale "
            "= e8m0");
  EXPECT_EQ(errorOf("codebook[0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
                    "14]",
                    {{"block", "16"}, {"scale", "f32"}}),
            "expects ascending codebook values, but value 2 (1.000000) follows "
            "1.000000");
}

TEST(Format, BitsPerElement) {
  EXPECT_EQ(formatOf("mxfp8_e4m3").bitsPerElement(), 8.25);
  EXPECT_EQ(formatOf("mxint6").bitsPerElement(), 6.25);
  Json bits = readRefs("bits_per_element.json");
  EXPECT_EQ(formatOf("mxfp4").bitsPerElement(),
            bits["MXFP4/MXINT4 (1x32,E8M0)"]);
  EXPECT_EQ(formatOf("mxint8").bitsPerElement(),
            bits["MXFP8/MXINT8 (1x32,E8M0)"]);
  EXPECT_EQ(formatOf("nvint4").bitsPerElement(),
            bits["NVFP4/NVINT4 (1x16,E4M3; +32/numel)"]);
  EXPECT_EQ(formatOf("nvfp4", {{"block", "16x16"}}).bitsPerElement(),
            bits["NVFP4 2D 16x16 logical (+32/numel)"]);
  EXPECT_EQ(formatOf("fp4_ue5m3", {{"block", "32"}}).bitsPerElement(),
            bits["UE5M3 FP4 block32"]);
  EXPECT_EQ(formatOf("nf4").bitsPerElement(), bits["NF4 block64 fp32 absmax"]);
  EXPECT_EQ(formatOf("uint4", {{"block", "128"}}).bitsPerElement(),
            bits["INT4 g128 fp16 scale + 4-bit zero"]);
  EXPECT_EQ(
      formatOf("int4", {{"block", "64"}, {"scale", "f16"}}).bitsPerElement(),
      bits["INT4 g64 fp16 scale (SVDQuant int4)"]);
}
