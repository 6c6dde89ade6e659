//===-- TiledMatmul.h - The loop around warp-level mma.sync -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every mma.sync kernel is the same loop. A block of warps computes tiles of
// the result, one after another; K is walked in steps whose operand tiles lie
// in shared memory, `stages` of them in flight. Rows of a tile are `rowBytes`
// bytes; an mma reads 32 bytes of a row of each side (k16 of bf16, k32 of
// bytes, k64 of nibbles), and since ldmatrix counts bytes, not elements, the
// fragments are the same for all of them.
//
// Swizzle. Rows of 64 or 128 bytes are cut into chunks of 16; chunk c of row r
// lies at position c ^ f(r), so that the 8 rows that ldmatrix reads at a time
// fall into different banks:
//     rowBytes 128: f(r) = r % 8
//     rowBytes  64: f(r) = (r / 2) % 4
//
// What differs, and is left to two interfaces: how a tile of a side comes into
// shared memory (TileSource) and which instruction multiplies (TileMultiplier).
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_TILEDMATMUL_H
#define BLOCKSCALE_TARGET_NVIDIA_TILEDMATMUL_H

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::nvidia {

/// A tile as warps and bytes see it.
struct TileShape {
  int64_t m, n, rowBytes, stages;

  int64_t warpsM() const { return m >= 64 ? 2 : 1; }
  int64_t warpsN() const { return 4; }
  int64_t threads() const { return 32 * warpsM() * warpsN(); }
  /// Rows of A and of B of a warp.
  int64_t warpRows() const { return m / warpsM(); }
  int64_t warpCols() const { return n / warpsN(); }
  int64_t fragmentsM() const { return warpRows() / 16; }
  int64_t fragmentsN() const { return warpCols() / 8; }
  /// mma steps along K in a tile.
  int64_t steps() const { return rowBytes / 32; }
  /// Whether warps divide it.
  bool isPossible() const;
};

/// Where a thread works in the grid.
struct TilePlace {
  ThreadCode::Value batch;    ///< Of the side, i32.
  ThreadCode::Value firstRow; ///< Of the side, i32.
  ThreadCode::Value rows;     ///< Of the side: M or N.
  ThreadCode::Value thread;   ///< 0 .. threads - 1.
};

/// Brings tiles of `tileRows` rows of a side into shared memory.
class TileSource {
public:
  virtual ~TileSource() = default;
  /// Shared memory of one stage, a multiple of 128.
  virtual int64_t stageBytes() const = 0;
  /// What a thread holds of a stage between fetch and store, and to convert it.
  virtual int64_t registers() const { return 0; }
  /// Before each tile; `buffers` are global pointers, as MatmulSide::buffers.
  virtual void begin(ThreadCode &code, mlir::ValueRange buffers,
                     const TilePlace &place) = 0;
  /// Starts the copies of K step `step` to `stage` (shared memory). What comes
  /// through registers is returned, and stored later.
  virtual llvm::SmallVector<mlir::Value>
  fetch(ThreadCode &code, mlir::Value step, mlir::Value stage) = 0;
  virtual void store(ThreadCode &code, mlir::ValueRange fetched,
                     mlir::Value stage) = 0;
};

/// Multiplies the tiles of a stage.
class TileMultiplier {
public:
  virtual ~TileMultiplier() = default;
  /// Once per thread; `lane` in its warp, first rows of the warp in the tiles.
  /// beginTile() is called before each tile of the result, after the sources
  /// have begun.
  virtual void begin(ThreadCode &code, mlir::Value lane, mlir::Value warpRow,
                     mlir::Value warpCol) = 0;
  virtual void beginTile(ThreadCode &) {}
  /// `sums` holds fragmentsM x fragmentsN x 4 values, updated.
  virtual void multiply(ThreadCode &code, mlir::Value stageA,
                        mlir::Value stageB,
                        llvm::MutableArrayRef<mlir::Value> sums) = 0;
};

/// The swizzled tile's rows as ldmatrix wants them.
class FragmentLoader {
public:
  FragmentLoader(const TileShape &shape) : shape(shape) {}
  /// `packedBits`: see ThreadCode::loadMatrices.
  void begin(ThreadCode &code, mlir::Value lane, mlir::Value warpRow,
             mlir::Value warpCol);
  /// Registers of the A fragment `i` (4) at mma step `step`.
  llvm::SmallVector<mlir::Value> loadA(ThreadCode &code, mlir::Value stage,
                                       int64_t i, int64_t step,
                                       unsigned packedBits = 0);
  /// Registers of B fragments `j` and `j` + 1 (2 each).
  llvm::SmallVector<mlir::Value> loadB(ThreadCode &code, mlir::Value stage,
                                       int64_t j, int64_t step,
                                       unsigned packedBits = 0);

private:
  const TileShape shape;
  mlir::Value rowA, rowB;     ///< Byte offset of this lane's row.
  mlir::Value chunkA, chunkB; ///< Of its chunk, at step 0.
};

/// Multiplies fragment by fragment; what remains is the instruction.
class FragmentMultiplier : public TileMultiplier {
public:
  FragmentMultiplier(const TileShape &shape) : shape(shape), fragments(shape) {}
  void begin(ThreadCode &code, mlir::Value lane, mlir::Value warpRow,
             mlir::Value warpCol) override {
    fragments.begin(code, lane, warpRow, warpCol);
  }
  void multiply(ThreadCode &code, mlir::Value stageA, mlir::Value stageB,
                llvm::MutableArrayRef<mlir::Value> sums) final;

protected:
  using Registers = llvm::SmallVector<mlir::Value>;

  /// Before the fragments of mma step `step` are loaded.
  virtual void beginStep(ThreadCode &, mlir::Value, mlir::Value, int64_t) {}
  /// As the loader's.
  virtual Registers loadA(ThreadCode &code, mlir::Value stage, int64_t i,
                          int64_t step) {
    return fragments.loadA(code, stage, i, step);
  }
  virtual Registers loadB(ThreadCode &code, mlir::Value stage, int64_t j,
                          int64_t step) {
    return fragments.loadB(code, stage, j, step);
  }
  /// The instruction for fragments `i` of A and `j` of B, whose 4 sums are the
  /// members of `result`.
  virtual mlir::Value mma(ThreadCode &code, mlir::Type result,
                          mlir::ValueRange a, mlir::ValueRange b,
                          mlir::ValueRange sums, int64_t i, int64_t j) = 0;

  const TileShape shape;
  FragmentLoader fragments;
};

/// Offset in a swizzled tile of the chunk (16 bytes) of a row.
mlir::Value swizzledOffset(ThreadCode &code, const TileShape &shape,
                           mlir::Value row, mlir::Value chunk);

/// Global memory to shared memory by cp.async, 16 bytes of shared memory at a
/// time of which `filledBytes` (16, or 8: packed elements with padding) are
/// copied in pieces of `pieceBytes`.
class CopySource : public TileSource {
public:
  CopySource(const TileShape &shape, int64_t tileRows, int64_t strideBytes,
             int64_t filledBytes);
  int64_t stageBytes() const override { return tileRows * shape.rowBytes; }
  void begin(ThreadCode &code, mlir::ValueRange buffers,
             const TilePlace &place) override;
  llvm::SmallVector<mlir::Value> fetch(ThreadCode &code, mlir::Value step,
                                       mlir::Value stage) override;
  void store(ThreadCode &, mlir::ValueRange, mlir::Value) override {}

private:
  const TileShape shape;
  int64_t tileRows, strideBytes, filledBytes, pieceBytes;
  mlir::Value pointer; ///< Of this thread's first chunk at step 0.
  mlir::Value offset;  ///< In the stage.
  mlir::Value kByte;   ///< Of the chunk in its row at step 0.
  mlir::Value thread;
  llvm::SmallVector<mlir::Value> rowPresent;
};

/// Writes and launches the kernel `name` of a problem; a K step is `tile.k`
/// elements.
void generateTiledMatmul(mlir::OpBuilder &builder, mlir::Location loc,
                         GPUKernelSet &kernelSet, const MatmulProblem &problem,
                         const MatmulTile &tile, const TileShape &shape,
                         llvm::StringRef name, TileSource &sourceA,
                         TileSource &sourceB, TileMultiplier &multiplier);

/// Shared memory that the kernel needs.
int64_t tiledMatmulBytes(const TileShape &shape, int64_t stageBytes);

/// Blocks that a multiprocessor holds at a time, as far as shared memory, its
/// threads and registers say: those of the sums, `registers`, and what every
/// thread needs.
int64_t residentBlocks(const TileShape &shape, int64_t stageBytes,
                       int64_t registers, const Chip &chip);

/// The largest number of stages, at most `wanted`, that the chip holds; 0 if
/// not even two fit.
int64_t stagesThatFit(TileShape shape, int64_t stageBytes, const Chip &chip,
                      int64_t wanted);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_TILEDMATMUL_H
