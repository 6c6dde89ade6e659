//===-- Matmul.h - scaled_matmul on a GPU, and who can do it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of scaled_matmul describes the product as a MatmulProblem and
// asks the chip's schedules in order, native ones first. A schedule is an
// object that knows an instruction: whether the problem suits it, with which
// tiles, and how the kernel is written.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_MATMUL_H
#define BLOCKSCALE_TARGET_NVIDIA_MATMUL_H

#include "blockscale/Kernels/MatmulOperands.h"
#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace blockscale::nvidia {

/// A side, and what a schedule asks about it.
struct MatmulSide : kernels::MatmulOperand {
  bool hasTiledScales() const;
  /// Columns of the scales.
  int64_t scaleCols() const { return cols() / format->blockCols; }
  /// Bits of an element in memory.
  unsigned storageBits() const;
  /// `nvfp4`, `bf16`.
  std::string text() const;
  /// Text that decides the code.
  std::string key() const;
};

struct MatmulProblem {
  MatmulSide lhs, rhs;
  MatmulEpilogue epilogue;
  mlir::Value batch, rows, cols; ///< Index values on the host; M and N.
  int64_t depth = 0;             ///< K.
  bool rhsShared = false;        ///< One rhs for all batches.

  std::optional<int64_t> staticRows() const;
  std::optional<int64_t> staticCols() const;
  std::string key() const;
};

/// How the work is cut. `k` counts elements.
struct MatmulTile {
  int64_t m = 0, n = 0, k = 0, stages = 0;
  /// What the tensor core multiplies where a schedule has a choice: `e4m3`;
  /// else, and by default, empty.
  std::string operands = {};
  /// `tile 128x128x128, 4 stages`, `tile 256x128x128 of e4m3, 4 stages`
  std::string text() const;
};

/// A tile and the number of rows that it is meant for.
struct MatmulVariant {
  MatmulTile tile;
  /// Taken if M is at most this; the last variant has no limit.
  std::optional<int64_t> maxRows;
};

class MatmulSchedule {
public:
  virtual ~MatmulSchedule() = default;
  virtual bool isSupported(const MatmulProblem &problem,
                           const Chip &chip) const = 0;
  /// The tiles to generate, smallest first: one, or several that the host
  /// chooses from when M is known at run time only.
  virtual llvm::SmallVector<MatmulVariant> decide(const MatmulProblem &problem,
                                                  const Chip &chip) const = 0;
  /// What kernels of `problem` may multiply besides the usual operands: values
  /// of blockscale.operands.
  virtual llvm::SmallVector<llvm::StringRef>
  otherOperands(const MatmulProblem &problem) const {
    return {};
  }
  /// Whether a tile asked for by attribute can be generated; says why not.
  virtual bool accepts(const MatmulProblem &problem, const Chip &chip,
                       const MatmulTile &tile, std::string &why) const = 0;
  /// Whether its kernels can quantize the result, `block` columns of a row at a
  /// time (MatmulEpilogue::quantized).
  virtual bool quantizes(const MatmulTile &tile, int64_t block) const {
    return false;
  }
  /// `native, mma.m16n8k64 ...` or `emulated via ...`, without the tiles, what
  /// `variants` do.
  virtual std::string
  describe(const MatmulProblem &problem, const Chip &chip,
           llvm::ArrayRef<MatmulVariant> variants) const = 0;
  /// Writes the kernel and the launch.
  virtual void generate(mlir::OpBuilder &builder, mlir::Location loc,
                        GPUKernelSet &kernelSet, const MatmulProblem &problem,
                        const MatmulTile &tile) const = 0;
};

/// The schedules of a chip, in the order in which they are asked. The last one
/// supports every problem.
std::vector<std::unique_ptr<MatmulSchedule>> matmulSchedules(const Chip &chip);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_MATMUL_H
