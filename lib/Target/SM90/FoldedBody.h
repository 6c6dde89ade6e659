//===-- FoldedBody.h - The kernel of folded operands ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of two E4M3 matrices on the tensor cores. One thread copies tiles
// of both by TMA through a ring of stages of 128 columns of K. Two warpgroups
// multiply 128 rows of A by 128 rows of B, 64 at a time: the tensor core keeps
// few bits of a sum, so what it adds up over a stage joins the f32 total in
// registers. One warpgroup does that while the other's wgmma run.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_FOLDEDBODY_H
#define BLOCKSCALE_LIB_TARGET_SM90_FOLDEDBODY_H

#include "FoldedKernel.h"
#include "TileOrder.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

struct FoldedLayout {
  explicit FoldedLayout(const FoldedPlan &plan)
      : tiles(FoldedPlan::rows(), FoldedPlan::cols(), plan.stages) {
    outOffset = tiles.bytes();
    factorsOffset = outOffset + kWarps * SumsStaging::kBytes;
    barriersOffset = factorsOffset + kWarps * factorBytes;
    sharedBytes = barriersOffset + 2 * plan.stages * 8;
  }
  static constexpr int64_t kWarps = 8; ///< That multiply.
  /// A warp's factors: of its 32 rows, then of the tile's columns.
  static constexpr int64_t factorBytes = (32 + FoldedPlan::cols()) * 4;
  OperandTiles tiles;
  int64_t outOffset, factorsOffset, barriersOffset, sharedBytes;
};

class FoldedBody {
public:
  FoldedBody(HopperCode code, const FoldedPlan &plan,
             const OperandProblem &problem,
             const nvidia::MatmulEpilogue &epilogue, mlir::ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan),
        epilogue(epilogue), args(args) {}
  void emit();

private:
  static constexpr int64_t kConsumers = 32 * FoldedLayout::kWarps;
  /// Row tiles of 64 of a warpgroup.
  static constexpr int64_t kHalves = 2;
  static constexpr int64_t kSums = FoldedPlan::cols() / 2; ///< Of a half.

  int64_t steps() const { return llvm::divideCeil(problem.k, kFoldedStageK); }
  mlir::ValueRange epilogueArgs() const { return args.drop_front(8); }
  Ring ring() const { return Ring(shared, layout.barriersOffset, plan.stages); }
  void forTiles(HopperCode &c, mlir::ValueRange initial,
                TileOrder::Body body) const;
  void copyTiles(HopperCode c) const;
  void consume(HopperCode &c) const;
  llvm::SmallVector<mlir::Value> multiply(HopperCode &c, mlir::Value stage,
                                          int64_t half) const;
  void store(HopperCode &c, llvm::ArrayRef<mlir::Value> sums, mlir::Value row0,
             mlir::Value col0, mlir::Value batch) const;
  /// The first row of a warp's tile of 16 in the first half.
  mlir::Value firstRow(HopperCode &c, mlir::Value row0) const;
  mlir::Value warpFactors(HopperCode &c) const;
  void copyFactors(HopperCode &c, mlir::Value row0, mlir::Value col0,
                   mlir::Value batch) const;

  HopperCode code;
  const FoldedPlan &plan;
  const OperandProblem &problem;
  FoldedLayout layout;
  const nvidia::MatmulEpilogue &epilogue;
  mlir::ValueRange args;
  mlir::Value shared, thread, rowsM, rowsN, batches;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_FOLDEDBODY_H
