//===-- FoldedMultiply.cpp - Folded tiles to the result -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldedBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

/// The product of a stage for one of a warpgroup's two tiles of 64 rows.
SmallVector<Value> FoldedBody::multiply(HopperCode &c, Value stage,
                                        int64_t half) const {
  Value row = c.add(c.mul(c.shr(thread, 7), kHalves * 64), half * 64);
  Value a = c.at(layout.tiles.a(c, ring(), stage),
                 c.mul(row, OperandTiles::kRowBytes));
  constexpr int64_t count = OperandTiles::kRowBytes / 32;
  return c.wgmmaE4M3(FoldedPlan::cols(), c.descriptors(a, count),
                     c.descriptors(layout.tiles.b(c, ring(), stage), count));
}

void FoldedBody::consume(HopperCode &outer) const {
  constexpr int64_t count = kHalves * kSums;
  forTiles(outer, {outer.constant(0), outer.constant(0)},
           [&](HopperCode &tileCode, Value row0, Value col0, Value batch,
               ValueRange carried) {
             copyFactors(tileCode, row0, col0, batch);
             SmallVector<Value> values(count, tileCode.zero(tileCode.f32()));
             llvm::append_range(values, carried);
             values = tileCode.loop(
                 tileCode.constant(0), tileCode.constant(steps()), 1, values,
                 [&](ThreadCode &inner, Value, ValueRange carried) {
                   HopperCode c(inner);
                   SmallVector<Value> sums(carried.take_front(count));
                   RingPlace place{carried[count], carried[count + 1]};
                   c.waitParity(ring().full(c, place.stage), place.parity);
                   for (int64_t half = 0; half < kHalves; ++half) {
                     SmallVector<Value> more = multiply(c, place.stage, half);
                     if (half == kHalves - 1)
                       ring().release(c, place.stage);
                     for (int64_t i = 0; i < kSums; ++i) {
                       Value &sum = sums[half * kSums + i];
                       sum = arith::AddFOp::create(c.builder, c.loc, sum,
                                                   more[i]);
                     }
                   }
                   place = ring().after(c, place);
                   sums.append({place.stage, place.parity});
                   return sums;
                 });
             store(tileCode, ArrayRef<Value>(values).take_front(count), row0,
                   col0, batch);
             return SmallVector<Value>(values.begin() + count, values.end());
           });
}

Value FoldedBody::firstRow(HopperCode &c, Value row0) const {
  Value warp = c.shr(thread, 5);
  Value row =
      c.add(c.mul(c.shr(warp, 2), kHalves * 64), c.mul(c.band(warp, 3), 16));
  return c.add(row0, row);
}

Value FoldedBody::warpFactors(HopperCode &c) const {
  return c.at(c.at(shared, layout.factorsOffset),
              c.mul(c.shr(thread, 5), FoldedLayout::factorBytes));
}

/// Starts to copy the factors of a warp's rows and of the tile's columns, which
/// are there when the products are.
void FoldedBody::copyFactors(HopperCode &c, Value row0, Value col0,
                             Value batch) const {
  Value lane = c.band(thread, 31), area = warpFactors(c);
  Value always =
      arith::ConstantOp::create(c.builder, c.loc, c.builder.getBoolAttr(true));
  auto copy = [&](size_t argument, Value batch, Value rows, Value row,
                  int64_t slot) {
    // Rows past the end take the last one's; nobody stores their sums.
    row = c.min(row, c.sub(rows, c.constant(1)));
    Value index = c.add(c.mul(batch, rows), row);
    c.copyAsync(c.element(area, c.f32(), c.add(lane, slot)),
                c.element(args[argument], c.f32(), index), 4, always);
  };
  // 16 rows of either half.
  Value row = c.add(c.band(lane, 15), c.mul(c.shr(lane, 4), 64));
  copy(2, batch, rowsM, c.add(firstRow(c, row0), row), 0);
  Value batchB = problem.sharedB ? c.constant(0) : batch;
  for (int64_t i = 0; i < FoldedPlan::cols(); i += 32)
    copy(3, batchB, rowsN, c.add(col0, c.add(lane, i)), 32 + i);
  c.commitCopies();
}

/// A warp's sums through its part of shared memory to the epilogue.
void FoldedBody::store(HopperCode &c, ArrayRef<Value> sums, Value row0,
                       Value col0, Value batch) const {
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(c.builder, c.loc, a, b);
  };
  MatmulEpilogue::State state =
      epilogue.begin(c, epilogueArgs(), batch, rowsM, rowsN);
  Value lane = c.band(thread, 31);
  SumsStaging staging(c.at(c.at(shared, layout.outOffset),
                           c.mul(c.shr(thread, 5), SumsStaging::kBytes)),
                      lane);
  c.waitForCopies(0);
  c.syncWarp();
  Value row = c.shr(lane, 2), col = c.mul(c.band(lane, 3), 2);
  Value factors = warpFactors(c);
  SmallVector<Value> rowFactors;
  for (int64_t i = 0; i < 2 * kHalves; ++i)
    rowFactors.push_back(
        c.load(c.f32(), c.element(factors, c.f32(), c.add(row, i * 8)), 4));
  auto pairType = VectorType::get({2}, c.f32());
  for (int64_t first = 0; first < FoldedPlan::cols();
       first += SumsStaging::kCols) {
    SmallVector<Value> colFactors;
    for (int64_t tile = 0; tile < SumsStaging::kCols / 8; ++tile) {
      Value place =
          c.element(factors, c.f32(), c.add(col, 32 + first + tile * 8));
      llvm::append_range(colFactors, c.unpack(c.load(pairType, place, 8)));
    }
    for (int64_t half = 0; half < kHalves; ++half)
      staging.emit(
          c, epilogue, epilogueArgs(), state,
          c.add(firstRow(c, row0), half * 64), c.add(col0, first),
          [&](int64_t tile, int64_t high) {
            SmallVector<Value> pair;
            for (int64_t i = 0; i < 2; ++i)
              pair.push_back(times(
                  sums[half * kSums + (first / 8 + tile) * 4 + high * 2 + i],
                  times(rowFactors[half * 2 + high],
                        colFactors[tile * 2 + i])));
            return pair;
          });
  }
}
