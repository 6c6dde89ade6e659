//===-- ExpandLinear.cpp - One product of a layer, spelled out ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules recipe_c* in docs/Recipes.md.
//
//===----------------------------------------------------------------------===//
#include "CheckContraction.h"
#include "Draws.h"
#include "LinearSites.h"
#include "RealTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// An operand of the product, quantized or plain.
struct Side {
  Value values;
  Value scales, tensorScale, zeros;
  FormatAttr format;
  /// The amax to hold, if the recipe does.
  Value held;

  int64_t contraction() const {
    return cast<RankedTensorType>(values.getType()).getShape().back();
  }
};

class LinearExpansion {
public:
  LinearExpansion(OpBuilder &builder, LinearOp op, Value iteration)
      : builder(builder), op(op), iteration(iteration), loc(op.getLoc()),
        recipe(op.getRecipe()), reals(builder, loc) {
    if (op.getColumns())
      columns.push_back(op.getColumns());
  }

  FailureOr<SmallVector<Value>> expand();

private:
  Side quantize(OperandRole role, Value x, Value heldAmax,
                Value *rotated = nullptr);
  Value asForwardSaw(OperandRole role, Value x);
  Value maskAndRotateBack(Value gradient);
  Value product(const Side &lhs, const Side &rhs, Value branch);
  Value lowRankBranch();

  Value rotate(OperandRole role, Value x, bool inverse);
  Value refreshAmax(Value x, Value held);
  Value derivedSeed(int64_t site);
  Value balance(Value w);
  FailureOr<Value> flattenRows(Value x);
  Value timesColumns(Value x);

  LinearRole role() { return op.getRole(); }
  bool reuses() { return reusesForward(op); }
  SiteAttr site(OperandRole role) { return recipe.getSite(role); }

  OpBuilder &builder;
  LinearOp op;
  /// For its seeds; null outside of loops.
  Value iteration;
  Location loc;
  RecipeAttr recipe;
  RealTensors reals;
  /// Multiply the columns of x, at most one of each; the branch knows the
  /// first.
  SmallVector<Value, 1> columns, balanceColumns;
};

} // namespace

/// The weight with even columns, whose factors x takes over (recipe_c9).
Value LinearExpansion::balance(Value w) {
  int64_t steps = recipe.getBalanceSteps();
  if (!steps)
    return w;
  int64_t block = site(OperandRole::FpropW).getFormat().getValue().blockCols;
  auto balance = BalanceOp::create(builder, loc, w, block, steps);
  balanceColumns.push_back(balance.getColumns());
  return balance.getBalanced();
}

/// x with its columns multiplied (recipe_c3).
Value LinearExpansion::timesColumns(Value x) {
  return reals.timesColumns(x, columns);
}

/// The rows of all batches, the contraction of wgrad.
FailureOr<Value> LinearExpansion::flattenRows(Value x) {
  for (int64_t extent : typeOf(x).getShape().drop_back())
    if (ShapedType::isDynamic(extent) || extent == 0)
      return op.emitOpError("expects static rows, at least one, the "
                            "contraction of wgrad, but got ")
             << typeOf(x)
             << (extent == 0 ? ""
                             : "; use tensor.cast to say how many there are");
  return reals.flattenRows(x);
}

//===----------------------------------------------------------------------===//
// Draws and state
//===----------------------------------------------------------------------===//

Value LinearExpansion::derivedSeed(int64_t site) {
  return DeriveSeedOp::create(builder, loc, op.getSeed(), iteration, site);
}

Value LinearExpansion::rotate(OperandRole role, Value x, bool inverse) {
  SiteAttr site = this->site(role);
  int64_t size = site.getRotation();
  if (!size)
    return x;
  Value signs;
  if (site.getSeededSigns())
    signs = RandomSignsOp::create(
        builder, loc, RankedTensorType::get({size}, builder.getI8Type()),
        derivedSeed(getSignsSite(op.getLayer().value_or(0), role)));
  return RotateOp::create(builder, loc, x, signs, size, IntegerAttr(),
                          site.getSigns(), inverse);
}

/// The amax of x in every held-th step, else `held` (recipe_c5).
Value LinearExpansion::refreshAmax(Value x, Value held) {
  Value step =
      tensor::ExtractOp::create(builder, loc, op.getStep(), ValueRange());
  Value period =
      arith::ConstantIntOp::create(builder, loc, recipe.getHeldPeriod(), 64);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value rest = arith::RemUIOp::create(builder, loc, step, period);
  Value isDue =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, zero);
  auto choice = scf::IfOp::create(
      builder, loc, isDue,
      [&](OpBuilder &inner, Location) {
        Value amax = AmaxOp::create(inner, loc, x);
        scf::YieldOp::create(inner, loc, amax);
      },
      [&](OpBuilder &inner, Location) {
        scf::YieldOp::create(inner, loc, held);
      });
  return choice.getResult(0);
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// Rotates and quantizes; `rotated` receives what was quantized.
Side LinearExpansion::quantize(OperandRole role, Value x, Value heldAmax,
                               Value *rotated) {
  SiteAttr site = this->site(role);
  x = rotate(role, x, /*inverse=*/false);
  if (rotated)
    *rotated = x;
  Side side;
  side.values = x;
  side.held = heldAmax;
  if (site.isPlain())
    return side;
  side.format = site.getFormat();
  if (heldAmax)
    side.held = refreshAmax(x, heldAmax);
  bool pad = typeOf(x).getShape().back() % side.format.getBlockCols() != 0;
  auto scale = ScaleOp::create(builder, loc, x, side.held, side.format,
                               site.getRule(), pad);
  side.scales = scale.getScales();
  side.tensorScale = scale.getTensorScale();
  side.zeros = scale.getZeros();

  bool byFactor = bool(scale.getEncode());
  bool mayDraw = !site.getRounding() ||
                 site.getRounding().getValue() == Rounding::Stochastic;
  Value seed;
  if (mayDraw && op.getSeed())
    seed = derivedSeed(getRoundingSite(op.getLayer().value_or(0), role));
  auto quantize = QuantizeOp::create(
      builder, loc, x, byFactor ? Value() : side.scales,
      byFactor ? Value() : side.tensorScale, side.zeros, scale.getEncode(),
      seed, side.format, Rounding::NearestEven, pad);
  quantize.setRoundingModeAttr(site.getRounding());
  if (!site.getRounding())
    quantize->setAttr(kRoleAttr,
                      OperandRoleAttr::get(builder.getContext(), role));
  side.values = quantize;
  return side;
}

/// The values that the forward product multiplied: rotated, quantized, back as
/// f32 (recipe_c4).
Value LinearExpansion::asForwardSaw(OperandRole role, Value x) {
  Side side = quantize(role, x, Value());
  if (!side.format)
    return side.values;
  auto elements = typeOf(side.values);
  auto type = RankedTensorType::get(elements.getShape(), builder.getF32Type());
  Value values =
      DequantizeOp::create(builder, loc, type, side.values, side.scales,
                           side.tensorScale, side.zeros, side.format);
  return reals.times(values, 1.0f / site(role).getPreMultiplier());
}

/// A gradient in the space of the forward product: 0 where that clipped, then
/// rotated back along K.
Value LinearExpansion::maskAndRotateBack(Value gradient) {
  OperandRole forward =
      role() == LinearRole::Dgrad ? OperandRole::FpropX : OperandRole::FpropW;
  if (recipe.getMasks()) {
    Value source = op.getOther();
    if (forward == OperandRole::FpropX)
      source = timesColumns(source);
    Value rotated;
    Side side = quantize(forward, source, Value(), &rotated);
    const ElementType &element = side.format.getValue().element;
    // A mid-rise grid has a cell of half a step beyond its last value.
    float limit = element.maxMagnitude() +
                  (element.kind == ElementType::Kind::Midrise ? 0.5f : 0.0f);
    gradient = MaskClippedOp::create(builder, loc, gradient, rotated,
                                     side.scales, side.tensorScale, side.format,
                                     builder.getF32FloatAttr(limit));
  }
  return rotate(forward, gradient, /*inverse=*/true);
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// (x down^T) up^T or (dy up) down, the inner product rounded to the type of
/// x or dy (recipe_c8).
Value LinearExpansion::lowRankBranch() {
  auto multiply = [&](Value lhs, Value rhs, Type element) -> Value {
    SmallVector<int64_t> shape(typeOf(lhs).getShape());
    shape.back() = typeOf(rhs).getDimSize(0);
    return ScaledMatmulOp::create(
        builder, loc, RankedTensorType::get(shape, element), lhs, Value(),
        Value(), Value(), rhs, Value(), Value(), Value(), Value(), Value(),
        ValueRange(), FormatAttr(), FormatAttr());
  };
  Value source = op.getLhs(), first = op.getDown(), second = op.getUp();
  if (role() == LinearRole::Forward) {
    source = timesColumns(source);
  } else {
    first = reals.transpose(op.getUp());
    second = reals.transpose(op.getDown());
  }
  Value inner = multiply(source, first, typeOf(source).getElementType());
  return multiply(inner, second, builder.getF32Type());
}

/// `branch`, if there is one, is added in f64.
Value LinearExpansion::product(const Side &lhs, const Side &rhs, Value branch) {
  RankedTensorType type = op.getResult().getType();
  // Gradients in the rotated space stay f32 until they are rotated back.
  if (reuses() || (role() == LinearRole::Dgrad && !columns.empty()))
    type = RankedTensorType::get(type.getShape(), builder.getF32Type());
  auto [lhsRole, rhsRole] = RecipeAttr::getOperandRoles(role());
  float multiplier =
      site(lhsRole).getPreMultiplier() * site(rhsRole).getPreMultiplier();
  Value alpha;
  if (multiplier != 1.0f) {
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    alpha = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(scalar, 1.0f / multiplier));
  }
  SmallVector<Value, 1> bias;
  if (op.getBias())
    bias.push_back(op.getBias());
  auto matmul = ScaledMatmulOp::create(
      builder, loc, type, lhs.values, lhs.scales, lhs.tensorScale, lhs.zeros,
      rhs.values, rhs.scales, rhs.tensorScale, rhs.zeros, alpha, branch, bias,
      lhs.format, rhs.format);
  if (!bias.empty()) {
    OpBuilder::InsertionGuard guard(builder);
    Type f32 = builder.getF32Type();
    Type biasElement = typeOf(bias[0]).getElementType();
    Block *block = builder.createBlock(&matmul.getEpilogue(), {},
                                       {f32, biasElement}, {loc, loc});
    Value term = block->getArgument(1);
    if (biasElement != f32)
      term = arith::ExtFOp::create(builder, loc, f32, term);
    Value sum =
        arith::AddFOp::create(builder, loc, block->getArgument(0), term);
    if (!type.getElementType().isF32())
      sum = arith::TruncFOp::create(builder, loc, type.getElementType(), sum);
    YieldOp::create(builder, loc, sum);
  }
  return matmul;
}

FailureOr<SmallVector<Value>> LinearExpansion::expand() {
  auto [lhsRole, rhsRole] = RecipeAttr::getOperandRoles(role());
  Value lhs = op.getLhs(), rhs = op.getRhs(), branch;
  switch (role()) {
  case LinearRole::Forward:
    if (failed(checkContraction(op, typeOf(lhs).getShape().back())))
      return failure();
    if (op.getDown())
      branch = lowRankBranch();
    rhs = balance(rhs);
    lhs = reals.timesColumns(
        lhs, llvm::to_vector(llvm::concat<Value>(columns, balanceColumns)));
    break;
  case LinearRole::Dgrad:
    if (failed(checkContraction(op, typeOf(lhs).getShape().back())))
      return failure();
    if (op.getDown())
      branch = lowRankBranch();
    if (reuses())
      rhs = asForwardSaw(OperandRole::FpropW, balance(rhs));
    rhs = reals.transpose(rhs);
    break;
  case LinearRole::Wgrad: {
    auto flatLhs = flattenRows(lhs);
    if (failed(flatLhs) ||
        failed(checkContraction(op, typeOf(*flatLhs).getDimSize(0))))
      return failure();
    lhs = reals.transpose(*flatLhs);
    rhs = timesColumns(rhs);
    if (reuses())
      rhs = asForwardSaw(OperandRole::FpropX, rhs);
    auto flatRhs = flattenRows(rhs);
    if (failed(flatRhs))
      return failure();
    rhs = reals.transpose(*flatRhs);
    break;
  }
  }

  Side a = quantize(lhsRole, lhs, op.getLhsAmax());
  Side b = quantize(rhsRole, rhs, op.getRhsAmax());
  // The branch is in the space neither of a rotated nor of a balanced weight.
  Value result = product(a, b, reuses() ? Value() : branch);
  if (reuses()) {
    result = maskAndRotateBack(result);
    result = reals.timesColumns(result, balanceColumns);
    if (branch)
      result = arith::AddFOp::create(builder, loc, result, branch);
  }
  if (role() == LinearRole::Dgrad)
    result = timesColumns(result);
  SmallVector<Value> results = {
      reals.convert(result, op.getResult().getType().getElementType())};
  if (op.getLhsHeld())
    llvm::append_values(results, a.held, b.held);
  return results;
}

FailureOr<SmallVector<Value>>
blockscale::expandLinear(OpBuilder &builder, LinearOp op, Value iteration) {
  return LinearExpansion(builder, op, iteration).expand();
}
