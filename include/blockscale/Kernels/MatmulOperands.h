//===-- MatmulOperands.h - The sides of a scaled_matmul ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_MATMULOPERANDS_H
#define BLOCKSCALE_KERNELS_MATMULOPERANDS_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Format.h"

#include <optional>

namespace blockscale::kernels {

/// One side of a scaled_matmul: plain reals, or codes with block scales. The
/// tensor scale is not part of it: it multiplies the accumulator.
struct MatmulOperand {
  /// Type of the plain tensor or of the elements.
  mlir::RankedTensorType type;
  std::optional<Format> format;
  mlir::RankedTensorType scalesType, zerosType;
  /// Buffers: [reals] or [codes, scales(, zero points)].
  llvm::SmallVector<mlir::Value, 3> buffers;
  /// All of them are arguments of the function that its caller has promised
  /// not to be writing (kInvariantAttr).
  bool invariant = false;

  int64_t cols() const { return type.getShape().back(); }
};

/// Whether `tensor`, converted or not, is an argument of its function with
/// kInvariantAttr, as it is.
bool isInvariant(mlir::Value tensor);

/// The buffer of a storage tensor, as a target's kernels take it.
using BufferOf = llvm::function_ref<mlir::Value(mlir::Value tensor)>;

/// The sides of `op`, whose converted operands are in `adaptor`. Emits checks
/// that scales and zero points are as many as the blocks.
MatmulOperand lhsOperand(mlir::OpBuilder &builder, ScaledMatmulOp op,
                         ScaledMatmulOp::Adaptor adaptor, BufferOf bufferOf);
MatmulOperand rhsOperand(mlir::OpBuilder &builder, ScaledMatmulOp op,
                         ScaledMatmulOp::Adaptor adaptor, BufferOf bufferOf);

/// Sizes of the result of `op`: [batch...,] rows of lhs, rows of rhs. Emits a
/// check that the batches of both sides agree.
llvm::SmallVector<mlir::Value> productSizes(mlir::OpBuilder &builder,
                                            ScaledMatmulOp op,
                                            ScaledMatmulOp::Adaptor adaptor);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_MATMULOPERANDS_H
