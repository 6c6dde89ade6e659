//===-- BlockScaleAttrs.h - Formats, scale rules, layouts -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes wrap the plain descriptors of Numerics; ask getValue() for
// what a format or a rule says.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALEATTRS_H
#define BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALEATTRS_H

#include "blockscale/Numerics/Format.h"
#include "blockscale/Numerics/ScaleRule.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TensorEncoding.h"
#include "llvm/ADT/Hashing.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScaleEnums.h.inc"

namespace blockscale {

llvm::hash_code hash_value(const Format &format);
llvm::hash_code hash_value(const ScaleRule &rule);

/// `nearest_even`, `toward_zero`, `nearest_away`, `nearest_zero`, `stochastic`
/// or `up`.
llvm::StringRef stringifyRounding(Rounding rounding);
/// The inverse; nullopt if `name` is none of them.
std::optional<Rounding> symbolizeRounding(llvm::StringRef name);

} // namespace blockscale

#define GET_ATTRDEF_CLASSES
#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.h.inc"

#endif // BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALEATTRS_H
