//===-- DecodeBody.h - The kernel for few tokens ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few tokens the product is the reading of the weights. Each byte of them
// comes once, by 16-byte asynchronous copies (a *run* along k) through a ring
// in shared memory that is private to each thread: many copies are under way
// and nobody waits for anybody. The four threads of a quad hold four
// neighbouring runs, a *chunk*: an mma's k order is free as long as both
// operands agree, so the bf16 values of a run feed several mma in the order in
// which dequantizing finds them.
//
// Weights are the mma's A operand (16 rows of B), tokens its columns. The
// block's part of the activations is copied to shared memory before anything
// else, row by row (copies whose targets are scattered take five times as
// long); each thread then brings the 16 bytes that it copied into the mma's k
// order. K is split over the warps of a block and the blocks of a cluster,
// which add up in a fixed order: results do not depend on timing.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
#define BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H

#include "DecodeKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

/// Floats between the tokens of a block's sums, beyond its rows: makes the
/// stores of the four threads of a quad hit different banks.
inline constexpr int64_t kSumsPadding = 4;
/// Chunks of 16 rows up to which the loop over them is straight code.
inline constexpr int64_t kStraightChunks = 16;

/// How K and shared memory are divided.
struct DecodeLayout {
  DecodeLayout(const DecodePlan &plan, const DecodeProblem &problem);

  int64_t run, chunk;     ///< Elements of a thread's run and of a quad's.
  int64_t chunks;         ///< Of K.
  int64_t chunksPerWarp;  ///< Of a warp's part of K.
  int64_t chunksPerBlock; ///< Of a block's part.
  bool exact;             ///< No chunk is empty or partial.
  int64_t units;          ///< Groups of 8 elements in a run.
  int64_t tokenBytes;     ///< Of the block's part of a row of A.
  int64_t scaleColumns;   ///< Scales of a row and a warp's part of K.
  int64_t scaleStride;    ///< Bytes between them.
  int64_t scaleCopy;      ///< Bytes of scales copied at a time: 16, 4 or 1.
  int64_t stageBytes;     ///< One chunk of a warp's rows.
  int64_t scaleBytes;     ///< The scales of a warp's rows.
  int64_t scalesOffset, ringOffset, sharedBytes;
};

class DecodeBody {
public:
  DecodeBody(HopperCode code, const DecodePlan &plan,
             const DecodeProblem &problem,
             const nvidia::MatmulEpilogue &epilogue, mlir::ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan, problem),
        format(problem.format), epilogue(epilogue), args(args),
        scaleAddress(problem.scalesType) {}
  void emit();

private:
  int64_t tokenTiles() const { return llvm::divideCeil(plan.tokens, 8); }
  int64_t rowsPerThread() const { return 2 * plan.rowTiles; }
  int64_t numSums() const { return plan.rowTiles * tokenTiles() * 4; }

  void locate();
  void locateWeights();
  void forPieces(llvm::function_ref<void(HopperCode &, mlir::Value piece)> body,
                 int64_t inFlight) const;
  mlir::Value tokenPlace(HopperCode &c, mlir::Value token,
                         mlir::Value piece) const;
  void copyTokens() const;
  void orderTokens() const;
  void copyScales() const;
  void copyChunk(HopperCode &c, mlir::Value chunk, int64_t slot) const;
  llvm::SmallVector<mlir::Value>
  multiply(HopperCode &c, mlir::Value chunk, int64_t slot,
           llvm::ArrayRef<mlir::Value> sums) const;
  llvm::SmallVector<mlir::Value> multiplyAll() const;
  void writeSums(llvm::ArrayRef<mlir::Value> sums) const;
  void finish() const;

  HopperCode code;
  const DecodePlan &plan;
  const DecodeProblem &problem;
  DecodeLayout layout;
  const WeightFormat &format;
  const nvidia::MatmulEpilogue &epilogue;
  mlir::ValueRange args;
  kernels::ScaleAddress scaleAddress;

  mlir::Value thread, lane, group, quad; ///< group = lane / 4, quad = lane % 4.
  mlir::Value warpK;                     ///< Which part of K within the block.
  mlir::Value warpRow;                   ///< The warp's first row in the block.
  mlir::Value firstRow;                  ///< The block's first row of B.
  mlir::Value rank, firstChunk;          ///< The block's part of K.
  mlir::Value firstToken;
  mlir::Value rowsM, rowsN;
  mlir::Value batch, weightBatch;
  mlir::Value shared, ring, scaleArea;
  llvm::SmallVector<mlir::Value>
      weights; ///< Per row, at the thread's first run.
  llvm::SmallVector<mlir::Value> fragments; ///< Activations, per unit.
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
