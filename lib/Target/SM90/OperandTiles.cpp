//===-- OperandTiles.cpp - Tiles of both operands for wgmma ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OperandTiles.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

SmallVector<Value> OperandTiles::copy(HopperCode &outer, const Ring &ring,
                                      const Source &source, int64_t steps,
                                      int64_t elements,
                                      ValueRange place) const {
  return outer.loop(outer.constant(0), outer.constant(steps), 1, place,
                    [&](ThreadCode &inner, Value step, ValueRange place) {
                      HopperCode c(inner);
                      Value stage = place[0], parity = place[1];
                      Value barrier = ring.full(c, stage);
                      c.waitParity(ring.empty(c, stage), parity);
                      c.expectBytes(barrier, bytesA + bytesB);
                      Value k = c.mul(step, elements);
                      c.copyBox(a(c, ring, stage), source.mapA,
                                {k, source.row0, source.batchA}, barrier);
                      c.copyBox(b(c, ring, stage), source.mapB,
                                {k, source.col0, source.batchB}, barrier);
                      RingPlace next = ring.after(c, {stage, parity});
                      return SmallVector<Value>{next.stage, next.parity};
                    });
}

void sm90::splitCopier(HopperCode &code, Value thread, int64_t consumers,
                       llvm::function_ref<void(HopperCode &)> consume,
                       llvm::function_ref<void(HopperCode &)> copy) {
  splitRoles(
      code, thread, consumers, kCopyRegisters, consume, [&](HopperCode &c) {
        c.branch(c.eq(thread, c.constant(consumers)), [&](ThreadCode &inner) {
          HopperCode single(inner);
          copy(single);
        });
      });
}

void SumsStaging::emit(
    HopperCode &c, const MatmulEpilogue &epilogue, ValueRange args,
    const MatmulEpilogue::State &state, Value row0, Value col0,
    llvm::function_ref<SmallVector<Value>(int64_t, int64_t)> pair) const {
  // Registers: (row, col), (row, col + 1), then row + 8; 8 columns further.
  Value row = c.shr(lane, 2), col = c.mul(c.band(lane, 3), 2);
  Value start = c.add(c.mul(row, kStride), col);
  c.syncWarp(); // What was here has been read.
  for (int64_t tile = 0; tile < kCols / 8; ++tile)
    for (int64_t high = 0; high < 2; ++high)
      c.store(
          c.pack(pair(tile, high)),
          c.element(area, c.f32(), c.add(start, high * 8 * kStride + tile * 8)),
          8);
  c.syncWarp();
  epilogue.emitTile(c, args, state, area, 16, kCols, kStride, 32, row0, col0,
                    lane, /*together=*/4);
}
