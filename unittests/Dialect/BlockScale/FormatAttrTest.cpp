//===-- FormatAttrTest.cpp - Builtin types and shapes of formats ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

class FormatAttrTest : public testing::Test {
protected:
  FormatAttrTest() { context.loadDialect<BlockScaleDialect>(); }

  FormatAttr format(std::string_view head,
                    const std::vector<Format::Option> &options = {}) {
    std::string error;
    auto value = Format::fromText(head, options, error);
    EXPECT_TRUE(value) << error;
    return FormatAttr::get(&context, *value);
  }

  /// `element scale zero`, `-` for a format without zero points.
  static std::string types(FormatAttr format) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << format.getElementType() << ' ' << format.getScaleType() << ' ';
    if (Type zero = format.getZeroPointType())
      os << zero;
    else
      os << '-';
    return text;
  }

  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }

  MLIRContext context;
};

constexpr int64_t dynamic = ShapedType::kDynamic;

TEST_F(FormatAttrTest, TypesOfPresets) {
  EXPECT_EQ(types(format("mxfp8_e4m3")), "f8E4M3FN f8E8M0FNU -");
  EXPECT_EQ(types(format("mxfp8_e5m2")), "f8E5M2 f8E8M0FNU -");
  EXPECT_EQ(types(format("mxfp6_e2m3")), "f6E2M3FN f8E8M0FNU -");
  EXPECT_EQ(types(format("mxfp6_e3m2")), "f6E3M2FN f8E8M0FNU -");
  EXPECT_EQ(types(format("mxfp4")), "f4E2M1FN f8E8M0FNU -");
  EXPECT_EQ(types(format("nvfp4")), "f4E2M1FN f8E4M3FN -");
  EXPECT_EQ(types(format("mxint8")), "i8 f8E8M0FNU -");
  EXPECT_EQ(types(format("mxint6")), "i6 f8E8M0FNU -");
  EXPECT_EQ(types(format("mxint4")), "i4 f8E8M0FNU -");
  EXPECT_EQ(types(format("nvint4")), "i4 f8E4M3FN -");
  EXPECT_EQ(types(format("nf4")), "i4 f32 -");
  EXPECT_EQ(types(format("uint4")), "i4 f16 i8");
}

TEST_F(FormatAttrTest, ScalesThatAreNotBuiltinAreBytes) {
  for (const char *name : {"fp4_ue5m3", "fp4_e1m6", "fp4_e2m5", "fp4_e3m4",
                           "fp4_e5m2", "fp4_e6m1"})
    EXPECT_EQ(types(format(name)), "f4E2M1FN i8 -") << name;
  EXPECT_EQ(types(format("fp4_e4m3")), "f4E2M1FN f8E4M3FN -");
  EXPECT_EQ(types(format("fp4_e8m0")), "f4E2M1FN f8E8M0FNU -");
}

TEST_F(FormatAttrTest, TypesOfSpelledFormats) {
  EXPECT_EQ(types(format("e3m4", {{"block", "32"}, {"scale", "bf16"}})),
            "i8 bf16 -");
  EXPECT_EQ(types(format("e1m2", {{"block", "32"}, {"scale", "f16"}})),
            "i4 f16 -");
  EXPECT_EQ(types(format("midrise4", {{"block", "32"}, {"scale", "f32"}})),
            "i4 f32 -");
  EXPECT_EQ(types(format("uint3",
                         {{"block", "64"}, {"scale", "f32"}, {"zero", "f16"}})),
            "i3 f32 f16");
  EXPECT_EQ(types(format("uint8",
                         {{"block", "64"}, {"scale", "f32"}, {"zero", "f32"}})),
            "i8 f32 f32");
}

TEST_F(FormatAttrTest, EveryPresetHasTypesOfItsWidths) {
  for (const Preset &preset : presets()) {
    FormatAttr attribute = FormatAttr::get(&context, preset.format);
    EXPECT_EQ(attribute.getElementType().getIntOrFloatBitWidth(),
              preset.format.element.width())
        << preset.name;
    EXPECT_EQ(attribute.getScaleType().getIntOrFloatBitWidth(),
              preset.format.scale.width())
        << preset.name;
    EXPECT_EQ(attribute.hasZeroPoints(), bool(attribute.getZeroPointType()))
        << preset.name;
  }
}

TEST_F(FormatAttrTest, EqualFormatsAreOneAttribute) {
  EXPECT_EQ(
      format("nvfp4"),
      format("e2m1", {{"block", "16"}, {"scale", "ue4m3"}, {"tensor", "f32"}}));
  EXPECT_NE(format("nvfp4"), format("nvfp4", {{"block", "32"}}));
  EXPECT_NE(format("nvfp4"), format("nvfp4", {{"tensor", "none"}}));
  EXPECT_NE(format("mxint8"),
            format("int8q4", {{"block", "32"}, {"scale", "e8m0"}}));

  // -0 equals 0, so both must hash alike.
  Format plus = format("nf4").getValue(), minus = plus;
  minus.element.codebook[7] = -0.0f;
  ASSERT_TRUE(plus == minus);
  EXPECT_EQ(FormatAttr::get(&context, plus), FormatAttr::get(&context, minus));
}

TEST_F(FormatAttrTest, ImpossibleFormatsAreNotMade) {
  Format broken = format("nvfp4").getValue();
  broken.blockCols = 12;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  EXPECT_FALSE(FormatAttr::getChecked(emitError, &context, broken));
  EXPECT_NE(message.find("but got 12 columns"), std::string::npos) << message;
}

TEST_F(FormatAttrTest, ShapesOfRowBlocks) {
  FormatAttr nvfp4 = format("nvfp4");
  Type f32 = Float32Type::get(&context);
  EXPECT_EQ(nvfp4.getPaddedExtent(96), 96);
  EXPECT_EQ(nvfp4.getPaddedExtent(97), 112);
  EXPECT_EQ(nvfp4.getElementsTypeOf(tensor({dynamic, 97}, f32)),
            tensor({dynamic, 112}, nvfp4.getElementType()));
  EXPECT_EQ(nvfp4.getScalesTypeOf(tensor({2, dynamic, 97}, f32)),
            tensor({2, dynamic, 7}, nvfp4.getScaleType()));
  EXPECT_EQ(nvfp4.getScalesTypeOf(tensor({16}, f32)),
            tensor({1}, nvfp4.getScaleType()));
  EXPECT_FALSE(nvfp4.getZeroPointsTypeOf(tensor({16}, f32)));

  Attribute tiled = Tiled128x4Attr::get(&context);
  EXPECT_EQ(nvfp4.getScalesTypeOf(tensor({3, 32}, f32), tiled).getEncoding(),
            tiled);
}

TEST_F(FormatAttrTest, ShapesOfSquareBlocks) {
  FormatAttr square = format("nvfp4", {{"block", "16x16"}});
  Type f32 = Float32Type::get(&context);
  EXPECT_EQ(square.getScalesTypeOf(tensor({5, 40, 64}, f32)),
            tensor({5, 3, 4}, square.getScaleType()));
  EXPECT_EQ(square.getScalesTypeOf(tensor({dynamic, 64}, f32)),
            tensor({dynamic, 4}, square.getScaleType()));
}

TEST_F(FormatAttrTest, ShapesOfZeroPoints) {
  FormatAttr uint4 = format("uint4");
  Type f32 = Float32Type::get(&context);
  EXPECT_EQ(uint4.getZeroPointsTypeOf(tensor({5, 128}, f32)),
            tensor({5, 2}, IntegerType::get(&context, 8)));
}

} // namespace
