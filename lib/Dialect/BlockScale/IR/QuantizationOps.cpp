//===-- QuantizationOps.cpp - amax, scale, quantize, dequantize -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace blockscale;

/// `extents` of a source or of elements, divided into blocks.
static SmallVector<OpFoldResult>
reifyScales(OpBuilder &builder, Location location, FormatAttr format,
            RankedTensorType type, Value source) {
  SmallVector<OpFoldResult> extents =
      reifyLike(builder, location, type, source);
  int64_t rows = type.getRank() - 2;
  if (format.getBlockRows() == 1 || rows < 0 || !type.isDynamicDim(rows))
    return extents;
  AffineExpr extent = builder.getAffineDimExpr(0);
  extents[rows] = affine::makeComposedFoldedAffineApply(
      builder, location,
      AffineMap::get(1, 0, extent.ceilDiv(format.getBlockRows())),
      {extents[rows]});
  return extents;
}

//===----------------------------------------------------------------------===//
// amax
//===----------------------------------------------------------------------===//

LogicalResult AmaxOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location>, Adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, Float32Type::get(context)));
  return success();
}

//===----------------------------------------------------------------------===//
// scale
//===----------------------------------------------------------------------===//

/// One type for each possible result of `scale`; null where it is absent.
static std::array<RankedTensorType, 4> scaleResultTypes(RankedTensorType source,
                                                        FormatAttr format,
                                                        ScaleRuleAttr rule,
                                                        Attribute layout) {
  std::array<RankedTensorType, 4> types;
  auto f32 = Float32Type::get(source.getContext());
  types[0] = format.getScalesTypeOf(source, layout);
  if (format.hasTensorScale())
    types[1] = RankedTensorType::get({}, f32);
  types[2] = format.getZeroPointsTypeOf(source);
  if (rule.getValue().hasEncodeFactor())
    types[3] =
        RankedTensorType::get(format.getScalesShapeOf(source.getShape()), f32);
  return types;
}

void ScaleOp::build(OpBuilder &, OperationState &state, Value source,
                    Value amax, FormatAttr format, ScaleRuleAttr rule, bool pad,
                    Attribute layout) {
  state.addOperands(source);
  if (amax)
    state.addOperands(amax);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.format = format;
  properties.rule = rule;
  if (pad)
    properties.pad = UnitAttr::get(format.getContext());
  auto types = scaleResultTypes(cast<RankedTensorType>(source.getType()),
                                format, rule, layout);
  for (auto [index, type] : llvm::enumerate(types)) {
    properties.resultSegmentSizes[index] = type ? 1 : 0;
    if (type)
      state.addTypes(type);
  }
}

LogicalResult ScaleOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto source = cast<RankedTensorType>(adaptor.getSource().getType());
  for (RankedTensorType type :
       scaleResultTypes(source, adaptor.getFormat(), adaptor.getRule(), {}))
    if (type)
      types.push_back(type);
  return success();
}

/// The verifier compares, and says more than the interface would.
bool ScaleOp::isCompatibleReturnTypes(TypeRange, TypeRange) { return true; }

LogicalResult ScaleOp::verify() {
  RankedTensorType source = getSource().getType();
  FormatAttr format = getFormat();
  if (failed(verifyBlocks(*this, "source", source, format,
                          getPad() ? Padding::Added : Padding::Possible)))
    return failure();
  // op_c9, scale_c16
  std::string error = getRule().getValue().check(format.getValue());
  if (!error.empty())
    return emitOpError(error);
  // op_c5
  if (getAmax() && !format.hasTensorScale())
    return emitOpError("expects no amax, because ")
           << format << " has no tensor scale; add `tensor = f32` to the "
           << "format or drop the operand";
  if (failed(verifyLayout(*this, "scales", getScales().getType())))
    return failure();

  // op_c9, op_c10
  static constexpr StringRef names[] = {"scales", "tensor scale", "zero points",
                                        "encode factors"};
  auto expected = scaleResultTypes(source, format, getRule(),
                                   getScales().getType().getEncoding());
  std::array<Value, 4> results = {getScales(), getTensorScale(), getZeros(),
                                  getEncode()};
  for (auto [name, type, result] : llvm::zip(names, expected, results)) {
    if (type && !result)
      return emitOpError("expects a result for the ")
             << name << " of type " << type << ", but got none";
    if (!type && result)
      return emitOpError("expects no ")
             << name << " from " << format << " by " << getRule()
             << ", but got " << result.getType();
    if (type && result.getType() != type)
      return emitOpError("expects ")
             << name << " of type " << type << ", but got " << result.getType();
  }
  return success();
}

LogicalResult ScaleOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  for (Value result : (*this)->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getRank() == 0)
      shapes.emplace_back();
    else
      shapes.push_back(
          reifyScales(builder, getLoc(), getFormat(), type, getSource()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// quantize
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto source = cast<RankedTensorType>(adaptor.getSource().getType());
  types.push_back(adaptor.getFormat().getElementsTypeOf(source));
  return success();
}

void QuantizeOp::build(OpBuilder &builder, OperationState &state, Value source,
                       Value scales, Value tensorScale, Value zeros,
                       Value encode, Value seed, FormatAttr format,
                       Rounding rounding, bool pad) {
  auto type = cast<RankedTensorType>(source.getType());
  build(builder, state, format.getElementsTypeOf(type), source, scales,
        tensorScale, zeros, encode, seed, format,
        RoundingAttr::get(builder.getContext(), rounding), pad);
}

bool QuantizeOp::isCompatibleReturnTypes(TypeRange, TypeRange) { return true; }

LogicalResult QuantizeOp::verify() {
  RankedTensorType source = getSource().getType();
  FormatAttr format = getFormat();
  if (failed(verifyBlocks(*this, "source", source, format,
                          getPad() ? Padding::Added : Padding::Possible)))
    return failure();
  // op_c10
  RankedTensorType elements = format.getElementsTypeOf(source);
  if (getElements().getType() != elements)
    return emitOpError("expects elements of type ")
           << elements << ", but got " << getElements().getType();

  // op_c7
  if (bool(getScales()) == bool(getEncode()))
    return emitOpError("expects either scales or encode factors, but got ")
           << (getScales() ? "both" : "neither");
  if (getEncode()) {
    if (getTensorScale())
      return emitOpError("expects no tensor scale beside encode factors, "
                         "which contain it, but got ")
             << getTensorScale().getType();
    auto factors =
        RankedTensorType::get(format.getScalesShapeOf(source.getShape()),
                              Float32Type::get(getContext()));
    if (failed(verifyOperand(*this, "encode factors", getEncode(), factors)))
      return failure();
  }
  if (failed(verifyScaled(*this, "", source, format, getScales(),
                          getTensorScale(), getZeros())))
    return failure();

  // op_c8
  if (getRounding() == Rounding::Up)
    return emitOpError("expects a rounding of elements, but got up, which "
                       "rounds scales");
  if (!getRoundingMode())
    return success();
  return verifyPresence(*this, "a seed", getSeed(),
                        getRounding() == Rounding::Stochastic,
                        "rounding is " + stringifyRounding(getRounding()));
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reifyLike(builder, getLoc(), getElements().getType(), getSource()));
  return success();
}

//===----------------------------------------------------------------------===//
// dequantize
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  RankedTensorType elements = getElements().getType();
  FormatAttr format = getFormat();
  if (elements.getElementType() != format.getElementType())
    return emitOpError("expects elements of ")
           << format.getElementType() << ", the element type of " << format
           << ", but got " << elements.getElementType();
  if (failed(
          verifyBlocks(*this, "elements", elements, format, Padding::Done)) ||
      failed(verifyScaled(*this, "", elements, format, getScales(),
                          getTensorScale(), getZeros())))
    return failure();
  if (getResult().getType().getShape() != elements.getShape())
    return emitOpError("expects a result of the elements' shape, ")
           << elements << ", but got " << getResult().getType();
  return success();
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reifyLike(builder, getLoc(), getResult().getType(), getElements()));
  return success();
}
