//===-- DecodeBody.h - The kernel for few tokens ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few tokens the product is the reading of the weights (WeightStream.h).
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

#include "CodeTable.h"
#include "DecodeKernel.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

/// Floats between the tokens of a warp's sums, beyond its rows: makes the
/// stores of the four threads of a quad hit different banks.
inline constexpr int64_t kSumsPadding = 4;

class DecodeBody {
public:
  DecodeBody(HopperCode code, const DecodePlan &plan,
             const StreamProblem &problem,
             const nvidia::MatmulEpilogue &epilogue, mlir::ValueRange args)
      : code(code), plan(plan), problem(problem),
        stream(problem, plan.tokens, plan.rows(), plan.stages),
        format(problem.format), epilogue(epilogue), args(args) {}
  void emit();

private:
  int64_t tokenTiles() const { return plan.tokens / 8; }
  int64_t numSums() const { return plan.rowTiles * tokenTiles() * 4; }

  void locate();
  void consume(HopperCode &c);
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
  const StreamProblem &problem;
  WeightStream stream;
  const WeightFormat &format;
  const nvidia::MatmulEpilogue &epilogue;
  mlir::ValueRange args;

  mlir::Value thread, warp, lane, quad; ///< quad = lane % 4.
  mlir::Value chunk; ///< Which 64 elements of a stage the warp has.
  mlir::Value token; ///< lane / 4: the thread's token of eight,
  mlir::Value row;   ///< and its row of eight.
  mlir::Value rowsM;
  std::optional<CodeTable> table;
  WeightStream::Place place;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
