//===-- DequantizeRow.h - A matmul side, row by row -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_CPU_DEQUANTIZEROW_H
#define BLOCKSCALE_LIB_TARGET_CPU_DEQUANTIZEROW_H

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/MatmulOperands.h"

namespace blockscale::cpu {

/// A side whose rows become f64.
struct MatmulSide : kernels::MatmulOperand {
  /// Columns of the f64 panel: a multiple of the 8 lanes of the microkernel.
  int64_t paddedCols() const { return (cols() + 7) / 8 * 8; }
  /// Text that decides the code of writeRow.
  std::string key() const;

  /// Writes columns [firstCol, firstCol + count) of a row as f64 at
  /// `panel[panelIndex...]`; `firstCol` a multiple of the block and of 8,
  /// `count` a multiple of 8 that ends at a block or at paddedCols().
  /// `rows` is the number of rows of a batch, `buffers` the kernel's view of
  /// this->buffers.
  void writeRow(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::ValueRange buffers, mlir::Value batch, mlir::Value rows,
                mlir::Value row, mlir::Value firstCol, mlir::Value count,
                mlir::Value panel, mlir::Value panelIndex) const;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_DEQUANTIZEROW_H
