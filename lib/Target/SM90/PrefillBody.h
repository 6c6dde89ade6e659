//===-- PrefillBody.h - The kernel for many tokens --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product on the tensor cores whose weights stay packed until they reach the
// registers: wgmma takes them as its A operand, 64 rows of B per warpgroup,
// and reads the tokens from shared memory. The tile of the result is therefore
// transposed: rows are B's, columns tokens.
//
// Two warpgroups multiply; two warps of a third copy: activations and weights
// by TMA, scales by cp.async, through a ring of stages of 64 columns of K. One
// warpgroup dequantizes while the other's wgmma run. Blocks go through tiles in
// an order that keeps both operands in the L2 cache; where tiles are few, the
// blocks of a cluster share K and add up in a fixed order.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_PREFILLBODY_H
#define BLOCKSCALE_LIB_TARGET_SM90_PREFILLBODY_H

#include "PrefillKernel.h"
#include "Ring.h"
#include "TileOrder.h"

#include "llvm/Support/MathExtras.h"

namespace blockscale::sm90 {

/// Threads that multiply.
inline constexpr int64_t kConsumers = 256;
/// Tokens of the result that go through shared memory at a time.
inline constexpr int64_t kOutTokens = 32;
/// Floats from token to token there: rows and padding against bank conflicts.
inline constexpr int64_t kOutStride = PrefillPlan::rows() + 4;
/// Registers of a thread that copies, and of one that multiplies.
inline constexpr int64_t kProducerRegisters = 40, kConsumerRegisters = 232;

struct PrefillLayout {
  PrefillLayout(const PrefillPlan &plan, const PrefillProblem &problem) {
    tokenBytes = plan.tokens * kStageK * 2;
    weightRow = kStageK * problem.format.bits() / 8;
    weightBytes = PrefillPlan::rows() * weightRow;
    // Activations first: the swizzle wants 1024 bytes of alignment.
    weightsOffset = plan.stages * tokenBytes;
    scalesOffset = weightsOffset + plan.stages * weightBytes;
    outOffset = scalesOffset + plan.stages * scaleBytes;
    // A split tile is put together where the stages were.
    int64_t outBytes = std::min(kOutTokens, plan.tokens) * kOutStride * 4;
    barriersOffset = plan.split > 1
                         ? std::max(outOffset, plan.tokens * kOutStride * 4)
                         : outOffset + outBytes;
    sharedBytes = barriersOffset + 2 * plan.stages * 8;
  }
  int64_t tokenBytes, weightRow, weightBytes;
  static constexpr int64_t scaleBytes = PrefillPlan::rows() * 4;
  int64_t weightsOffset, scalesOffset, outOffset, barriersOffset, sharedBytes;
};

class PrefillBody {
public:
  PrefillBody(HopperCode code, const PrefillPlan &plan,
              const PrefillProblem &problem,
              const nvidia::MatmulEpilogue &epilogue, mlir::ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan, problem),
        format(problem.format), epilogue(epilogue), args(args) {}
  void emit();

private:
  int64_t steps() const { return llvm::divideCeil(problem.k, kStageK); }
  /// Steps of K of one block; the last one of a cluster may have fewer.
  int64_t stepsPerBlock() const {
    return llvm::divideCeil(steps(), plan.split);
  }
  int64_t numSums() const { return plan.tokens / 2; }
  mlir::ValueRange epilogueArgs() const {
    return args.drop_front(problem.onlyMisfits ? 7 : 6);
  }

  Ring ring() const { return Ring(shared, layout.barriersOffset, plan.stages); }

  /// Runs `body(first token, first row, batch, carried)` for the block's tiles.
  void forTiles(HopperCode &c, mlir::ValueRange initial,
                TileOrder::Body body) const;
  void copyBoxes(HopperCode c) const;
  void copyScales(HopperCode c) const;
  void consume(HopperCode &c) const;
  llvm::SmallVector<mlir::Value> fragments(HopperCode &c, mlir::Value stage,
                                           mlir::Value step) const;
  llvm::SmallVector<mlir::Value>
  multiply(HopperCode &c, mlir::Value stage, llvm::ArrayRef<mlir::Value> a,
           llvm::ArrayRef<mlir::Value> sums) const;
  void release(HopperCode &c, mlir::Value stage) const;
  RingPlace multiplyStages(HopperCode &c, llvm::SmallVector<mlir::Value> &sums,
                           RingPlace place) const;
  RingPlace multiplyOverlapped(HopperCode &c,
                               llvm::SmallVector<mlir::Value> &sums,
                               RingPlace place) const;
  void writeSums(HopperCode &c, llvm::ArrayRef<mlir::Value> sums,
                 mlir::Value area, bool scaled) const;
  mlir::Value scaledSum(HopperCode &c, mlir::Value sum) const;
  void storeSplit(HopperCode &c, llvm::ArrayRef<mlir::Value> sums,
                  mlir::Value token0, mlir::Value row0,
                  mlir::Value batch) const;
  void store(HopperCode &c, llvm::ArrayRef<mlir::Value> sums,
             mlir::Value token0, mlir::Value row0, mlir::Value batch) const;

  HopperCode code;
  const PrefillPlan &plan;
  const PrefillProblem &problem;
  PrefillLayout layout;
  const WeightFormat &format;
  const nvidia::MatmulEpilogue &epilogue;
  mlir::ValueRange args;
  mlir::Value shared, thread, rowsM, rowsN, batches;
  mlir::Value rank, firstStep, endStep;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PREFILLBODY_H
