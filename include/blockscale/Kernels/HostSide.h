//===-- HostSide.h - Buffers and extents around kernel launches -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_HOSTSIDE_H
#define BLOCKSCALE_KERNELS_HOSTSIDE_H

#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Numerics/Format.h"
#include "mlir/IR/BuiltinTypes.h"

namespace blockscale::kernels {

/// A tensor seen as batch x rows x cols: all dimensions but the last two, the
/// last but one, the last. Missing ones are 1.
struct Extents {
  mlir::Value batch;
  mlir::Value rows;
  int64_t cols = 0;

  /// batch * rows.
  mlir::Value allRows(IndexMath &math) const { return math.mul(batch, rows); }
};

/// Extents of the storage tensor `value` of a tensor of type `logical`.
Extents getExtents(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::RankedTensorType logical);

/// The extents that kernels over blocks of `format` use: where blocks have one
/// row and scales are linear, batches are just more rows.
Extents blockExtents(IndexMath &math, const Extents &extents,
                     const Format &format, mlir::RankedTensorType scales);
/// Whether there is one batch, known when compiled.
bool isSingleBatch(const Extents &extents);

/// The flat, read-only buffer of a tensor; of i8 for a tensor of i1.
mlir::Value inputBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value tensor);

/// A fresh buffer for a result.
struct ResultBuffer {
  mlir::Value memref;
  mlir::Value flat;
  /// Whether the tensor is of i1, which the buffer holds as i8.
  bool holdsBits = false;
  /// The buffer as a tensor, for the op's users.
  mlir::Value asTensor(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Allocates the storage of `logical`, whose extents are `sizes` (constants
/// where static). Tiled layouts are filled with zeros (rule layout_c4).
ResultBuffer allocateResult(mlir::OpBuilder &builder, mlir::Location loc,
                            KernelSet &kernelSet,
                            mlir::RankedTensorType logical,
                            llvm::ArrayRef<mlir::Value> sizes);

/// The extents of `value`, a storage tensor of logical type `logical`.
llvm::SmallVector<mlir::Value> getSizes(mlir::OpBuilder &builder,
                                        mlir::Location loc, mlir::Value value,
                                        mlir::RankedTensorType logical);

/// The sizes of the scales of a tensor of `sizes`: blocks instead of elements.
llvm::SmallVector<mlir::Value> getScaleSizes(IndexMath &math,
                                             const Format &format,
                                             llvm::ArrayRef<mlir::Value> sizes);

/// Checks that `scales` (scales, zero points or encode factors) has one for
/// each block of a tensor of `sizes`. A tiled layout is checked by its bytes.
void requireScalesOf(mlir::OpBuilder &builder, mlir::Location loc,
                     const llvm::Twine &what, const Format &format,
                     llvm::ArrayRef<mlir::Value> sizes, mlir::Value scales,
                     mlir::RankedTensorType logical);

/// A buffer of `size` elements that lives until its last use.
mlir::Value allocateFlat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type element, mlir::Value size);

/// Items of `elements` elements each that make a launch worth sharing.
mlir::Value grainFor(IndexMath &math, mlir::Value elementsPerItem);

/// Where the scale (or zero point, or encode factor) of a block lies.
class ScaleAddress {
public:
  /// `layout` is the tensor type that says linear or tiled.
  ScaleAddress(mlir::RankedTensorType layout);
  bool isTiled() const { return tiled; }
  /// Offset of scale (`row`, `col`) of batch `batch`, each batch holding
  /// `rows` rows.
  mlir::Value offset(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value batch, mlir::Value rows, mlir::Value row,
                     mlir::Value col) const;

private:
  bool tiled;
  int64_t cols;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_HOSTSIDE_H
