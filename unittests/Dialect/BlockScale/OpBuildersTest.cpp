//===-- OpBuildersTest.cpp - Ops built without result types ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

class OpBuildersTest : public testing::Test {
protected:
  OpBuildersTest() : builder(&context), location(builder.getUnknownLoc()) {
    context.loadDialect<BlockScaleDialect>();
    module = ModuleOp::create(location);
    builder.setInsertionPointToStart(module->getBody());
  }

  FormatAttr format(std::string_view name) {
    return FormatAttr::get(&context, *Format::fromPreset(name));
  }
  ScaleRuleAttr rule(std::string_view head) {
    std::string error;
    return ScaleRuleAttr::get(&context, *ScaleRule::fromText(head, {}, error));
  }
  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Value value(RankedTensorType type) {
    return tensor::EmptyOp::create(builder, location, type, ValueRange());
  }

  MLIRContext context;
  OpBuilder builder;
  Location location;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OpBuildersTest, ScaleHasTheResultsOfFormatAndRule) {
  Value source = value(f32({8, 64}));
  auto scale = ScaleOp::create(builder, location, source, /*amax=*/Value(),
                               format("nvfp4"), rule("two_level"));
  EXPECT_EQ(scale.getNumResults(), 3u);
  EXPECT_EQ(scale.getTensorScale().getType(), f32({}));
  EXPECT_EQ(scale.getEncode().getType(), f32({8, 4}));
  EXPECT_FALSE(scale.getZeros());

  auto plain = ScaleOp::create(builder, location, source, Value(),
                               format("mxfp4"), rule("floor"));
  EXPECT_EQ(plain.getNumResults(), 1u);

  auto asymmetric = ScaleOp::create(builder, location, source, Value(),
                                    format("uint4"), rule("minmax"));
  EXPECT_EQ(asymmetric.getNumResults(), 2u);
  EXPECT_EQ(asymmetric.getZeros().getType(),
            RankedTensorType::get({8, 1}, builder.getI8Type()));
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(OpBuildersTest, ScaleTakesAmaxPadAndLayout) {
  Value source = value(f32({8, 100}));
  Value amax = AmaxOp::create(builder, location, source);
  Attribute tiled = Tiled128x4Attr::get(&context);
  auto scale = ScaleOp::create(builder, location, source, amax, format("nvfp4"),
                               rule("two_level"), /*pad=*/true, tiled);
  EXPECT_EQ(scale.getAmax(), amax);
  EXPECT_TRUE(scale.getPad());
  EXPECT_EQ(scale.getScales().getType().getEncoding(), tiled);
  EXPECT_EQ(scale.getScales().getType().getShape(), ArrayRef<int64_t>({8, 7}));
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(OpBuildersTest, QuantizeInfersElements) {
  Value source = value(f32({8, 100}));
  auto scale = ScaleOp::create(builder, location, source, Value(),
                               format("nvfp4"), rule("two_level"), true);
  auto quantize = QuantizeOp::create(
      builder, location, source, /*scales=*/Value(), /*tensor_scale=*/Value(),
      /*zeros=*/Value(), scale.getEncode(), /*seed=*/Value(), format("nvfp4"),
      Rounding::NearestEven, /*pad=*/true);
  EXPECT_EQ(
      quantize.getElements().getType(),
      RankedTensorType::get({8, 112}, builder.getType<Float4E2M1FNType>()));
  EXPECT_EQ(quantize.getRounding(), Rounding::NearestEven);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(OpBuildersTest, RotateKeepsItsType) {
  Value source = value(f32({8, 64}));
  auto rotate = RotateOp::create(builder, location, source, Value(), 16,
                                 IntegerAttr(), DenseI8ArrayAttr(), false);
  EXPECT_EQ(rotate.getType(), f32({8, 64}));
  EXPECT_EQ(rotate.getRotationAxis(), 1);
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace
