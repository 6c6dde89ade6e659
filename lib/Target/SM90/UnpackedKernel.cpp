//===-- UnpackedKernel.cpp - Products of bf16 operands --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread copies tiles of both operands by TMA. Two warpgroups multiply 64
// rows of A by all of the tile's of B each; the wgmma of a stage are under way
// while those of the next are issued, so that the tensor cores never wait.
//
//===----------------------------------------------------------------------===//
#include "UnpackedKernel.h"
#include "ProductKernel.h"
#include "TileOrder.h"

#include "blockscale/Kernels/Patterns.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

namespace {

struct UnpackedLayout {
  explicit UnpackedLayout(const UnpackedPlan &plan)
      : tiles(UnpackedPlan::rows(), plan.cols, plan.stages) {
    outOffset = tiles.bytes();
    barriersOffset = outOffset + kWarps * SumsStaging::kBytes;
    sharedBytes = barriersOffset + 2 * plan.stages * 8;
  }
  static constexpr int64_t kWarps = 8; ///< That multiply.
  OperandTiles tiles;
  int64_t outOffset, barriersOffset, sharedBytes;
};

class UnpackedBody {
public:
  UnpackedBody(HopperCode code, const UnpackedPlan &plan,
               const OperandProblem &problem, const MatmulEpilogue &epilogue,
               ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan),
        epilogue(epilogue), args(args) {}
  void emit();

private:
  static constexpr int64_t kConsumers = 32 * UnpackedLayout::kWarps;

  int64_t numSums() const { return plan.cols / 2; }
  int64_t steps() const { return llvm::divideCeil(problem.k, kUnpackedStageK); }
  Ring ring() const { return Ring(shared, layout.barriersOffset, plan.stages); }
  void forTiles(HopperCode &c, ValueRange initial, TileOrder::Body body) const {
    TileOrder{UnpackedPlan::rows(), plan.cols, plan.group}.forTiles(
        c, rowsM, rowsN, batches, initial, body);
  }
  void copy(HopperCode c) const;
  void consume(HopperCode &c) const;
  RingPlace multiply(HopperCode &c, SmallVector<Value> &sums,
                     RingPlace place) const;
  void store(HopperCode &c, ArrayRef<Value> sums, Value row0, Value col0,
             Value batch) const;

  HopperCode code;
  const UnpackedPlan &plan;
  const OperandProblem &problem;
  UnpackedLayout layout;
  const MatmulEpilogue &epilogue;
  ValueRange args;
  Value shared, thread, rowsM, rowsN, batches;
};

} // namespace

void UnpackedBody::emit() {
  shared = code.sharedMemory();
  thread = code.threadId();
  rowsM = code.narrow(args[2]);
  rowsN = code.narrow(args[3]);
  batches = code.narrow(args[4]);
  ring().begin(code, thread, /*fills=*/1, /*uses=*/kConsumers);
  splitCopier(
      code, thread, kConsumers, [&](HopperCode &c) { consume(c); },
      [&](HopperCode &c) { copy(c); });
}

void UnpackedBody::copy(HopperCode outer) const {
  // The stages are empty at first: the first wait must not block.
  forTiles(outer, {outer.constant(0), outer.constant(1)},
           [&](HopperCode &c, Value row0, Value col0, Value batch,
               ValueRange place) {
             Value batchB = problem.sharedB ? c.constant(0) : batch;
             return layout.tiles.copy(
                 c, ring(), {args[0], args[1], row0, col0, batch, batchB},
                 steps(), kUnpackedStageK, place);
           });
}

/// Adds the products of a tile to `sums`; the place after it.
RingPlace UnpackedBody::multiply(HopperCode &outer, SmallVector<Value> &sums,
                                 RingPlace place) const {
  Value row = outer.mul(outer.shr(thread, 7), 64);
  // The third one is the stage that the wgmma under way read.
  SmallVector<Value> carried(sums);
  carried.append({place.stage, place.parity, place.stage});
  carried = outer.loop(
      outer.constant(0), outer.constant(steps()), 1, carried,
      [&](ThreadCode &inner, Value step, ValueRange values) {
        HopperCode c(inner);
        RingPlace place{values[numSums()], values[numSums() + 1]};
        c.waitParity(ring().full(c, place.stage), place.parity);
        Value a = c.at(layout.tiles.a(c, ring(), place.stage),
                       c.mul(row, OperandTiles::kRowBytes));
        constexpr int64_t count = OperandTiles::kRowBytes / 32;
        SmallVector<Value> sums(values.take_front(numSums()));
        sums = c.wgmmaShared(
            sums, plan.cols, c.descriptors(a, count),
            c.descriptors(layout.tiles.b(c, ring(), place.stage), count));
        sums = c.wgmmaWait(sums, 1);
        c.branch(c.differs(step, c.constant(0)), [&](ThreadCode &later) {
          HopperCode h(later);
          ring().release(h, values[numSums() + 2]);
        });
        RingPlace next = ring().after(c, place);
        sums.append({next.stage, next.parity, place.stage});
        return sums;
      });
  sums = outer.wgmmaWait(ArrayRef(carried).take_front(numSums()), 0);
  ring().release(outer, carried[numSums() + 2]);
  return {carried[numSums()], carried[numSums() + 1]};
}

void UnpackedBody::consume(HopperCode &outer) const {
  forTiles(outer, {outer.constant(0), outer.constant(0)},
           [&](HopperCode &c, Value row0, Value col0, Value batch,
               ValueRange carried) {
             SmallVector<Value> sums(numSums(), c.zero(c.f32()));
             RingPlace next = multiply(c, sums, {carried[0], carried[1]});
             store(c, sums, row0, col0, batch);
             return SmallVector<Value>{next.stage, next.parity};
           });
}

void UnpackedBody::store(HopperCode &c, ArrayRef<Value> sums, Value row0,
                         Value col0, Value batch) const {
  ValueRange rest = args.drop_front(5);
  MatmulEpilogue::State state = epilogue.begin(c, rest, batch, rowsM, rowsN);
  Value warp = c.shr(thread, 5);
  SumsStaging staging(
      c.at(c.at(shared, layout.outOffset), c.mul(warp, SumsStaging::kBytes)),
      c.band(thread, 31));
  for (int64_t first = 0; first < plan.cols; first += SumsStaging::kCols)
    staging.emit(c, epilogue, rest, state, c.add(row0, c.mul(warp, 16)),
                 c.add(col0, first), [&](int64_t tile, int64_t high) {
                   int64_t at = (first / 8 + tile) * 4 + high * 2;
                   return SmallVector<Value>(sums.slice(at, 2));
                 });
}

int64_t sm90::unpackedSharedBytes(const UnpackedPlan &plan) {
  return UnpackedLayout(plan).sharedBytes;
}

func::FuncOp sm90::unpackedKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                  const UnpackedPlan &plan,
                                  const OperandProblem &problem,
                                  const MatmulEpilogue &epilogue) {
  ProductKernel kernel{
      "blockscale_unpacked",
      kernels::kernelKey("sm90.unpacked", plan.cols, plan.stages, plan.group,
                         problem.k, problem.sharedB, epilogue.key()),
      productTypes(loc.getContext(), 0),
      soleBlock(UnpackedPlan::threads(), unpackedSharedBytes(plan))};
  return kernel.make<UnpackedBody>(kernelSet, loc, plan, problem, epilogue);
}
