//===-- MatmulKernel.h - scaled_matmul by f64 panels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_CPU_MATMULKERNEL_H
#define BLOCKSCALE_LIB_TARGET_CPU_MATMULKERNEL_H

#include "DequantizeRow.h"

#include "blockscale/Kernels/KernelSet.h"
#include "mlir/Transforms/DialectConversion.h"

namespace blockscale::cpu {

/// f64 lanes of the microkernel. Part of the numbers (the order of sums), so
/// the same on every machine.
inline constexpr int64_t kLanes = 8;
/// Rows of B in a work item, a multiple of every register tile's width.
inline constexpr int64_t kTileRowsB = 32;
/// Rows of A whose f64 panel is in memory at a time.
inline constexpr int64_t kChunkRowsA = 512;

/// The blocking of one matmul.
struct MatmulPlan {
  int64_t tileM = 0;   ///< Rows of A in the register tile.
  int64_t tileN = 0;   ///< Rows of B in the register tile.
  int64_t paddedK = 0; ///< K, rounded up to the lanes.
  int64_t sliceK = 0;  ///< Columns of B that are dequantized at a time.
  bool useFMA = true;

  static MatmulPlan make(const MatmulSide &lhs, const MatmulSide &rhs,
                         unsigned vectorBits, bool useFMA);
};

/// What happens to a row of f64 sums: alpha, C, one rounding to f32, the
/// epilogue region, the store.
class MatmulEpilogue {
public:
  /// An operand of the epilogue region, broadcast from the right.
  struct Operand {
    mlir::Value buffer;          ///< Flat.
    mlir::RankedTensorType type; ///< Logical.
    bool variesWithRow = false;
    bool variesWithCol = false;
  };

  mlir::Value alpha; ///< f64 scalar, tensor scales included.
  mlir::Value out;   ///< Flat.
  mlir::Value c;     ///< Flat, or null.
  llvm::SmallVector<Operand> operands;
  mlir::Region *region = nullptr;

  std::string key() const;
  /// Types of the kernel arguments, see arguments().
  llvm::SmallVector<mlir::Type> argumentTypes() const;
  /// The values to launch with. `outBase`, `operandBases`: offsets of the
  /// batch in C and the result, and in each operand.
  llvm::SmallVector<mlir::Value> arguments(mlir::Value outBase,
                                           mlir::ValueRange operandBases) const;
  /// Finishes columns [n0, n0 + count) of row `row`; `sums[sumsIndex...]` are
  /// the f64 sums, `cols` is N.
  void emitRow(mlir::OpBuilder &builder, mlir::Location loc,
               mlir::ValueRange args, mlir::Value sums, mlir::Value sumsIndex,
               mlir::Value row, mlir::Value n0, mlir::Value count,
               mlir::Value cols) const;

private:
  mlir::Value applyRegion(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> blockArguments) const;
};

/// Dequantizes rows [first + begin, first + end) of a side into an f64 panel.
/// Arguments: panel, batch, rows of a batch, first row, the side's buffers.
mlir::func::FuncOp panelKernel(kernels::KernelSet &kernelSet,
                               mlir::Location loc, const MatmulSide &side);

/// Multiplies a panel of A by tiles of 32 rows of B. Arguments: panel, its
/// rows, its first row in the batch, batch of B, rows of B, B's buffers, the
/// epilogue's arguments.
mlir::func::FuncOp matmulKernel(kernels::KernelSet &kernelSet,
                                mlir::Location loc, const MatmulPlan &plan,
                                const MatmulSide &rhs,
                                const MatmulEpilogue &epilogue);

/// `vectorBits` and `useFMA` choose the register tile. Bits of the result do
/// not depend on them as long as products are exact in f64, which they are for
/// operands of up to 26 significant bits.
void populateMatmulKernel(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          kernels::KernelSet &kernelSet, unsigned vectorBits,
                          bool useFMA);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_MATMULKERNEL_H
