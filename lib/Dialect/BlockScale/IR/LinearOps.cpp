//===-- LinearOps.cpp - A linear layer and its recipe ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/IR/QuantizedRoles.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace blockscale;

/// Checks the shape of `value`, if there is one, against what the role
/// demands (op_c16).
static LogicalResult verifyShape(LinearOp op, StringRef name, Value value,
                                 ArrayRef<int64_t> expected) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  auto wanted = RankedTensorType::get(expected, type.getElementType());
  if (succeeded(verifyCompatibleShape(type, wanted)))
    return success();
  return op.emitOpError("expects ")
         << name << " of type " << wanted << ", but got " << type;
}

SmallVector<OperandRole, 4> blockscale::getQuantizedRoles(RecipeAttr recipe,
                                                          LinearRole role) {
  auto [lhs, rhs] = RecipeAttr::getOperandRoles(role);
  SmallVector<OperandRole, 4> roles = {lhs, rhs};
  if (role == LinearRole::Forward)
    return roles;
  // dgrad meets w again and is masked by x, wgrad the other way round.
  bool isDgrad = role == LinearRole::Dgrad;
  if (recipe.getSite(rhs).getReuse())
    roles.push_back(isDgrad ? OperandRole::FpropW : OperandRole::FpropX);
  if (recipe.getMasks())
    roles.push_back(isDgrad ? OperandRole::FpropX : OperandRole::FpropW);
  return roles;
}

/// `rows` of `batched`, then `extent`.
static SmallVector<int64_t> withInnermost(RankedTensorType batched,
                                          int64_t extent) {
  SmallVector<int64_t> shape(batched.getShape());
  shape.back() = extent;
  return shape;
}

LogicalResult LinearOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  RankedTensorType result = getResult().getType();
  StringRef role = stringifyLinearRole(getRole());
  bool isForward = getRole() == LinearRole::Forward;
  if (lhs.getRank() < 2)
    return emitOpError("expects operands of rank 2 or more, but got ") << lhs;

  int64_t n, k;
  if (getRole() == LinearRole::Wgrad) {
    n = lhs.getShape().back();
    k = rhs.getShape().back();
    if (failed(verifyShape(*this, "x", getRhs(), withInnermost(lhs, k))) ||
        failed(verifyShape(*this, "a result", getResult(), {n, k})) ||
        failed(verifyShape(*this, "w", getOther(), {n, k})))
      return failure();
  } else {
    if (rhs.getRank() != 2)
      return emitOpError("expects w of rank 2, but got ") << rhs;
    n = rhs.getDimSize(0);
    k = rhs.getDimSize(1);
    if (failed(verifyShape(*this, isForward ? "x" : "dy", getLhs(),
                           withInnermost(lhs, isForward ? k : n))) ||
        failed(verifyShape(*this, "a result", getResult(),
                           withInnermost(lhs, isForward ? n : k))) ||
        failed(verifyShape(*this, "x", getOther(), withInnermost(lhs, k))))
      return failure();
  }
  if (result.getRank() != (getRole() == LinearRole::Wgrad ? 2 : lhs.getRank()))
    return emitOpError("expects a result of rank ")
           << lhs.getRank() << ", but got " << result;
  if (failed(verifyShape(*this, "bias", getBias(), {n})) ||
      failed(verifyShape(*this, "columns", getColumns(), {k})) ||
      failed(verifyShape(*this, "the down projection", getDown(),
                         {int64_t(getRecipe().getLowRank()), k})) ||
      failed(verifyShape(*this, "the up projection", getUp(),
                         {n, int64_t(getRecipe().getLowRank())})))
    return failure();

  // op_c17
  if (getBias() && !isForward)
    return emitOpError("expects no bias in ") << role << ", but got one";
  bool needsOther = getRecipe().getMasks() && !isForward;
  bool needsLowRank =
      getRecipe().getLowRank() > 0 && getRole() != LinearRole::Wgrad;
  bool needsHeld = getRecipe().getHeldPeriod() > 0;
  if (failed(verifyPresence(*this, "a `with` operand", getOther(), needsOther,
                            needsOther  ? "the recipe masks gradients"
                            : isForward ? "the role is forward"
                                        : "the recipe masks no gradients")) ||
      failed(verifyPresence(*this, "low_rank operands", getDown(), needsLowRank,
                            needsLowRank ? "the recipe has low_rank = " +
                                               Twine(getRecipe().getLowRank())
                            : getRecipe().getLowRank()
                                ? "the role is " + Twine(role)
                                : Twine("the recipe has no low_rank"))) ||
      failed(verifyPresence(*this, "held operands", getLhsAmax(), needsHeld,
                            needsHeld ? "the recipe holds the amax"
                                      : "the recipe holds no amax")))
    return failure();
  if (bool(getLhsHeld()) != needsHeld)
    return emitOpError("expects ")
           << (needsHeld ? "3 results, the last two the amax to hold"
                         : "1 result, because the recipe holds no amax")
           << ", but got " << getNumResults();

  int64_t layer = getLayer().value_or(0);
  if (layer < 0 || layer > 2047)
    return emitOpError("expects a layer from 0 to 2047, but got ") << layer;
  for (OperandRole operand : getQuantizedRoles(getRecipe(), getRole())) {
    SiteAttr site = getRecipe().getSite(operand);
    bool draws = site.getSeededSigns() ||
                 (site.getRounding() &&
                  site.getRounding().getValue() == Rounding::Stochastic);
    if (draws && !getSeed())
      return emitOpError("expects a seed, because ")
             << stringifyOperandRole(operand) << " is " << site
             << ", but got none";
  }
  return success();
}
