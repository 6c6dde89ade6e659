//===-- QuantizedRoles.h - What a product of a layer quantizes --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_DIALECT_BLOCKSCALE_IR_QUANTIZEDROLES_H
#define BLOCKSCALE_DIALECT_BLOCKSCALE_IR_QUANTIZEDROLES_H

#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.h"

namespace blockscale {

/// The roles whose sites a product rotates and quantizes by: those of its
/// operands, then those of the forward product that it repeats for `reuse` and
/// for masks (recipe_c4).
llvm::SmallVector<OperandRole, 4> getQuantizedRoles(RecipeAttr recipe,
                                                    LinearRole role);

} // namespace blockscale

#endif // BLOCKSCALE_DIALECT_BLOCKSCALE_IR_QUANTIZEDROLES_H
