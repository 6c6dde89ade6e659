//===-- DecodeCopies.cpp - Weights, scales and tokens on their way --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

#include "blockscale/Kernels/HostSide.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::ThreadCode;

DecodeLayout::DecodeLayout(const DecodePlan &plan,
                           const DecodeProblem &problem) {
  int64_t block = problem.format.block();
  tokenBytes = plan.tokens * kDecodeStageK * 2;
  weightBoxes = kDecodeStageK * problem.format.bits() / 8 / 128;
  weightBytes = weightBoxes * plan.rows() * 128;
  scaleRow = std::max<int64_t>(4, kDecodeStageK / block);
  bool tiled = kernels::ScaleAddress(problem.scalesType).isTiled();
  scaleCopy = 4;
  while (!tiled && scaleCopy < scaleRow &&
         problem.k / block % (2 * scaleCopy) == 0)
    scaleCopy *= 2;
  scaleBytes = llvm::alignTo(plan.rows(), 32) * scaleRow;
  // Boxes first: the swizzle wants 1024 bytes of alignment.
  weightsOffset = plan.stages * tokenBytes;
  scalesOffset = weightsOffset + plan.stages * weightBytes;
  barriersOffset = scalesOffset + plan.stages * scaleBytes;
  // The sums come where the stages were.
  int64_t sums =
      4 * plan.groups * plan.tokens * (plan.rows() + kSumsPadding) * 4;
  sharedBytes = std::max(barriersOffset + 2 * plan.stages * 8, sums);
}

/// One thread asks TMA for activations and weights.
void DecodeBody::copyBoxes(HopperCode outer) const {
  // The stages are empty at first: the first wait must not block.
  outer.loop(
      outer.constant(0), outer.constant(steps()), 1,
      {outer.constant(0), outer.constant(1)},
      [&](ThreadCode &inner, Value step, ValueRange place) {
        HopperCode c(inner);
        Value stage = place[0], parity = place[1];
        Value barrier = ring().full(c, stage);
        c.waitParity(ring().empty(c, stage), parity);
        c.expectBytes(barrier, layout.tokenBytes + layout.weightBytes);
        Value weights =
            ring().part(c, layout.weightsOffset, stage, layout.weightBytes);
        for (int64_t box = 0; box < layout.weightBoxes; ++box)
          c.copyBox(c.at(weights, box * plan.rows() * 128), args[1],
                    {c.add(c.mul(step, layout.weightBoxes * 128), box * 128),
                     firstRow, weightBatch},
                    barrier);
        Value tokens = ring().part(c, 0, stage, layout.tokenBytes);
        for (int64_t box = 0; box < 4; ++box)
          c.copyBox(
              c.at(tokens, box * plan.tokens * 128), args[0],
              {c.add(c.mul(step, kDecodeStageK), box * 64), firstToken, batch},
              barrier);
        RingPlace next = ring().after(c, {stage, parity});
        return SmallVector<Value>{next.stage, next.parity};
      });
}

/// A warp copies scales, a row for each lane.
void DecodeBody::copyScales(HopperCode outer) const {
  kernels::ScaleAddress scaleAddress(problem.scalesType);
  SmallVector<Value> rows;
  for (int64_t i = 0; i < plan.rows(); i += 32) {
    // Rows past the end take the last one's; nobody stores their sums.
    Value row = outer.min(outer.add(firstRow, outer.add(lane, i)),
                          outer.sub(rowsN, outer.constant(1)));
    Value offset = scaleAddress.offset(
        outer.builder, outer.loc, outer.toIndex(weightBatch), args[4],
        outer.toIndex(row), outer.toIndex(outer.constant(0)));
    rows.push_back(outer.at(args[2], outer.wideIndex(offset)));
  }
  int64_t block = format.block();
  outer.loop(
      outer.constant(0), outer.constant(steps()), 1,
      {outer.constant(0), outer.constant(1)},
      [&](ThreadCode &inner, Value step, ValueRange place) {
        HopperCode c(inner);
        Value stage = place[0], parity = place[1];
        c.waitParity(ring().empty(c, stage), parity);
        Value target =
            c.at(ring().part(c, layout.scalesOffset, stage, layout.scaleBytes),
                 c.mul(lane, layout.scaleRow));
        Value first = c.div(c.mul(step, kDecodeStageK), block);
        first = c.mul(c.div(first, layout.scaleRow), layout.scaleRow);
        for (int64_t i = 0; i < layout.scaleRow; i += layout.scaleCopy) {
          Value column = c.add(first, i);
          Value present = c.lt(column, c.constant(problem.k / block));
          // A word of a row in tiles is 512 bytes from the one before.
          Value bytes = scaleAddress.isTiled() ? c.mul(column, 128) : column;
          for (auto [index, pointer] : llvm::enumerate(rows))
            c.copyAsync(c.at(target, index * 32 * layout.scaleRow + i),
                        c.at(pointer, c.wide(bytes)), layout.scaleCopy,
                        present);
        }
        c.arriveAfterCopies(ring().full(c, stage));
        RingPlace next = ring().after(c, {stage, parity});
        return SmallVector<Value>{next.stage, next.parity};
      });
  // A block may not end before its copies have landed.
  outer.waitForCopies(0);
}
