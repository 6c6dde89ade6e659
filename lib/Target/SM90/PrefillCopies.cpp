//===-- PrefillCopies.cpp - Tiles and their way to shared memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Misfits.h"
#include "PrefillBody.h"

#include "blockscale/Kernels/HostSide.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

void PrefillBody::forTiles(HopperCode &c, ValueRange initial,
                           TileOrder::Body body) const {
  TileOrder order{plan.tokens, plan.rows(), plan.group, plan.split};
  if (!problem.onlyMisfits) {
    order.forTiles(c, rowsM, rowsN, batches, initial, body);
    return;
  }
  Misfits misfits(args[6], rowsM, rowsN, batches, problem.sharedWeights);
  c.branch(misfits.any(c), [&](ThreadCode &some) {
    HopperCode outer(some);
    order.forTiles(outer, rowsM, rowsN, batches, initial,
                   [&](HopperCode &h, Value token0, Value row0, Value batch,
                       ValueRange carried) {
                     return h.choose(misfits.ofTile(h, token0, row0, batch),
                                     carried, [&](ThreadCode &inner) {
                                       HopperCode c(inner);
                                       return body(c, token0, row0, batch,
                                                   carried);
                                     });
                   });
  });
}

/// One thread asks TMA for activations and weights.
void PrefillBody::copyBoxes(HopperCode outer) const {
  // The stages are empty at first: the first wait must not block.
  forTiles(
      outer, {outer.constant(0), outer.constant(1)},
      [&](HopperCode &tileCode, Value token0, Value row0, Value batch,
          ValueRange carried) {
        Value weightBatch =
            problem.sharedWeights ? tileCode.constant(0) : batch;
        return tileCode.loop(
            firstStep, endStep, 1, carried,
            [&](ThreadCode &inner, Value step, ValueRange place) {
              HopperCode c(inner);
              Value stage = place[0], parity = place[1];
              Value barrier = ring().full(c, stage);
              c.waitParity(ring().empty(c, stage), parity);
              c.expectBytes(barrier, layout.tokenBytes + layout.weightBytes);
              c.copyBox(ring().part(c, 0, stage, layout.tokenBytes), args[0],
                        {c.mul(step, kStageK), token0, batch}, barrier);
              c.copyBox(ring().part(c, layout.weightsOffset, stage,
                                    layout.weightBytes),
                        args[1],
                        {c.mul(step, layout.weightRow), row0, weightBatch},
                        barrier);
              RingPlace next = ring().after(c, {stage, parity});
              return SmallVector<Value>{next.stage, next.parity};
            });
      });
}

/// A warp copies scales, those of `scaleSteps` steps at once.
void PrefillBody::copyScales(HopperCode outer) const {
  Value lane = outer.band(thread, 31);
  kernels::ScaleAddress scaleAddress(problem.scalesType);
  constexpr int64_t rowsPerLane = PrefillPlan::rows() / 32;
  forTiles(
      outer, start(outer, 1),
      [&](HopperCode &tileCode, Value, Value row0, Value batch,
          ValueRange carried) {
        Value weightBatch =
            problem.sharedWeights ? tileCode.constant(0) : batch;
        SmallVector<Value> rows;
        for (int64_t i = 0; i < rowsPerLane; ++i) {
          // Rows past the end take the last one's; nobody stores their
          // sums.
          Value row =
              tileCode.min(tileCode.add(row0, tileCode.add(lane, 32 * i)),
                           tileCode.sub(rowsN, tileCode.constant(1)));
          Value offset = scaleAddress.offset(
              tileCode.builder, tileCode.loc, tileCode.toIndex(weightBatch),
              args[4], tileCode.toIndex(row),
              tileCode.toIndex(tileCode.constant(0)));
          rows.push_back(tileCode.at(args[2], tileCode.wideIndex(offset)));
        }
        return tileCode.loop(
            firstStep, endStep, 1, carried,
            [&](ThreadCode &inner, Value step, ValueRange place) {
              HopperCode c(inner);
              PrefillPlace here(place);
              c.waitParity(ring().empty(c, here.stage), here.parity);
              here.scales = scalesAt(c, step, here.scales);
              c.branch(bringsScales(c, step), [&](ThreadCode &then) {
                HopperCode h(then);
                Value column = h.div(h.mul(step, kStageK), format.block());
                column = h.div(column, layout.scaleRow);
                Value bytes = h.mul(
                    column, scaleAddress.isTiled() ? 512 : layout.scaleRow);
                Value target = ring().part(h, layout.scalesOffset, here.scales,
                                           layout.scaleBytes);
                Value always = arith::ConstantOp::create(
                    h.builder, h.loc, h.builder.getBoolAttr(true));
                for (int64_t i = 0; i < rowsPerLane; ++i)
                  h.copyAsync(
                      h.at(target, h.mul(h.add(lane, 32 * i), layout.scaleRow)),
                      h.at(rows[i], h.wide(bytes)), layout.scaleRow, always);
              });
              c.arriveAfterCopies(ring().full(c, here.stage));
              return SmallVector<Value>(
                  llvm::to_vector(after(c, here).values()));
            });
      });
  // A block may not end before its copies have landed.
  outer.waitForCopies(0);
}
