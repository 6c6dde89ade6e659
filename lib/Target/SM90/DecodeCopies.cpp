//===-- DecodeCopies.cpp - Weights, scales and tokens on their way --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

void DecodeBody::locate() {
  shared = code.sharedMemory();
  thread = code.threadId();
  lane = code.band(thread, 31);
  group = code.shr(lane, 2);
  quad = code.band(lane, 3);
  rowsM = code.narrow(args[3]);
  rowsN = code.narrow(args[4]);
  batch = code.blockIdZ();
  weightBatch = problem.sharedWeights ? code.constant(0) : batch;
  firstToken = code.mul(code.blockIdY(), plan.tokens);
  rank = plan.cluster > 1 ? code.clusterRank() : code.constant(0);
  firstChunk = code.mul(rank, layout.chunksPerBlock);

  Value warp = code.shr(thread, 5);
  warpK = code.rem(warp, plan.warpsK);
  warpRow = code.mul(code.div(warp, plan.warpsK), 16 * plan.rowTiles);
  ring = code.at(code.at(shared, layout.ringOffset),
                 code.add(code.mul(warp, plan.depth * layout.stageBytes),
                          code.mul(lane, 16)));
  scaleArea = code.at(code.at(shared, layout.scalesOffset),
                      code.mul(warp, 2 * layout.scaleBytes));
}

TileRows DecodeBody::rowsOf(HopperCode &c, Value tile) const {
  TileRows result;
  result.firstRow = c.mul(tile, plan.rows());
  result.present = c.lt(result.firstRow, rowsN);
  Value k = c.mul(c.add(firstChunk, c.mul(warpK, layout.chunksPerWarp)),
                  layout.chunk);
  k = c.add(k, c.mul(quad, layout.run));
  Value column = c.wide(c.div(c.mul(k, format.bits()), 8));
  Value first = c.add(c.add(result.firstRow, warpRow), group);
  for (int64_t i = 0; i < rowsPerThread(); ++i) {
    // Rows past the end read the last one; nobody stores their sums.
    Value row = c.min(c.add(first, 8 * i), c.sub(rowsN, c.constant(1)));
    Value line = c.add(c.mul(c.wide(weightBatch), c.wide(rowsN)), c.wide(row));
    Value bytes = c.mul(line, problem.k * format.bits() / 8);
    result.weights.push_back(c.at(args[1], c.add(bytes, column)));
  }
  return result;
}

/// Starts copying a chunk, if there is one; closes the group of copies.
void DecodeBody::copyChunk(HopperCode &c, const TileRows &rows, Value chunk,
                           Value slot) const {
  Value present = rows.present;
  if (!layout.exact) {
    Value k = c.add(c.mul(warpK, layout.chunksPerWarp), chunk);
    k = c.add(c.mul(c.add(firstChunk, k), layout.chunk),
              c.mul(quad, layout.run));
    present = c.band(present, c.lt(k, c.constant(problem.k)));
  }
  Value bytes = c.wide(c.mul(chunk, 64));
  for (auto [row, pointer] : llvm::enumerate(rows.weights))
    c.copyLine(c.at(c.at(ring, slot), row * 512), c.at(pointer, bytes), present,
               /*fill=*/!layout.exact);
  c.commitCopies();
}

/// The scales of a warp's rows and its part of K, before its first chunk.
void DecodeBody::copyScales(HopperCode &c, const TileRows &rows,
                            Value parity) const {
  int64_t perRow = llvm::divideCeil(layout.scaleColumns, layout.scaleCopy);
  int64_t total = plan.rowTiles * 16 * perRow;
  Value firstColumn = c.mul(
      c.add(firstChunk, c.mul(warpK, layout.chunksPerWarp)), layout.chunk);
  firstColumn = c.div(firstColumn, format.block());
  Value area = c.at(scaleArea, c.mul(parity, layout.scaleBytes));
  Value firstRow = c.add(rows.firstRow, warpRow);
  auto copy = [&](HopperCode &h, Value index) {
    Value row = h.div(index, perRow);
    Value column = h.mul(h.rem(index, perRow), layout.scaleCopy);
    Value target = h.at(area, h.add(h.mul(row, layout.scaleStride), column));
    column = h.add(column, firstColumn);
    Value present = h.band(
        rows.present, h.lt(column, h.constant(problem.k / format.block())));
    row = h.min(h.add(firstRow, row), h.sub(rowsN, h.constant(1)));
    Value offset =
        scaleAddress.offset(h.builder, h.loc, toIndex(h, weightBatch), args[4],
                            toIndex(h, row), toIndex(h, column));
    Value source = h.at(args[2], h.wideIndex(offset));
    if (layout.scaleCopy > 1) {
      h.copyAsync(target, source, layout.scaleCopy, present);
    } else {
      Value byte = h.loadUnsigned(source, 1, present);
      h.store(arith::TruncIOp::create(h.builder, h.loc, h.builder.getI8Type(),
                                      byte),
              target, 1);
    }
  };
  if (total % 32 == 0 && total <= 128) {
    for (int64_t i = 0; i < total; i += 32)
      copy(c, c.add(lane, i));
    return;
  }
  c.loop(lane, c.constant(total), 32, {},
         [&](ThreadCode &inner, Value index, ValueRange) {
           HopperCode h(inner);
           copy(h, index);
           return SmallVector<Value>();
         });
}

/// Eight neighbours of a token, at their places in the order of the fragments.
void DecodeBody::storeTokens(HopperCode &c, ArrayRef<Value> words, Value token,
                             Value unit) const {
  // Unit = 8 k of a chunk of 4 runs: run `unitQuad`, unit `j` of the run.
  Value perChunk = c.constant(4 * layout.units);
  Value chunkInBlock = c.div(unit, perChunk);
  Value inChunk = c.rem(unit, perChunk);
  Value unitQuad = c.div(inChunk, layout.units);
  Value j = c.rem(inChunk, layout.units);
  SmallVector<Value> ordered;
  std::array<int, 8> order = format.order();
  for (int i = 0; i < 8; i += 2) {
    int low = order[i], high = order[i + 1];
    // Both halves are low or both are high in every order there is.
    ordered.push_back(low % 2 ? c.pairHigh(words[low / 2], words[high / 2])
                              : c.pairLow(words[low / 2], words[high / 2]));
  }
  Value index = c.add(c.mul(chunkInBlock, layout.units), j);
  Value place = c.add(c.mul(token, 4), unitQuad);
  c.storeWords(ordered, c.at(shared, c.add(c.mul(index, layout.unitStride),
                                           c.mul(place, 16))));
}

void DecodeBody::stageTokens() {
  int64_t unitsPerToken = layout.chunksPerBlock * 4 * layout.units;
  int64_t total = plan.tokens * unitsPerToken;
  constexpr int64_t batchLoads = 4;
  int64_t threads = plan.threads();
  Value k0 = code.mul(firstChunk, layout.chunk);
  Value tokenLine = code.add(code.mul(code.wide(batch), code.wide(rowsM)),
                             code.wide(firstToken));
  Value base = code.at(args[0], code.mul(tokenLine, 2 * problem.k));
  code.loop(
      thread, code.constant(total), threads * batchLoads, {},
      [&](ThreadCode &inner, Value first, ValueRange) {
        HopperCode c(inner);
        SmallVector<SmallVector<Value>> words;
        SmallVector<Value> tokens, unitIndices;
        for (int64_t i = 0; i < batchLoads; ++i) {
          Value index = c.add(first, i * threads);
          Value token = c.div(index, unitsPerToken);
          Value unit = c.rem(index, unitsPerToken);
          Value k = c.add(k0, c.mul(unit, 8));
          Value present = c.band(c.lt(c.add(firstToken, token), rowsM),
                                 c.lt(k, c.constant(problem.k)));
          Value offset =
              c.add(c.mul(c.wide(token), 2 * problem.k), c.wide(c.mul(k, 2)));
          words.push_back(c.streamWords(c.at(base, offset), 4, present));
          tokens.push_back(token);
          unitIndices.push_back(unit);
        }
        for (int64_t i = 0; i < batchLoads; ++i) {
          auto store = [&](ThreadCode &t) {
            HopperCode h(t);
            storeTokens(h, words[i], tokens[i], unitIndices[i]);
          };
          if (total % (threads * batchLoads) == 0)
            store(c);
          else
            c.branch(c.lt(c.add(first, i * threads), c.constant(total)), store);
        }
        return SmallVector<Value>();
      });
}
