//===-- DecodeBody.h - The kernel for few tokens ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few tokens the product is the reading of the weights. Each byte of them
// comes once, by TMA, through a ring of stages that keeps many rows of 128
// bytes under way; activations and scales of the same part of K come with them.
// Groups of four warps take the stages in turn. A warp has all rows of the
// block and 64 elements of the stage's K: so it reads activations once, and
// dequantizes each weight once.
//
// Weights are the mma's A operand (16 rows of B), tokens its columns. The k
// order inside an mma is free as long as both operands agree: a thread takes 16
// neighbouring elements of a row, its *run*, and feeds them to four mma in the
// order in which dequantizing finds them. The warps' sums are added up in a
// fixed order: results do not depend on timing.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
#define BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H

#include "DecodeKernel.h"
#include "Ring.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

/// Floats between the tokens of a warp's sums, beyond its rows: makes the
/// stores of the four threads of a quad hit different banks.
inline constexpr int64_t kSumsPadding = 4;

/// How a block's shared memory is divided.
struct DecodeLayout {
  DecodeLayout(const DecodePlan &plan, const DecodeProblem &problem);

  int64_t tokenBytes;  ///< Of a stage: four boxes of 64 elements of K.
  int64_t weightBoxes; ///< Of 128 bytes of each row.
  int64_t weightBytes;
  /// Bytes of scales of a row that come with a stage; a whole word even where
  /// the stage needs less.
  int64_t scaleRow;
  int64_t scaleCopy; ///< Bytes of them that are copied at once.
  int64_t scaleBytes;
  int64_t weightsOffset, scalesOffset, barriersOffset, sharedBytes;
};

class DecodeBody {
public:
  DecodeBody(HopperCode code, const DecodePlan &plan,
             const DecodeProblem &problem,
             const nvidia::MatmulEpilogue &epilogue, mlir::ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan, problem),
        format(problem.format), epilogue(epilogue), args(args) {}
  void emit();

private:
  int64_t steps() const { return llvm::divideCeil(problem.k, kDecodeStageK); }
  int64_t tokenTiles() const { return plan.tokens / 8; }
  int64_t numSums() const { return plan.rowTiles * tokenTiles() * 4; }
  Ring ring() const { return Ring(shared, layout.barriersOffset, plan.stages); }

  void locate();
  void copyBoxes(HopperCode c) const;
  void copyScales(HopperCode c) const;
  void consume(HopperCode &c) const;
  mlir::Value scaleCodes(HopperCode &c, mlir::Value scales, int64_t tile) const;
  llvm::SmallVector<mlir::Value> fragments(HopperCode &c,
                                           mlir::Value stage) const;
  llvm::SmallVector<mlir::Value>
  multiply(HopperCode &c, const WeightFormat &format, mlir::Value stage,
           llvm::ArrayRef<mlir::Value> codes, llvm::ArrayRef<mlir::Value> b,
           llvm::ArrayRef<mlir::Value> sums) const;
  void writeSums(HopperCode &c, llvm::ArrayRef<mlir::Value> sums) const;
  void finish(HopperCode &c) const;

  HopperCode code;
  const DecodePlan &plan;
  const DecodeProblem &problem;
  DecodeLayout layout;
  const WeightFormat &format;
  const nvidia::MatmulEpilogue &epilogue;
  mlir::ValueRange args;

  mlir::Value thread, warp, lane, quad; ///< quad = lane % 4.
  mlir::Value chunk;    ///< Which 64 elements of a stage the warp has.
  mlir::Value token;    ///< lane / 4: the thread's token of eight,
  mlir::Value row;      ///< and its row of eight.
  mlir::Value firstRow; ///< The block's first row of B.
  mlir::Value firstToken;
  mlir::Value rowsM, rowsN;
  mlir::Value batch, weightBatch;
  mlir::Value shared;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
