//===-- Verification.h - Checks shared by the ops' verifiers ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules op_* are those of docs/Dialect.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_VERIFICATION_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_VERIFICATION_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

namespace blockscale {

/// Whether zeros complete the last block of a row.
enum class Padding {
  Done,     ///< Elements, which are padded already.
  Possible, ///< A source of an op without `pad`.
  Added,    ///< A source of an op with `pad`.
};

/// Checks that the innermost extent is static and reasonable (op_c1).
mlir::LogicalResult verifyInnermost(mlir::Operation *op, llvm::StringRef name,
                                    mlir::RankedTensorType type);

/// Checks that blocks of `format` fit into `type`: rank, static innermost
/// extent, a whole number of blocks unless zeros are added (op_c1 to op_c3).
mlir::LogicalResult verifyBlocks(mlir::Operation *op, llvm::StringRef name,
                                 mlir::RankedTensorType type, FormatAttr format,
                                 Padding padding);

/// Checks an operand against the type it must have, up to dynamic extents and
/// the layout (op_c4, op_c10).
mlir::LogicalResult verifyOperand(mlir::Operation *op, llvm::StringRef name,
                                  mlir::Value operand,
                                  mlir::RankedTensorType expected);

/// Checks that the encoding of `type` is none or a layout of scales (op_c4).
mlir::LogicalResult verifyLayout(mlir::Operation *op, llvm::StringRef name,
                                 mlir::RankedTensorType type);

/// Checks that `value` is there exactly if `expected`. `name` has its article,
/// or is a plural; `reason` completes "expects a <name>, because ...".
mlir::LogicalResult verifyPresence(mlir::Operation *op, llvm::StringRef name,
                                   mlir::Value value, bool expected,
                                   const llvm::Twine &reason);

/// Checks the companions of `values`, a source or elements: scales (if there
/// are any), tensor scale and zero points (op_c4 to op_c6). `side` is empty, or
/// names an operand of several.
mlir::LogicalResult verifyScaled(mlir::Operation *op, llvm::StringRef side,
                                 mlir::RankedTensorType values,
                                 FormatAttr format, mlir::Value scales,
                                 mlir::Value tensorScale, mlir::Value zeros);

/// The text of an attribute, for messages.
std::string textOf(mlir::Attribute attribute);

/// Extents of a result of `type` whose dynamic ones are those of `source`.
llvm::SmallVector<mlir::OpFoldResult> reifyLike(mlir::OpBuilder &builder,
                                                mlir::Location location,
                                                mlir::RankedTensorType type,
                                                mlir::Value source);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_VERIFICATION_H
