//===-- WeightStream.h - Operands on their way to shared memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels for few and for some tokens have in common: a block reads
// some rows of B along K, each byte once. Stages of 256 elements of K go
// through a ring that keeps rows of 128 bytes under way: weights and
// activations by TMA with the 128-byte swizzle, scales by cp.async. One warp
// asks for boxes, another copies scales. The kernels overlap the one before:
// until that has ended, they bring at most weights, as many as stages have room
// for.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_WEIGHTSTREAM_H
#define BLOCKSCALE_LIB_TARGET_SM90_WEIGHTSTREAM_H

#include "Ring.h"
#include "WeightFormat.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

/// Elements of K of a stage: 128 bytes of 4-bit weights of a row.
inline constexpr int64_t kStreamK = 256;
/// Threads that copy.
inline constexpr int64_t kStreamThreads = 64;

/// One scaled_matmul with a plain bf16 lhs and packed weights as rhs.
struct StreamProblem {
  WeightFormat format;
  int64_t k = 0;
  mlir::RankedTensorType scalesType; ///< Says how the scales lie in memory.
  bool sharedWeights = true;         ///< All batches use the same weights.
  /// Nothing that may still run when the kernel starts writes the weights.
  bool weightsReady = false;
};

/// How many stages, given as many as one wants, `groups` of warps can have that
/// take turns: a multiple of their number. Else a group could reach a stage
/// whose fill before, another group's, is still on its way (fills may land out
/// of order), and take that one's phase of the mbarrier, of which only the
/// parity tells, for its own.
inline int64_t stagesInTurns(int64_t wanted, int64_t groups) {
  return llvm::alignTo(wanted, groups);
}

class WeightStream {
public:
  /// A block's `tokens` rows of A and `rows` rows of B.
  WeightStream(const StreamProblem &problem, int64_t tokens, int64_t rows,
               int64_t stages);

  /// Stages of K.
  static int64_t steps(int64_t k);
  /// Shared memory for the ring.
  int64_t bytes() const { return barriersOffset + 2 * stages * 8; }
  /// The same, for what comes behind it.
  int64_t end() const { return llvm::alignTo(bytes(), 128); }

  /// What the kernel knows once it runs.
  struct Place {
    mlir::Value shared;
    mlir::Value firstStep, endStep;
    mlir::Value firstToken, firstRow, rowsN; ///< rowsN: all rows of B.
    mlir::Value batch;
  };
  /// The ring, with one arrival for boxes and 32 for scales to fill a stage.
  Ring ring(const Place &place) const {
    return Ring(place.shared, barriersOffset, stages);
  }
  static constexpr int64_t kFills = 33;

  /// The code of the threads that copy; `thread` counts them from 0. `args`:
  /// the tensor maps of A and B, scales, and what follows; `cols` N as index.
  void copy(HopperCode &c, const Place &place, mlir::Value thread,
            mlir::ValueRange args, mlir::Value cols) const;

  /// The block's first `multiplying` threads run `consume`, which is to await
  /// the kernel before, and the others copy; `args` are the kernel's.
  void run(HopperCode &c, const Place &place, mlir::Value thread,
           int64_t multiplying, mlir::ValueRange args,
           llvm::function_ref<void(HopperCode &)> consume) const;

  /// Where the parts of a stage are. Activations: four boxes of 64 elements of
  /// K, each `tokens` rows of 128 bytes. Weights: boxes of 128 bytes of each
  /// row. The scales of a row: `scaleRow` bytes from its column that is the
  /// last multiple of `scaleRow` before the stage.
  mlir::Value tokensAt(HopperCode &c, const Place &place,
                       mlir::Value stage) const {
    return ring(place).part(c, 0, stage, tokenBytes);
  }
  mlir::Value weightsAt(HopperCode &c, const Place &place,
                        mlir::Value stage) const {
    return ring(place).part(c, weightsOffset, stage, weightBytes);
  }
  mlir::Value scalesAt(HopperCode &c, const Place &place,
                       mlir::Value stage) const {
    return ring(place).part(c, scalesOffset, stage, scaleBytes);
  }
  /// Where 16 bytes of weights of `row` begin that hold element `k` of a stage;
  /// `row` % 8 is `inEight`.
  mlir::Value weightOffset(HopperCode &c, mlir::Value row, mlir::Value inEight,
                           mlir::Value k) const;
  int64_t scaleRow;

private:
  void copyBoxes(HopperCode c, const Place &place, mlir::ValueRange args) const;
  void copyScales(HopperCode c, const Place &place, mlir::Value lane,
                  mlir::Value scales, mlir::Value cols) const;

  const StreamProblem &problem;
  int64_t tokens, rows, stages;
  int64_t tokenBytes, weightBoxes, weightBytes;
  int64_t scaleCopy; ///< Bytes of scales that are copied at once.
  int64_t scaleBytes;
  int64_t weightsOffset, scalesOffset, barriersOffset;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_WEIGHTSTREAM_H
