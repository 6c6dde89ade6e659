//===-- RealTensors.h - What layers do to unquantized tensors ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_REALTENSORS_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_REALTENSORS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace blockscale {

/// The type of a tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Builds operations on tensors of f32, bf16 or f16.
class RealTensors {
public:
  RealTensors(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// x^T of a matrix.
  mlir::Value transpose(mlir::Value x);
  /// [batch..., M, K] as [batch * M, K].
  mlir::Value flattenRows(mlir::Value x);
  /// x rounded to nearest even to `element`.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// x with its columns multiplied by each of `factors`, in f32, then rounded
  /// to the type of x.
  mlir::Value timesColumns(mlir::Value x, mlir::ValueRange factors);
  /// f32 x times a number.
  mlir::Value times(mlir::Value x, float factor);

private:
  /// An uninitialised tensor of the element type of `x`, whose dimension i is
  /// dimension dims[i] of `x`.
  mlir::Value emptyLike(mlir::Value x, llvm::ArrayRef<int64_t> dims);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_REALTENSORS_H
