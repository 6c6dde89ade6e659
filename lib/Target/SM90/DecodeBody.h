//===-- DecodeBody.h - The kernel for few tokens ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few tokens the product is the reading of the weights. Each byte of them
// comes once, by 16-byte asynchronous copies (a *run* along k) through a ring
// in shared memory that is private to each thread: many copies are under way
// and nobody waits for anybody. The four threads of a quad hold four
// neighbouring runs, a *chunk*: an mma's k order is free as long as both
// operands agree, so the bf16 values of a run feed several mma in the order in
// which dequantizing finds them, and the activations lie in shared memory in
// that order.
//
// Weights are the mma's A operand (16 rows of B), tokens its columns. A block
// keeps the activations and goes through tiles of rows; the ring runs on from
// tile to tile. K is split over the warps of a block and the blocks of a
// cluster, which add up in a fixed order: results do not depend on timing.
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
/// Bytes between units of activations, beyond their fragments: likewise.
inline constexpr int64_t kUnitPadding = 32;
/// Chunks of a tile up to which the loop over them is straight code.
inline constexpr int64_t kStraightChunks = 8;

/// How K and shared memory are divided.
struct DecodeLayout {
  DecodeLayout(const DecodePlan &plan, const DecodeProblem &problem);

  int64_t run, chunk;     ///< Elements of a thread's run and of a quad's.
  int64_t chunks;         ///< Of K.
  int64_t chunksPerWarp;  ///< Of a warp's part of K.
  int64_t chunksPerBlock; ///< Of a block's part.
  bool exact;             ///< No chunk is empty or partial.
  int64_t units;          ///< Groups of 8 elements in a run.
  int64_t unitStride;     ///< Bytes of the activations of a unit.
  int64_t scaleColumns;   ///< Scales of a row and a warp's part of K.
  int64_t scaleStride;    ///< Bytes between them.
  int64_t scaleCopy;      ///< Bytes of scales copied at a time: 16, 4 or 1.
  int64_t stageBytes;     ///< One chunk of a warp's rows.
  int64_t scaleBytes;     ///< The scales of a warp's rows in one tile.
  int64_t scalesOffset, ringOffset, sumsOffset, sharedBytes;
};

/// What a thread reads of a tile.
struct TileRows {
  llvm::SmallVector<mlir::Value> weights; ///< Per row, at the warp's part of K.
  mlir::Value firstRow;                   ///< Of the tile.
  mlir::Value present;                    ///< Whether there is such a tile.
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
  TileRows rowsOf(HopperCode &c, mlir::Value tile) const;
  void copyScales(HopperCode &c, const TileRows &rows,
                  mlir::Value parity) const;
  void copyChunk(HopperCode &c, const TileRows &rows, mlir::Value chunk,
                 mlir::Value slot) const;
  void stageTokens();
  void storeTokens(HopperCode &c, llvm::ArrayRef<mlir::Value> words,
                   mlir::Value token, mlir::Value unit) const;
  llvm::SmallVector<mlir::Value>
  multiply(HopperCode &c, mlir::Value chunk, mlir::Value slot,
           mlir::Value scales, llvm::ArrayRef<mlir::Value> sums) const;
  mlir::Value multiplyTile(HopperCode &c, const TileRows &now,
                           const TileRows &next, mlir::Value slot,
                           mlir::Value parity,
                           llvm::SmallVector<mlir::Value> &sums) const;
  void writeSums(HopperCode &c, llvm::ArrayRef<mlir::Value> sums) const;
  void finish(HopperCode &c, mlir::Value firstRow,
              const nvidia::MatmulEpilogue::State &state) const;
  void syncBlocks(HopperCode &c) const {
    if (plan.cluster > 1)
      c.clusterBarrier();
    else
      c.barrier();
  }
  /// The slot after `slot`.
  mlir::Value nextSlot(HopperCode &c, mlir::Value slot) const {
    mlir::Value next = c.add(slot, layout.stageBytes);
    return c.select(c.eq(next, c.constant(plan.depth * layout.stageBytes)),
                    c.constant(0), next);
  }
  mlir::Value toIndex(HopperCode &c, mlir::Value value) const {
    return mlir::arith::IndexCastUIOp::create(c.builder, c.loc,
                                              c.builder.getIndexType(), value);
  }

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
  mlir::Value warpRow;                   ///< The warp's first row in a tile.
  mlir::Value rank, firstChunk;          ///< The block's part of K.
  mlir::Value firstToken;
  mlir::Value rowsM, rowsN;
  mlir::Value batch, weightBatch;
  mlir::Value shared, ring, scaleArea;
  nvidia::MatmulEpilogue::State state;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEBODY_H
