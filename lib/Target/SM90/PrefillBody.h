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

#include "CodeTable.h"
#include "PrefillKernel.h"
#include "Ring.h"
#include "TileOrder.h"

#include "blockscale/Kernels/HostSide.h"

#include "llvm/Support/MathExtras.h"

#include <array>

namespace blockscale::sm90 {

/// Threads that multiply.
inline constexpr int64_t kConsumers = 256;
/// Tokens of the result that go through shared memory at a time.
inline constexpr int64_t kOutTokens = 32;
/// Floats from token to token there: rows and padding against bank conflicts.
inline constexpr int64_t kOutStride = PrefillPlan::rows() + 4;

struct PrefillLayout {
  PrefillLayout(const PrefillPlan &plan, const PrefillProblem &problem) {
    tokenBytes = plan.tokens * kStageK * 2;
    weightRow = kStageK * problem.format.bits() / 8;
    weightBytes = PrefillPlan::rows() * weightRow;
    // Activations first: the swizzle wants 1024 bytes of alignment.
    weightsOffset = plan.stages * tokenBytes;
    scalesOffset = weightsOffset + plan.stages * weightBytes;
    int64_t columns = problem.k / problem.format.block();
    bool tiled = kernels::ScaleAddress(problem.scalesType).isTiled();
    scaleRow = !tiled && columns % 16 == 0 ? 16 : 4;
    scaleSteps =
        std::max<int64_t>(1, scaleRow * problem.format.block() / kStageK);
    scaleBytes = PrefillPlan::rows() * scaleRow;
    outOffset = scalesOffset + plan.stages * scaleBytes;
    // A split tile is put together where the stages were.
    int64_t outBytes = std::min(kOutTokens, plan.tokens) * kOutStride * 4;
    barriersOffset = plan.split > 1
                         ? std::max(outOffset, plan.tokens * kOutStride * 4)
                         : outOffset + outBytes;
    tableOffset = llvm::alignTo(barriersOffset + 2 * plan.stages * 8, 128);
    sharedBytes =
        tableOffset + (problem.format.looksUp() ? CodeTable::kBytes : 0);
  }
  int64_t tokenBytes, weightRow, weightBytes;
  /// Scales come for several steps of K at once, in their own ring: bytes of a
  /// row, the steps that they serve, bytes in all.
  int64_t scaleRow, scaleSteps, scaleBytes;
  int64_t weightsOffset, scalesOffset, outOffset, barriersOffset, tableOffset,
      sharedBytes;
};

/// Where a block is in the rings of stages and of scales, as carried values.
struct PrefillPlace : RingPlace {
  PrefillPlace(const RingPlace &place, mlir::Value scales)
      : RingPlace(place), scales(scales) {}
  explicit PrefillPlace(mlir::ValueRange values)
      : PrefillPlace({values[0], values[1]}, values[2]) {}
  std::array<mlir::Value, 3> values() const { return {stage, parity, scales}; }

  mlir::Value scales; ///< The slot of the last scales.
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
  PrefillPlace after(HopperCode &c, const PrefillPlace &place) const {
    return {ring().after(c, place), place.scales};
  }
  /// Whether scales for step `step` and some after it come with it.
  mlir::Value bringsScales(HopperCode &c, mlir::Value step) const {
    return c.bor(c.eq(step, firstStep),
                 c.eq(c.rem(step, layout.scaleSteps), c.constant(0)));
  }
  /// The slot of the scales of step `step`, given the one of the step before.
  mlir::Value scalesAt(HopperCode &c, mlir::Value step,
                       mlir::Value slot) const {
    mlir::Value next = c.add(slot, 1);
    next = c.select(c.eq(next, c.constant(plan.stages)), c.constant(0), next);
    return c.select(bringsScales(c, step), next, slot);
  }
  /// Where a role starts that waits for `parity` of its barriers.
  std::array<mlir::Value, 3> start(HopperCode &c, int64_t parity) const {
    return {c.constant(0), c.constant(parity), c.constant(plan.stages - 1)};
  }

  /// Runs `body(first token, first row, batch, carried)` for the block's tiles.
  void forTiles(HopperCode &c, mlir::ValueRange initial,
                TileOrder::Body body) const;
  void copyBoxes(HopperCode c) const;
  void copyScales(HopperCode c) const;
  void consume(HopperCode &c);
  llvm::SmallVector<mlir::Value>
  fragments(HopperCode &c, const PrefillPlace &place, mlir::Value step) const;
  llvm::SmallVector<mlir::Value>
  looked(HopperCode &c, mlir::Value weights,
         llvm::ArrayRef<WeightFormat::Multipliers> multipliers) const;
  llvm::SmallVector<mlir::Value>
  multiply(HopperCode &c, mlir::Value stage, llvm::ArrayRef<mlir::Value> a,
           llvm::ArrayRef<mlir::Value> sums) const;
  PrefillPlace multiplyStages(HopperCode &c,
                              llvm::SmallVector<mlir::Value> &sums,
                              PrefillPlace place) const;
  void writeSums(HopperCode &c, llvm::ArrayRef<mlir::Value> sums,
                 mlir::Value area, bool scaled) const;
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
  std::optional<CodeTable> table;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PREFILLBODY_H
