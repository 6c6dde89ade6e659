//===-- CheckContraction.cpp - Which contractions a layer can have --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckContraction.h"
#include "LinearSites.h"

using namespace mlir;
using namespace blockscale;

LogicalResult blockscale::checkContraction(LinearOp op, int64_t extent) {
  LinearRole role = op.getRole();
  auto site = [recipe = op.getRecipe()](OperandRole operand) {
    return recipe.getSite(operand);
  };
  StringRef name = stringifyLinearRole(role);
  if (ShapedType::isDynamic(extent))
    return op.emitOpError("expects a static contraction of ")
           << name << ", but got a dynamic one; use tensor.cast to say what "
           << "it is";
  auto [lhsRole, rhsRole] = RecipeAttr::getOperandRoles(role);
  int64_t rotation = site(lhsRole).getRotation();
  if (rotation && extent % rotation != 0)
    return op.emitOpError("expects a contraction of ")
           << name << " divisible by its rotation " << rotation << ", but got "
           << extent;
  auto padded = [&](OperandRole operand) {
    return site(operand).isPlain()
               ? extent
               : site(operand).getFormat().getPaddedExtent(extent);
  };
  if (padded(lhsRole) != padded(rhsRole))
    return op.emitOpError("expects a contraction of ")
           << name << " that is a whole number of blocks of both "
           << stringifyOperandRole(lhsRole) << " (padded to " << padded(lhsRole)
           << ") and " << stringifyOperandRole(rhsRole) << " (padded to "
           << padded(rhsRole) << "), but got " << extent;
  if (!reusesForward(op))
    return success();
  // A rotation of the forward product runs along K of the gradient.
  int64_t forward = site(OperandRole::FpropX).getRotation();
  int64_t k = op.getResult().getType().getShape().back();
  if (forward && k % forward != 0)
    return op.emitOpError("expects K divisible by the forward rotation ")
           << forward << ", but got " << k;
  OperandRole seen =
      role == LinearRole::Dgrad ? OperandRole::FpropW : OperandRole::FpropX;
  if (!site(seen).isPlain() && site(seen).getFormat().getPaddedExtent(k) != k)
    return op.emitOpError("expects K that is a whole number of blocks of ")
           << stringifyOperandRole(seen) << ", whose quantized values are "
           << "reused, but got " << k;
  return success();
}
