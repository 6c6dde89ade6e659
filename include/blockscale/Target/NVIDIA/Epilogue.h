//===-- Epilogue.h - From f32 accumulators to the result --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every GPU matmul does with its accumulators, in this order (rules
// matmul_* in docs/Spec.md): fl(acc * alpha), alpha the product of the scalars;
// fl(... + C); the op's epilogue region; rounding to the result's type. The
// rounded result may then be quantized where it is (emitTile() only), and its
// largest magnitude taken.
//
// On the host: fill in a MatmulEpilogue, make the kernel with argumentTypes()
// after the schedule's own arguments, launch it with arguments(). In the
// kernel: begin() once per thread, then emit() for each group of neighbouring
// columns that the thread holds, or emitTile() to go through shared memory,
// which makes accesses to C and the result coalesced and the code short.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_EPILOGUE_H
#define BLOCKSCALE_TARGET_NVIDIA_EPILOGUE_H

#include "blockscale/Kernels/ScaleResults.h"
#include "blockscale/Target/NVIDIA/ThreadCode.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace blockscale::nvidia {

class MatmulEpilogue {
public:
  /// An operand of the epilogue region, broadcast from the right.
  struct Operand {
    mlir::Value buffer;          ///< Flat memref on the host.
    mlir::RankedTensorType type; ///< Logical.
  };

  /// What a thread keeps in registers.
  struct State {
    mlir::Value alpha;                           ///< f32, or null: 1.
    mlir::Value batch, rows, cols;               ///< Batch index, M, N; i32.
    mlir::Value outBase;                         ///< i64, elements.
    llvm::SmallVector<mlir::Value> operandBases; ///< i64, elements.
  };

  llvm::SmallVector<mlir::Value> scalars; ///< f32 buffers: gA, gB, alpha.
  mlir::Value out;                        ///< Flat memref, or null: it is
                                          ///< only quantized.
  mlir::Value c;                          ///< Flat memref, or null.
  llvm::SmallVector<Operand> operands;
  mlir::Region *region = nullptr;
  mlir::RankedTensorType resultType;
  llvm::SmallVector<mlir::Value> batchSizes; ///< Of the result, index.
  mlir::Value amax; ///< Flat memref of an f32 that begins as zero, or null.
  /// What the result is quantized to, if it is, by `kernelSet`'s kernels.
  std::shared_ptr<kernels::ScaleResults> quantized;
  const kernels::KernelSet *kernelSet = nullptr;

  /// Text that decides the code.
  std::string key() const;
  llvm::SmallVector<mlir::Type> argumentTypes() const;
  llvm::SmallVector<mlir::Value> arguments() const;

  /// The product of the scalars, null without any. For a kernel that calls
  /// begin() for many tiles.
  mlir::Value loadAlpha(ThreadCode &code, mlir::ValueRange args) const;
  /// `batch` is the linear batch index, `rows` and `cols` M and N, all i32.
  State begin(ThreadCode &code, mlir::ValueRange args, mlir::Value batch,
              mlir::Value rows, mlir::Value cols) const {
    return begin(code, args, batch, rows, cols, loadAlpha(code, args));
  }
  State begin(ThreadCode &code, mlir::ValueRange args, mlir::Value batch,
              mlir::Value rows, mlir::Value cols, mlir::Value alpha) const;
  /// Finishes columns [col, col + accumulators.size()) of `row`: 1, 2 or 4 f32
  /// values, `col` a multiple of their number. Checks bounds.
  void emit(ThreadCode &code, mlir::ValueRange args, const State &state,
            llvm::ArrayRef<mlir::Value> accumulators, mlir::Value row,
            mlir::Value col) const {
    emit(code, args, state, accumulators, row, col, {});
  }
  /// Finishes a tile of `rows` x `cols` f32 in shared memory, `stride` elements
  /// from row to row (a multiple of 4), with `threads` threads (`cols` / 4
  /// divides them), numbered by `thread`, or the block's. Row i is row rowOf(i)
  /// of the result, its first column is col0. A thread reads `together` rows
  /// before it stores them, if that doesn't repeat much code: faster where
  /// registers are free.
  void
  emitTile(ThreadCode &code, mlir::ValueRange args, const State &state,
           mlir::Value shared, int64_t rows, int64_t cols, int64_t stride,
           int64_t threads,
           llvm::function_ref<mlir::Value(ThreadCode &, mlir::Value)> rowOf,
           mlir::Value col0, mlir::Value thread = {},
           int64_t together = 1) const;
  /// The same for rows that follow each other from row0 on.
  void emitTile(ThreadCode &code, mlir::ValueRange args, const State &state,
                mlir::Value shared, int64_t rows, int64_t cols, int64_t stride,
                int64_t threads, mlir::Value row0, mlir::Value col0,
                mlir::Value thread = {}, int64_t together = 1) const {
    emitTile(
        code, args, state, shared, rows, cols, stride, threads,
        [&](ThreadCode &inner, mlir::Value i) { return inner.add(row0, i); },
        col0, thread, together);
  }

  /// The bits of the largest magnitude that a thread has seen, `bits` before,
  /// of the tile that emitTile() with the same arguments has just finished.
  mlir::Value
  amaxOfTile(ThreadCode &code, const State &state, mlir::Value bits,
             mlir::Value shared, int64_t rows, int64_t cols, int64_t stride,
             int64_t threads,
             llvm::function_ref<mlir::Value(ThreadCode &, mlir::Value)> rowOf,
             mlir::Value col0) const;
  /// Adds every thread's bits to the result's amax. All threads of a warp call
  /// it together.
  void storeAmax(ThreadCode &code, mlir::ValueRange args,
                 mlir::Value bits) const;

private:
  /// Neighbouring columns that a thread finishes of a tile.
  static constexpr int64_t kTileLanes = 4;

  /// The kernel's arguments.
  struct Arguments {
    mlir::Value out, c, amax;
    mlir::ValueRange scalars, operands, batchSizes, quantized;
  };
  Arguments split(mlir::ValueRange args) const;
  /// Also leaves the results, as f32, at `staged` (shared memory) if that is
  /// not null.
  void emit(ThreadCode &code, mlir::ValueRange args, const State &state,
            llvm::ArrayRef<mlir::Value> accumulators, mlir::Value row,
            mlir::Value col, mlir::Value staged) const;
  /// Quantizes what emitTile() has left in shared memory.
  void
  quantizeTile(ThreadCode &code, mlir::ValueRange args, const State &state,
               mlir::Value shared, int64_t rows, int64_t cols, int64_t stride,
               int64_t threads,
               llvm::function_ref<mlir::Value(ThreadCode &, mlir::Value)> rowOf,
               mlir::Value col0) const;
  bool needsBatchSizes() const;
  /// Columns of the result when the type says it.
  std::optional<int64_t> staticCols() const;
  mlir::Value applyRegion(ThreadCode &code,
                          llvm::ArrayRef<mlir::Value> blockArguments) const;
};

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_EPILOGUE_H
