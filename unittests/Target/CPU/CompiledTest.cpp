//===-- CompiledTest.cpp - Compiled code equals the host, bit for bit -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random shapes with odd extents, every preset, every rule, every rounding:
// scale, quantize and dequantize as compiled for this processor
// against the host evaluation of lib/Numerics, which is itself tested against
// vectors and an independent search.
//
//===----------------------------------------------------------------------===//
#include "Compiled.h"
#include "Values.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Reference.h"
#include "mlir/IR/BuiltinTypes.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace blockscale;
using namespace blockscale::test;
using mlir::RankedTensorType;

namespace {

struct Case {
  Format format;
  ScaleRule rule;
  Rounding rounding = Rounding::NearestEven;
  int64_t batch = 1, rows = 1, cols = 1;
  bool byScales = false; ///< quantize from scales, not from encode factors.
  runtime::DataType real = runtime::DataType::F32; ///< What is quantized.
  bool tiled = false;                       ///< The scales lie in 128x4 tiles.
  std::optional<float> amax = std::nullopt; ///< A held one.
  bool withSpecials = true; ///< NaN, infinity and 3e38 among the values.

  bool pad() const { return cols % format.blockCols != 0; }
  std::string describe() const {
    return format.text() + " by " + rule.text() + " rounding " +
           std::to_string(int(rounding)) + " on " + std::to_string(batch) +
           "x" + std::to_string(rows) + "x" + std::to_string(cols) +
           (byScales ? " by scales" : "") + " of " + std::string(name(real)) +
           (tiled ? " in tiles" : "") + (amax ? " with a held amax" : "");
  }
};

/// A function that returns everything quantization makes, and the values back.
std::string moduleFor(const Case &c) {
  mlir::MLIRContext *context = &sharedContext();
  context->loadDialect<BlockScaleDialect>();
  auto format = FormatAttr::get(context, c.format);
  std::vector<int64_t> shape{c.batch, mlir::ShapedType::kDynamic, c.cols};
  auto f32 = mlir::Float32Type::get(context);
  auto source = RankedTensorType::get(shape, typeOf(c.real));
  auto elements = format.getElementsTypeOf(source);
  auto scales = format.getScalesTypeOf(
      source, c.tiled ? Tiled128x4Attr::get(context) : mlir::Attribute());
  auto factors = RankedTensorType::get(scales.getShape(), f32);
  auto values = RankedTensorType::get(elements.getShape(), typeOf(c.real));
  auto zeros = format.getZeroPointsTypeOf(source);
  bool hasFactors = c.rule.hasEncodeFactor();
  std::string fmt = "#blockscale.format<" + c.format.text() + ">";

  std::string names = "%s", types = str(scales), returned = "%s";
  std::string dequantizeArgs = " scales(%s : " + str(scales) + ")";
  std::string quantizeArgs = dequantizeArgs;
  if (c.format.hasTensorScale) {
    names += ", %g";
    types += ", tensor<f32>";
    dequantizeArgs += " tensor(%g : tensor<f32>)";
    quantizeArgs += " tensor(%g : tensor<f32>)";
  }
  if (zeros) {
    names += ", %z";
    types += ", " + str(zeros);
    dequantizeArgs += " zeros(%z : " + str(zeros) + ")";
    quantizeArgs += " zeros(%z : " + str(zeros) + ")";
  }
  if (hasFactors) {
    names += ", %e";
    types += ", " + str(factors);
    if (!c.byScales)
      quantizeArgs = " encode(%e : " + str(factors) + ")";
  }
  std::string pad = c.pad() ? " {pad}" : "";
  bool stochastic = c.rounding == Rounding::Stochastic;
  std::string text = "func.func @f(%x: " + str(source) +
                     ", %seed: tensor<i64>, %a: tensor<f32>) -> (" + types +
                     ", " + str(elements) + ", " + str(values) + ") {\n  " +
                     names + " = blockscale.scale %x : " + str(source) +
                     (c.amax ? " amax(%a : tensor<f32>)" : "") + " to " + fmt +
                     " by #blockscale.scale_rule<" + c.rule.text() + ">" + pad +
                     " -> ";
  text += types + "\n";
  text += "  %q = blockscale.quantize %x : " + str(source) + quantizeArgs +
          " to " + fmt + " round " + stringifyRounding(c.rounding).str() +
          (stochastic ? " seed(%seed : tensor<i64>)" : "") + pad + " -> " +
          str(elements) + "\n";
  text += "  %y = blockscale.dequantize %q : " + str(elements) +
          dequantizeArgs + " from " + fmt + " -> " + str(values) + "\n";
  text += "  return " + names + ", %q, %y : " + types + ", " + str(elements) +
          ", " + str(values) + "\n}\n";
  return text;
}

void run(const Case &c) {
  SCOPED_TRACE(c.describe());
  std::string text = moduleFor(c);
  SCOPED_TRACE(text);
  Compiled compiled(text);
  if (!compiled)
    return;
  reference::Extents extents{c.batch, c.rows, c.cols};
  Reals x(c.real, awkwardValues(extents.elements(),
                                std::hash<std::string>()(c.describe()),
                                c.withSpecials));
  int64_t seed = 0x123456789abcdef0;
  float amax = c.amax.value_or(0);
  std::vector<runtime::Tensor> results =
      compiled({x.view({c.batch, c.rows, c.cols}),
                view(runtime::DataType::I64, &seed, {}),
                view(runtime::DataType::F32, &amax, {})});
  ASSERT_FALSE(results.empty());

  reference::Scales scales =
      reference::scale(c.format, c.rule, x.values.data(), extents, c.amax);
  reference::BlockGrid grid = reference::blockGridOf(c.format, extents);
  size_t next = 0;
  std::vector<uint32_t> scaleCodes = scales.codes;
  if (c.tiled)
    scaleCodes =
        tiledCodes(scaleCodes, c.batch, grid.scaleRows, grid.scaleCols);
  expectSame(codesOf(results[next++], 8), scaleCodes, "scale");
  if (c.format.hasTensorScale)
    expectSame(bitsOf(floatsOf(results[next++])), bitsOf({scales.tensorScale}),
               "tensor scale");
  if (c.format.zero != ZeroPoint::None) {
    unsigned width = c.format.zero == ZeroPoint::Code ? 8 : 32;
    expectSame(codesOf(results[next++], width), scales.zeros, "zero point");
  }
  if (c.rule.hasEncodeFactor())
    expectSame(bitsOf(floatsOf(results[next++])), bitsOf(scales.encodeFactors),
               "encode factor");
  if (c.byScales)
    scales.encodeFactors.clear();
  std::vector<uint8_t> codes = reference::quantize(
      c.format, scales, x.values.data(), extents, c.rounding, uint64_t(seed));
  expectSame(codesOf(results[next++], c.format.element.width()),
             std::vector<uint32_t>(codes.begin(), codes.end()), "element");
  std::vector<float> values = reference::dequantize(
      c.format, scales, codes.data(), {c.batch, c.rows, grid.paddedCols});
  expectSame(bitsOf(floatsOf(results[next++])),
             bitsOf(Reals(c.real, values).values), "value");
}

} // namespace

TEST(Compiled, EveryPresetByItsDefaultRule) {
  for (const Preset &preset : presets())
    run({preset.format, ScaleRule::defaultFor(preset.format),
         Rounding::NearestEven, 2, 7, 3 * preset.format.blockCols});
}

TEST(Compiled, EveryPresetPadded) {
  for (const Preset &preset : presets())
    run({preset.format, ScaleRule::defaultFor(preset.format),
         Rounding::NearestEven, 1, 5, 2 * preset.format.blockCols + 5});
}

TEST(Compiled, EveryPresetStochastic) {
  for (const Preset &preset : presets())
    run({preset.format, ScaleRule::defaultFor(preset.format),
         Rounding::Stochastic, 1, 5, 3 * preset.format.blockCols});
}

TEST(Compiled, EveryRounding) {
  for (const char *name : {"nvfp4", "mxfp8_e5m2", "mxfp6_e2m3", "mxint8"})
    for (Rounding rounding :
         {Rounding::TowardZero, Rounding::NearestAway, Rounding::NearestZero}) {
      Format format = *Format::fromPreset(name);
      run({format, ScaleRule::defaultFor(format), rounding, 1, 9,
           2 * format.blockCols});
    }
}

TEST(Compiled, EveryRule) {
  struct {
    const char *format;
    bool tensorScale;
    std::vector<const char *> rules;
  } cases[] = {
      {"mxfp4", false, {"floor", "ceil", "rceil", "even", "rms"}},
      {"mxfp8_e4m3", false, {"floor", "ceil", "even"}},
      {"mxint4", false, {"floor", "ceil", "rceil", "even"}},
      {"nvfp4",
       true,
       {"two_level", "torchao_two_level", "four_over_six",
        "four_over_six_mae"}},
      {"fp4_ue5m3", true, {"ue5m3", "two_level"}},
      {"fp4_ue5m3", false, {"svdquant", "two_level", "absmax"}},
  };
  for (const auto &[formatName, tensorScale, names] : cases)
    for (const char *ruleName : names) {
      std::string error;
      Format format = *Format::fromPreset(formatName);
      format.hasTensorScale = tensorScale;
      auto rule = ScaleRule::fromText(ruleName, {}, error);
      ASSERT_TRUE(rule) << error;
      ASSERT_EQ(rule->check(format), "");
      run({format, *rule, Rounding::NearestEven, 1, 11, 4 * format.blockCols});
      run({format, *rule, Rounding::NearestEven, 1, 3, 2 * format.blockCols,
           true});
    }
}

TEST(Compiled, BlocksOfEveryShape) {
  std::string error;
  for (const char *block :
       {"8", "24", "40", "64", "96", "128", "8x8", "16x16", "32x32"}) {
    auto format = Format::fromText(
        "e2m1", {{"block", block}, {"scale", "ue4m3"}, {"tensor", "f32"}},
        error);
    ASSERT_TRUE(format) << error;
    for (Rounding rounding : {Rounding::NearestEven, Rounding::Stochastic})
      run({*format, ScaleRule::defaultFor(*format), rounding, 2, 37,
           2 * format->blockCols});
    std::string ruleError;
    auto rule = ScaleRule::fromText("four_over_six", {}, ruleError);
    ASSERT_TRUE(rule) << ruleError;
    run({*format, *rule, Rounding::NearestEven, 2, 19, 3 * format->blockCols});
  }
}

TEST(Compiled, EveryPresetOfShortFloats) {
  for (const Preset &preset : presets())
    for (auto real : {runtime::DataType::BF16, runtime::DataType::F16})
      run({preset.format, ScaleRule::defaultFor(preset.format),
           Rounding::NearestEven, 1, 9, 2 * preset.format.blockCols + 3, false,
           real});
}

TEST(Compiled, ScalesInTiles) {
  for (const Preset &preset : presets())
    if (preset.format.scale.width() == 8)
      run({preset.format, ScaleRule::defaultFor(preset.format),
           Rounding::NearestEven, 3, 133, 5 * preset.format.blockCols, true,
           runtime::DataType::F32, true});
  // Square blocks, and a rule that encodes by factor.
  Format square = *Format::fromPreset("nvfp4");
  square.blockRows = 16;
  run({square, ScaleRule::defaultFor(square), Rounding::NearestEven, 2, 90,
       5 * 16, false, runtime::DataType::BF16, true});
}

TEST(Compiled, HeldAmax) {
  for (const char *ruleName :
       {"two_level", "torchao_two_level", "ue5m3", "four_over_six"})
    for (float amax : {4.0f, 1e-3f, 0.0f, INFINITY, 1e38f}) {
      std::string error;
      auto rule = ScaleRule::fromText(ruleName, {}, error);
      ASSERT_TRUE(rule) << error;
      run({*Format::fromPreset("nvfp4"), *rule, Rounding::NearestEven, 1, 6, 48,
           false, runtime::DataType::F32, false, amax, false});
    }
}

TEST(Compiled, NoRows) {
  Format format = *Format::fromPreset("nvfp4");
  run({format, ScaleRule::defaultFor(format), Rounding::NearestEven, 2, 0,
       2 * format.blockCols});
  run({format, ScaleRule::defaultFor(format), Rounding::NearestEven, 0, 4,
       2 * format.blockCols});
}
