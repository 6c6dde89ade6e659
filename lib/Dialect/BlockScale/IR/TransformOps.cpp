//===-- TransformOps.cpp - rotate, relayout, balance ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;

//===----------------------------------------------------------------------===//
// rotate
//===----------------------------------------------------------------------===//

void RotateOp::build(OpBuilder &builder, OperationState &state, Value source,
                     Value signValues, int64_t size, IntegerAttr axis,
                     DenseI8ArrayAttr signs, bool inverse) {
  build(builder, state, source.getType(), source, signValues,
        /*matrix=*/Value(), builder.getI64IntegerAttr(size), axis, signs,
        inverse ? builder.getUnitAttr() : UnitAttr());
}

bool RotateOp::hasSameFactors(RotateOp other) {
  return getSize() == other.getSize() && getMatrix() == other.getMatrix() &&
         getSignValues() == other.getSignValues() &&
         getSignsAttr() == other.getSignsAttr();
}

int64_t RotateOp::getRotationAxis() {
  return getAxis().value_or(getSource().getType().getRank() - 1);
}

LogicalResult RotateOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getSource().getType());
  return success();
}

/// The verifier compares, and says more than the interface would.
bool RotateOp::isCompatibleReturnTypes(TypeRange, TypeRange) { return true; }

/// op_c10, op_c11
LogicalResult RotateOp::verify() {
  RankedTensorType source = getSource().getType();
  if (getResult().getType() != source)
    return emitOpError("expects a result of the type of its source, ")
           << source << ", but got " << getResult().getType();
  int64_t size = getSize(), rank = source.getRank(), axis = getRotationAxis();
  if (getMatrix()) {
    auto square =
        RankedTensorType::get({size, size}, Float32Type::get(getContext()));
    if (size < 2 || size > 256)
      return emitOpError("expects a size from 2 to 256, but got ") << size;
    if (getMatrix().getType() != square)
      return emitOpError("expects a matrix of type ")
             << square << ", but got " << getMatrix().getType();
  } else if (size < 2 || size > 256 || !llvm::isPowerOf2_64(size)) {
    return emitOpError("expects a size that is a power of two from 2 to 256, "
                       "but got ")
           << size << "; rotate by a matrix of another size";
  }
  if (axis < 0 || axis >= rank)
    return emitOpError("expects an axis from 0 to ")
           << rank - 1 << ", but got " << axis;
  int64_t extent = source.getDimSize(axis);
  if (!ShapedType::isDynamic(extent) && extent % size != 0)
    return emitOpError("expects an extent of axis ")
           << axis << " that is a multiple of the size " << size << ", but got "
           << extent;

  if (getSignValues()) {
    if (getSigns())
      return emitOpError("expects signs as an attribute or as an operand, but "
                         "got both");
    int64_t count = getSignValues().getType().getDimSize(0);
    if (count != size)
      return emitOpError("expects signs of type tensor<")
             << size << "xi8>, but got " << getSignValues().getType();
  }
  if (auto signs = getSigns()) {
    if (int64_t(signs->size()) != size)
      return emitOpError("expects ")
             << size << " signs, but got " << signs->size();
    for (int8_t sign : *signs)
      if (sign != 1 && sign != -1)
        return emitOpError("expects every sign to be 1 or -1, but got ")
               << int(sign);
  }
  return success();
}

LogicalResult RotateOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reifyLike(builder, getLoc(), getResult().getType(), getSource()));
  return success();
}

/// A rotation is orthogonal and, by Hadamard's matrix without signs, its own
/// inverse.
OpFoldResult RotateOp::fold(FoldAdaptor) {
  auto first = getSource().getDefiningOp<RotateOp>();
  if (!first || !first.hasSameFactors(*this) ||
      first.getRotationAxis() != getRotationAxis())
    return {};
  if ((hasSigns() || getMatrix()) && first.getInverse() == getInverse())
    return {};
  return first.getSource();
}

namespace {

/// Signs that are all 1, and the inverse of a rotation without signs, change
/// nothing.
struct DropIdleOptions : OpRewritePattern<RotateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RotateOp rotate,
                                PatternRewriter &rewriter) const override {
    auto signs = rotate.getSigns();
    bool idleSigns =
        signs && llvm::all_of(*signs, [](int8_t sign) { return sign == 1; });
    bool hasSigns = rotate.getSignValues() || (signs && !idleSigns);
    bool idleInverse = rotate.getInverse() && !hasSigns && !rotate.getMatrix();
    if (!idleSigns && !idleInverse)
      return rewriter.notifyMatchFailure(rotate, "every option matters");
    rewriter.modifyOpInPlace(rotate, [&] {
      if (idleSigns)
        rotate.removeSignsAttr();
      if (idleInverse)
        rotate.setInverse(false);
    });
    return success();
  }
};

/// Signs that turn out to be constant become an attribute.
struct ConstantSigns : OpRewritePattern<RotateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RotateOp rotate,
                                PatternRewriter &rewriter) const override {
    DenseIntElementsAttr values;
    if (!rotate.getSignValues() ||
        !matchPattern(rotate.getSignValues(), m_Constant(&values)))
      return rewriter.notifyMatchFailure(rotate, "no constant signs");
    SmallVector<int8_t> signs(values.value_begin<int8_t>(),
                              values.value_end<int8_t>());
    if (llvm::any_of(signs, [](int8_t s) { return s != 1 && s != -1; }))
      return rewriter.notifyMatchFailure(rotate, "signs other than 1 and -1");
    rewriter.modifyOpInPlace(rotate, [&] {
      rotate.getSignValuesMutable().clear();
      rotate.setSigns(signs);
    });
    return success();
  }
};

} // namespace

void RotateOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropIdleOptions, ConstantSigns>(context);
}

/// operand (`signs` `(` operand `:` type `)`)?
/// (`matrix` `(` operand `:` type `)`)? attr-dict `:` type
ParseResult RotateOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand source;
  SmallVector<OpAsmParser::UnresolvedOperand, 2> factors;
  SmallVector<Type, 2> factorTypes;
  Type sourceType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOperand(source))
    return failure();
  std::array<int32_t, 3> segments = {1, 0, 0};
  for (auto [keyword, segment] :
       {std::pair("signs", &segments[1]), std::pair("matrix", &segments[2])}) {
    if (failed(parser.parseOptionalKeyword(keyword)))
      continue;
    *segment = 1;
    if (parser.parseLParen() || parser.parseOperand(factors.emplace_back()) ||
        parser.parseColonType(factorTypes.emplace_back()) ||
        parser.parseRParen())
      return failure();
  }
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(sourceType) ||
      parser.resolveOperand(source, sourceType, state.operands) ||
      parser.resolveOperands(factors, factorTypes, location, state.operands))
    return failure();
  llvm::copy(
      segments,
      state.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  state.addTypes(sourceType);
  return success();
}

/// Like an attribute dictionary, but in the order of the documentation and
/// without the types of integers.
void RotateOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getSource();
  if (Value signs = getSignValues())
    printer << " signs(" << signs << " : " << signs.getType() << ')';
  if (Value matrix = getMatrix())
    printer << " matrix(" << matrix << " : " << matrix.getType() << ')';
  printer << " {size = " << getSize();
  if (auto axis = getAxis())
    printer << ", axis = " << *axis;
  if (Attribute signs = getSignsAttr())
    printer << ", signs = " << signs;
  if (getInverse())
    printer << ", inverse";
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs()) {
    printer << ", ";
    printer.printKeywordOrString(attribute.getName());
    if (!isa<UnitAttr>(attribute.getValue()))
      printer << " = " << attribute.getValue();
  }
  printer << "} : " << getSource().getType();
}

//===----------------------------------------------------------------------===//
// relayout
//===----------------------------------------------------------------------===//

/// op_c4
LogicalResult RelayoutOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType())
    return emitOpError("expects a result of shape and element type of its "
                       "source, ")
           << source << ", but got " << result;
  if (failed(verifyLayout(*this, "a source", source)))
    return failure();
  return verifyLayout(*this, "a result", result);
}

LogicalResult
RelayoutOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reifyLike(builder, getLoc(), getResult().getType(), getSource()));
  return success();
}

/// A layout holds every scale exactly, so only the first source and the last
/// layout count.
OpFoldResult RelayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  auto first = getSource().getDefiningOp<RelayoutOp>();
  if (!first)
    return {};
  if (first.getSource().getType() == getResult().getType())
    return first.getSource();
  getSourceMutable().assign(first.getSource());
  return getResult();
}

//===----------------------------------------------------------------------===//
// balance
//===----------------------------------------------------------------------===//

void BalanceOp::build(OpBuilder &builder, OperationState &state, Value source,
                      int64_t block, int64_t steps) {
  auto type = cast<RankedTensorType>(source.getType());
  Type f32 = builder.getF32Type();
  build(builder, state, RankedTensorType::get(type.getShape(), f32),
        RankedTensorType::get(type.getShape().back(), f32), source, block,
        steps);
}

/// op_c18
LogicalResult BalanceOp::verify() {
  RankedTensorType source = getSource().getType();
  if (source.getRank() != 2)
    return emitOpError("expects a source of rank 2, but got ") << source;
  if (failed(verifyInnermost(*this, "source", source)))
    return failure();
  for (auto [name, value, low, high] :
       {std::tuple("block", getBlock(), 2, 65536),
        std::tuple("steps", getSteps(), 1, 1024)})
    if (int64_t(value) < low || int64_t(value) > high)
      return emitOpError("expects ") << name << " from " << low << " to "
                                     << high << ", but got " << int64_t(value);
  Type f32 = Float32Type::get(getContext());
  for (auto [name, result, expected] :
       {std::tuple("a balanced weight", getBalanced().getType(),
                   RankedTensorType::get(source.getShape(), f32)),
        std::tuple("columns", getColumns().getType(),
                   RankedTensorType::get(source.getShape().back(), f32))})
    if (result != expected)
      return emitOpError("expects ")
             << name << " of type " << expected << ", but got " << result;
  return success();
}

LogicalResult
BalanceOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reifyLike(builder, getLoc(), getBalanced().getType(), getSource()));
  shapes.push_back(
      {builder.getIndexAttr(getColumns().getType().getDimSize(0))});
  return success();
}
