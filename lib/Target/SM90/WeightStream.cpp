//===-- WeightStream.cpp - Operands on their way to shared memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WeightStream.h"

#include "blockscale/Kernels/HostSide.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::ThreadCode;

/// Stages of weights that come before the activations: until these are there,
/// those are on their way, and with more, activations come too late.
static constexpr int64_t kEarlyStages = 2;

WeightStream::WeightStream(const StreamProblem &problem, int64_t tokens,
                           int64_t rows, int64_t stages)
    : problem(problem), tokens(tokens), rows(rows), stages(stages) {
  int64_t block = problem.format.block();
  tokenBytes = tokens * kStreamK * 2;
  weightBoxes = kStreamK * problem.format.bits() / 8 / 128;
  weightBytes = weightBoxes * rows * 128;
  // Copies of 16 bytes, past L1, are the fastest, even of more than a stage
  // needs. Tiles have 4 bytes of a row in one place.
  scaleCopy = 4;
  if (!kernels::ScaleAddress(problem.scalesType).isTiled())
    while (scaleCopy < 16 && problem.k / block % (2 * scaleCopy) == 0)
      scaleCopy *= 2;
  scaleRow = std::max<int64_t>(scaleCopy, kStreamK / block);
  scaleBytes = llvm::alignTo(rows, 32) * scaleRow;
  // Boxes first: the swizzle wants 1024 bytes of alignment.
  weightsOffset = stages * tokenBytes;
  scalesOffset = weightsOffset + stages * weightBytes;
  barriersOffset = scalesOffset + stages * scaleBytes;
}

int64_t WeightStream::steps(int64_t k) { return llvm::divideCeil(k, kStreamK); }

Value WeightStream::weightOffset(HopperCode &c, Value row, Value inEight,
                                 Value k) const {
  Value byte = c.div(c.mul(k, problem.format.bits()), 8);
  Value piece = c.bxor(c.shr(c.band(byte, 127), 4), inEight);
  return c.add(c.mul(c.shr(byte, 7), rows * 128),
               c.add(c.mul(row, 128), c.mul(piece, 16)));
}

void WeightStream::copy(HopperCode &c, const Place &place, Value thread,
                        ValueRange args, Value cols) const {
  c.branchElse(
      c.lt(thread, c.constant(32)),
      [&](ThreadCode &boxes) {
        boxes.branch(
            boxes.eq(thread, boxes.constant(0)),
            [&](ThreadCode &single) { copyBoxes(single, place, args); });
      },
      [&](ThreadCode &scales) {
        copyScales(scales, place, scales.band(thread, 31), args[2], cols);
      });
}

/// One thread asks TMA for activations and weights.
void WeightStream::copyBoxes(HopperCode outer, const Place &place,
                             ValueRange args) const {
  Ring ring = this->ring(place);
  Value weightBatch = problem.sharedWeights ? outer.constant(0) : place.batch;
  auto copyWeights = [&](HopperCode &c, Value step, Value stage) {
    Value barrier = ring.full(c, stage);
    c.expectBytes(barrier, tokenBytes + weightBytes);
    for (int64_t box = 0; box < weightBoxes; ++box)
      c.copyBox(c.at(weightsAt(c, place, stage), box * rows * 128), args[1],
                {c.add(c.mul(step, weightBoxes * 128), box * 128),
                 place.firstRow, weightBatch},
                barrier);
  };
  Value early = place.firstStep;
  if (problem.weightsReady) {
    early =
        outer.min(outer.add(place.firstStep, std::min(stages, kEarlyStages)),
                  place.endStep);
    outer.loop(place.firstStep, early, 1, {},
               [&](ThreadCode &inner, Value step, ValueRange) {
                 HopperCode c(inner);
                 copyWeights(c, step, c.sub(step, place.firstStep));
                 return SmallVector<Value>();
               });
  }
  outer.awaitPrevious();
  // The stages are empty at first: the first wait must not block.
  outer.loop(place.firstStep, place.endStep, 1,
             {outer.constant(0), outer.constant(1)},
             [&](ThreadCode &inner, Value step, ValueRange carried) {
               HopperCode c(inner);
               Value stage = carried[0], parity = carried[1];
               auto fill = [&](ThreadCode &code) {
                 HopperCode h(code);
                 h.waitParity(ring.empty(h, stage), parity);
                 copyWeights(h, step, stage);
               };
               if (problem.weightsReady)
                 c.branch(c.lt(c.sub(early, c.constant(1)), step), fill);
               else
                 fill(c);
               for (int64_t box = 0; box < kStreamK / 64; ++box)
                 c.copyBox(c.at(tokensAt(c, place, stage), box * tokens * 128),
                           args[0],
                           {c.add(c.mul(step, kStreamK), box * 64),
                            place.firstToken, place.batch},
                           ring.full(c, stage));
               RingPlace next = ring.after(c, {stage, parity});
               return SmallVector<Value>{next.stage, next.parity};
             });
}

/// A warp copies scales, a row for each lane.
void WeightStream::copyScales(HopperCode outer, const Place &place, Value lane,
                              Value scales, Value cols) const {
  Ring ring = this->ring(place);
  kernels::ScaleAddress scaleAddress(problem.scalesType);
  Value weightBatch = problem.sharedWeights ? outer.constant(0) : place.batch;
  SmallVector<Value> sources;
  for (int64_t i = 0; i < rows; i += 32) {
    // Rows past the end take the last one's; nobody stores their sums.
    Value row = outer.min(outer.add(place.firstRow, outer.add(lane, i)),
                          outer.sub(place.rowsN, outer.constant(1)));
    Value offset = scaleAddress.offset(
        outer.builder, outer.loc, outer.toIndex(weightBatch), cols,
        outer.toIndex(row), outer.toIndex(outer.constant(0)));
    sources.push_back(outer.at(scales, outer.wideIndex(offset)));
  }
  int64_t block = problem.format.block();
  if (!problem.weightsReady)
    outer.awaitPrevious();
  outer.loop(
      place.firstStep, place.endStep, 1, {outer.constant(0), outer.constant(1)},
      [&](ThreadCode &inner, Value step, ValueRange carried) {
        HopperCode c(inner);
        Value stage = carried[0], parity = carried[1];
        c.waitParity(ring.empty(c, stage), parity);
        Value target = c.at(scalesAt(c, place, stage), c.mul(lane, scaleRow));
        Value first = c.div(c.mul(step, kStreamK), block);
        first = c.mul(c.div(first, scaleRow), scaleRow);
        for (int64_t i = 0; i < scaleRow; i += scaleCopy) {
          Value column = c.add(first, i);
          Value present = c.lt(column, c.constant(problem.k / block));
          // A word of a row in tiles is 512 bytes from the one before.
          Value bytes = scaleAddress.isTiled() ? c.mul(column, 128) : column;
          for (auto [index, source] : llvm::enumerate(sources))
            c.copyAsync(c.at(target, index * 32 * scaleRow + i),
                        c.at(source, c.wide(bytes)), scaleCopy, present);
        }
        c.arriveAfterCopies(ring.full(c, stage));
        RingPlace next = ring.after(c, {stage, parity});
        return SmallVector<Value>{next.stage, next.parity};
      });
  // A block may not end before its copies have landed.
  outer.waitForCopies(0);
}

void WeightStream::run(HopperCode &code, const Place &place, Value thread,
                       int64_t multiplying, ValueRange args,
                       llvm::function_ref<void(HopperCode &)> consume) const {
  Value first = code.constant(multiplying);
  code.releaseNext();
  code.branchElse(
      code.lt(thread, first),
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        consume(c);
      },
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        copy(c, place, c.sub(thread, first), args, args[4]);
      });
}
