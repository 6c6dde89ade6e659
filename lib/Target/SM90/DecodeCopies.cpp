//===-- DecodeCopies.cpp - Weights, scales and tokens on their way --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
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
  firstRow = code.mul(code.div(code.blockId(), plan.cluster), plan.rows());
  firstChunk = code.mul(rank, layout.chunksPerBlock);

  Value warp = code.shr(thread, 5);
  warpK = code.rem(warp, plan.warpsK);
  warpRow = code.mul(code.div(warp, plan.warpsK), 16 * plan.rowTiles);
  ring = code.at(code.at(shared, layout.ringOffset),
                 code.add(code.mul(warp, plan.depth * layout.stageBytes),
                          code.mul(lane, 16)));
  scaleArea = code.at(code.at(shared, layout.scalesOffset),
                      code.mul(warp, layout.scaleBytes));
}

void DecodeBody::locateWeights() {
  Value k =
      code.mul(code.add(firstChunk, code.mul(warpK, layout.chunksPerWarp)),
               layout.chunk);
  k = code.add(k, code.mul(quad, layout.run));
  Value column = code.wide(code.div(code.mul(k, format.bits()), 8));
  Value first = code.add(code.add(firstRow, warpRow), group);
  for (int64_t i = 0; i < rowsPerThread(); ++i) {
    // Rows past the end read the last one; nobody stores their sums.
    Value row =
        code.min(code.add(first, 8 * i), code.sub(rowsN, code.constant(1)));
    Value line = code.add(code.mul(code.wide(weightBatch), code.wide(rowsN)),
                          code.wide(row));
    Value bytes = code.mul(line, problem.k * format.bits() / 8);
    weights.push_back(code.at(args[1], code.add(bytes, column)));
  }
  Value token = code.rem(group, plan.tokens);
  for (int64_t unit = 0; unit < layout.units; ++unit) {
    Value piece = code.add(
        code.mul(code.mul(warpK, layout.chunksPerWarp), 4 * layout.units),
        code.add(code.mul(quad, layout.units), unit));
    fragments.push_back(tokenPlace(code, token, piece));
  }
}

/// Where 8 neighbours of a token lie, piece `piece` of its row. The eight
/// threads that read at once (two tokens, the quads' pieces of one unit) hit
/// different banks.
Value DecodeBody::tokenPlace(HopperCode &c, Value token, Value piece) const {
  Value odd = c.band(token, 1);
  if (layout.units == 4)
    odd = c.bor(c.shl(odd, 1), c.band(c.shr(piece, 3), 1));
  return c.at(shared, c.add(c.mul(token, layout.tokenBytes),
                            c.mul(c.bxor(piece, odd), 16)));
}

/// For the pieces of activations of this thread, `inFlight` at a time.
void DecodeBody::forPieces(llvm::function_ref<void(HopperCode &, Value)> body,
                           int64_t inFlight) const {
  int64_t total = plan.tokens * (layout.tokenBytes / 16);
  int64_t threads = plan.threads();
  int64_t perThread = llvm::divideCeil(total, threads);
  int64_t group = std::min(inFlight, perThread);
  auto some = [&](HopperCode &c, Value first) {
    for (int64_t i = 0; i < group; ++i) {
      Value piece = c.add(first, i * threads);
      if (total % (threads * group) == 0)
        body(c, piece);
      else
        c.branch(c.lt(piece, c.constant(total)), [&](ThreadCode &inner) {
          HopperCode h(inner);
          body(h, piece);
        });
    }
  };
  HopperCode c(code);
  if (group == perThread)
    return some(c, thread);
  c.loop(thread, c.constant(total), threads * group, {},
         [&](ThreadCode &inner, Value first, ValueRange) {
           HopperCode h(inner);
           some(h, first);
           return SmallVector<Value>();
         });
}

/// The block's part of the rows of A, zeros where there are none.
void DecodeBody::copyTokens() const {
  HopperCode outer(code);
  Value k0 = outer.mul(firstChunk, layout.chunk);
  Value line = outer.add(outer.mul(outer.wide(batch), outer.wide(rowsM)),
                         outer.wide(firstToken));
  Value base = outer.at(args[0], outer.mul(line, 2 * problem.k));
  forPieces(
      [&](HopperCode &c, Value index) {
        Value token = c.div(index, layout.tokenBytes / 16);
        Value piece = c.rem(index, layout.tokenBytes / 16);
        Value k = c.add(k0, c.mul(piece, 8));
        Value present = c.band(c.lt(c.add(firstToken, token), rowsM),
                               c.lt(k, c.constant(problem.k)));
        Value offset =
            c.add(c.mul(c.wide(token), 2 * problem.k), c.wide(c.mul(k, 2)));
        c.copyLine(tokenPlace(c, token, piece), c.at(base, offset), present,
                   /*fill=*/true);
      },
      /*inFlight=*/8);
  outer.commitCopies();
}

/// Each thread brings what it copied into the order of the fragments.
void DecodeBody::orderTokens() const {
  forPieces(
      [&](HopperCode &c, Value index) {
        Value place = tokenPlace(c, c.div(index, layout.tokenBytes / 16),
                                 c.rem(index, layout.tokenBytes / 16));
        SmallVector<Value> words = c.loadWords(place, 4);
        SmallVector<Value> ordered;
        std::array<int, 8> order = format.order();
        for (int i = 0; i < 8; i += 2) {
          int low = order[i], high = order[i + 1];
          // Both halves are low or both are high in every order there is.
          ordered.push_back(low % 2
                                ? c.pairHigh(words[low / 2], words[high / 2])
                                : c.pairLow(words[low / 2], words[high / 2]));
        }
        c.storeWords(ordered, place);
      },
      /*inFlight=*/8);
}

/// Starts copying a chunk, if there is one; closes the group of copies.
void DecodeBody::copyChunk(HopperCode &c, Value chunk, int64_t slot) const {
  Value present = c.lt(chunk, c.constant(layout.chunksPerWarp));
  if (!layout.exact) {
    Value k = c.add(c.mul(warpK, layout.chunksPerWarp), chunk);
    k = c.add(c.mul(c.add(firstChunk, k), layout.chunk),
              c.mul(quad, layout.run));
    present = c.band(present, c.lt(k, c.constant(problem.k)));
  }
  Value bytes = c.wide(c.mul(chunk, 64));
  for (auto [row, pointer] : llvm::enumerate(weights))
    c.copyLine(c.at(ring, slot * layout.stageBytes + row * 512),
               c.at(pointer, bytes), present, /*fill=*/!layout.exact);
  c.commitCopies();
}

/// The scales of a warp's rows and its part of K.
void DecodeBody::copyScales() const {
  HopperCode outer(code);
  int64_t perRow = llvm::divideCeil(layout.scaleColumns, layout.scaleCopy);
  int64_t total = plan.rowTiles * 16 * perRow;
  Value firstColumn =
      outer.mul(outer.add(firstChunk, outer.mul(warpK, layout.chunksPerWarp)),
                layout.chunk);
  firstColumn = outer.div(firstColumn, format.block());
  Value warpFirst = outer.add(firstRow, warpRow);
  auto copy = [&](HopperCode &h, Value index) {
    Value row = h.div(index, perRow);
    Value column = h.mul(h.rem(index, perRow), layout.scaleCopy);
    Value target =
        h.at(scaleArea, h.add(h.mul(row, layout.scaleStride), column));
    column = h.add(column, firstColumn);
    Value present = h.lt(column, h.constant(problem.k / format.block()));
    row = h.min(h.add(warpFirst, row), h.sub(rowsN, h.constant(1)));
    Value offset =
        scaleAddress.offset(h.builder, h.loc, h.toIndex(weightBatch), args[4],
                            h.toIndex(row), h.toIndex(column));
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
  if (total % 32 == 0 && total <= 256) {
    for (int64_t i = 0; i < total; i += 32)
      copy(outer, outer.add(lane, i));
    return;
  }
  outer.loop(lane, outer.constant(total), 32, {},
             [&](ThreadCode &inner, Value index, ValueRange) {
               HopperCode h(inner);
               copy(h, index);
               return SmallVector<Value>();
             });
}
