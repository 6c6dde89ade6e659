//===-- PrefillMultiply.cpp - From the ring to the result -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PrefillBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

/// Tokens up to which a stage is short.
static constexpr int64_t kShortStage = 128;

/// That of step `s` of 16 in a stage.
static Value multiplierOf(const WeightFormat &format,
                          const WeightFormat::Multipliers &multipliers,
                          int64_t s) {
  return multipliers.pairs[std::min<size_t>(s * 16 / format.block(),
                                            multipliers.pairs.size() - 1)];
}

/// fragments() by the table: a thread loads its two rows of weights, of which
/// the four of a quad have a byte each in every word.
SmallVector<Value>
PrefillBody::looked(HopperCode &c, Value weights,
                    ArrayRef<WeightFormat::Multipliers> multipliers) const {
  Value quad = c.band(thread, 3);
  SmallVector<Value> words[2];
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t i = 0; i < layout.weightRow; i += 16)
      llvm::append_range(
          words[half],
          c.loadWords(c.at(weights, half * 8 * layout.weightRow + i), 4));
  SmallVector<Value> a;
  for (int64_t s = 0; s < kStageK / 16; ++s)
    for (int64_t high = 0; high < 2; ++high)
      for (int64_t half = 0; half < 2; ++half)
        a.push_back(format.scalePair(
            c, table->lookUp(c, words[half][2 * s + high], quad),
            multiplierOf(format, multipliers[half], s)));
  return a;
}

/// The registers of A for a stage: four steps of 16.
SmallVector<Value> PrefillBody::fragments(HopperCode &c,
                                          const PrefillPlace &place,
                                          Value step) const {
  Value lane = c.band(thread, 31);
  Value warpRow = c.mul(c.shr(thread, 5), 16);
  Value row = c.add(warpRow, c.shr(lane, 2));
  Value quad = c.band(lane, 3);
  int64_t elementBytes = format.bits() == 4 ? 1 : 2; // Of two neighbours.
  Value weights = c.at(
      ring().part(c, layout.weightsOffset, place.stage, layout.weightBytes),
      c.mul(row, layout.weightRow));
  Value firstScale = c.div(c.mul(step, kStageK), format.block());
  // The word of the row's scales that holds the step's.
  Value scales =
      c.at(ring().part(c, layout.scalesOffset, place.scales, layout.scaleBytes),
           c.mul(row, layout.scaleRow));
  if (layout.scaleRow > 4)
    scales = c.at(scales, c.band(firstScale, layout.scaleRow - 4));
  int64_t count = std::max<int64_t>(1, kStageK / format.block());
  Type stored = c.builder.getIntegerType(8 * elementBytes);
  SmallVector<WeightFormat::Multipliers> multipliers;
  for (int64_t half = 0; half < 2; ++half) {
    Value word = c.load(c.i32(), c.at(scales, half * 8 * layout.scaleRow), 4);
    if (count < 4) {
      // Which of the word's scales: K in scales, modulo 4.
      word = c.shiftRight(word, c.mul(c.band(firstScale, 3), 8));
    }
    multipliers.push_back(format.multipliers(c, word, count));
  }
  if (table)
    return looked(c, weights, multipliers);
  weights = c.at(weights, c.mul(quad, elementBytes));
  SmallVector<Value> a;
  for (int64_t s = 0; s < kStageK / 16; ++s)
    for (int64_t high = 0; high < 2; ++high)
      for (int64_t half = 0; half < 2; ++half) {
        int64_t offset =
            half * 8 * layout.weightRow + (s * 8 + high * 4) * elementBytes;
        Value pair = c.load(stored, c.at(weights, offset), elementBytes);
        pair = c.builder.createOrFold<arith::ExtUIOp>(c.loc, c.i32(), pair);
        a.push_back(format.decodeNeighbours(
            c, pair, multiplierOf(format, multipliers[half], s)));
      }
  return a;
}

/// Starts the wgmma of a stage.
SmallVector<Value> PrefillBody::multiply(HopperCode &c, Value stage,
                                         ArrayRef<Value> a,
                                         ArrayRef<Value> sums) const {
  Value tokens = ring().part(c, 0, stage, layout.tokenBytes);
  return c.wgmmaRegisters(sums, plan.tokens, a,
                          c.descriptors(tokens, kStageK / 16));
}

/// Adds the block's part of K to `sums`; the place after it. While the tensor
/// core has a stage, a warpgroup dequantizes the next one's weights, if stages
/// are long; else it waits, and leaves the other to do so.
PrefillPlace PrefillBody::multiplyStages(HopperCode &outer,
                                         SmallVector<Value> &sums,
                                         PrefillPlace place) const {
  const bool ahead = plan.tokens > kShortStage;
  auto fetch = [&](HopperCode &c, PrefillPlace &at, Value step) {
    at.scales = scalesAt(c, step, at.scales);
    c.waitParity(ring().full(c, at.stage), at.parity);
    return fragments(c, at, step);
  };
  SmallVector<Value> carried(sums);
  SmallVector<Value> a = fetch(outer, place, firstStep);
  llvm::append_range(carried, place.values());
  llvm::append_range(carried, a);
  SmallVector<Value> results =
      outer.loop(outer.add(firstStep, outer.constant(1)), endStep, 1, carried,
                 [&](ThreadCode &inner, Value step, ValueRange values) {
                   HopperCode c(inner);
                   SmallVector<Value> sums(values.take_front(numSums()));
                   PrefillPlace place(values.drop_front(numSums()));
                   SmallVector<Value> a(values.take_back(kStageK / 4));
                   sums = multiply(c, place.stage, a, sums);
                   auto finish = [&] {
                     sums = c.wgmmaWait(sums, 0, a);
                     ring().release(c, place.stage);
                   };
                   if (!ahead)
                     finish();
                   PrefillPlace next = after(c, place);
                   SmallVector<Value> nextA = fetch(c, next, step);
                   if (ahead)
                     finish();
                   llvm::append_range(sums, next.values());
                   llvm::append_range(sums, nextA);
                   return sums;
                 });
  sums.assign(results.begin(), results.begin() + numSums());
  PrefillPlace last(ValueRange(results).drop_front(numSums()));
  a = SmallVector<Value>(ValueRange(results).take_back(kStageK / 4));
  sums = outer.wgmmaWait(multiply(outer, last.stage, a, sums), 0, a);
  ring().release(outer, last.stage);
  return after(outer, last);
}

void PrefillBody::consume(HopperCode &outer) {
  if (format.looksUp()) {
    table.emplace(outer, outer.at(shared, layout.tableOffset),
                  outer.band(thread, 31));
    table->fill(outer, thread, kConsumers, [&](HopperCode &c, Value byte) {
      return format.tableEntry(c, byte);
    });
    outer.namedBarrier(1, kConsumers);
  }
  forTiles(outer, start(outer, 0),
           [&](HopperCode &tileCode, Value token0, Value row0, Value batch,
               ValueRange carried) {
             PrefillPlace place(carried);
             SmallVector<Value> sums(numSums(), tileCode.zero(tileCode.f32()));
             place = multiplyStages(tileCode, sums, place);
             if (plan.split > 1)
               storeSplit(tileCode, sums, token0, row0, batch);
             else
               store(tileCode, sums, token0, row0, batch);
             return SmallVector<Value>(llvm::to_vector(place.values()));
           });
}

/// sums[token][row] of whole groups of 8 tokens in shared memory.
void PrefillBody::writeSums(HopperCode &c, ArrayRef<Value> sums, Value area,
                            bool scaled) const {
  Value lane = c.band(thread, 31);
  Value row = c.add(c.mul(c.shr(thread, 5), 16), c.shr(lane, 2));
  Value start = c.add(c.mul(c.mul(c.band(lane, 3), 2), kOutStride), row);
  for (auto [index, sum] : llvm::enumerate(sums)) {
    // Registers: (row, token), (row, token + 1), then row + 8.
    int64_t tile = index / 4, i = index % 4;
    int64_t offset = (tile * 8 + i % 2) * kOutStride + i / 2 * 8;
    Value value = scaled ? format.trueSum(c, sum) : sum;
    c.store(value, c.element(area, c.f32(), c.add(start, offset)), 4);
  }
}

/// The blocks of a cluster add up their tiles, a part of it each.
void PrefillBody::storeSplit(HopperCode &outer, ArrayRef<Value> sums,
                             Value token0, Value row0, Value batch) const {
  outer.namedBarrier(1, kConsumers); // The stages have been read.
  writeSums(outer, sums, shared, /*scaled=*/false);
  outer.clusterBarrier();
  MatmulEpilogue::State state =
      epilogue.begin(outer, epilogueArgs(), batch, rowsM, rowsN);
  constexpr int64_t groups = PrefillPlan::rows() / 4;
  Value tokens =
      outer.min(outer.constant(plan.tokens), outer.sub(rowsM, token0));
  Value begin = outer.add(outer.mul(rank, kConsumers), thread);
  outer.loop(begin, outer.mul(tokens, groups), kConsumers * plan.split, {},
             [&](ThreadCode &inner, Value index, ValueRange) {
               HopperCode c(inner);
               Value token = c.div(index, groups);
               Value row = c.mul(c.rem(index, groups), 4);
               Value offset = c.add(c.mul(token, kOutStride), row);
               Value pointer = c.element(shared, c.f32(), offset);
               SmallVector<SmallVector<Value>> parts;
               for (int64_t block = 0; block < plan.split; ++block)
                 parts.push_back(c.loadRemote4(pointer, c.constant(block)));
               epilogue.emit(c, epilogueArgs(), state,
                             format.trueSums(c, parts), c.add(token0, token),
                             c.add(row0, row));
               return SmallVector<Value>();
             });
  outer.clusterBarrierRelaxed(); // Others may still read this block's sums.
}

/// The tile of sums through shared memory to the epilogue, some tokens at a
/// time.
void PrefillBody::store(HopperCode &c, ArrayRef<Value> sums, Value token0,
                        Value row0, Value batch) const {
  MatmulEpilogue::State state =
      epilogue.begin(c, epilogueArgs(), batch, rowsM, rowsN);
  Value area = c.at(shared, layout.outOffset);
  int64_t chunk = std::min(kOutTokens, plan.tokens);
  for (int64_t first = 0; first < plan.tokens; first += chunk) {
    c.namedBarrier(1, kConsumers); // The last chunk has been read.
    writeSums(c, sums.slice(first / 2, chunk / 2), area, /*scaled=*/true);
    c.namedBarrier(1, kConsumers);
    epilogue.emitTile(c, epilogueArgs(), state, area, chunk, plan.rows(),
                      kOutStride, kConsumers, c.add(token0, first), row0);
  }
}
