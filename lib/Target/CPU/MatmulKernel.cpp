//===-- MatmulKernel.cpp - scaled_matmul by dequantized f64 panels --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// D = alpha A B^T + C (rules matmul_*): the rows of A of one chunk of M become
// an f64 panel shared by all threads; each work item takes a tile of B's rows,
// turns it into f64 in slices of K, and multiplies by a register tile whose
// vectors run along K. Sums are f64 over 8 lanes by k mod 8, then by halves,
// then over the slices of K in order: the same on every machine and for every
// number of threads.
//
//===----------------------------------------------------------------------===//
#include "MatmulKernel.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;
using namespace blockscale::kernels;

static Value loadF64Lanes(OpBuilder &builder, Location loc, Value panel,
                          Value index) {
  auto type = VectorType::get({kLanes}, builder.getF64Type());
  return vector::LoadOp::create(builder, loc, type, panel, ValueRange{index});
}

/// Sum of 8 f64 lanes by halves.
static Value sumLanes(OpBuilder &builder, Location loc, Value lanes) {
  for (int64_t n = kLanes; n > 1; n /= 2) {
    auto half = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          builder, loc, lanes, ArrayRef<int64_t>{offset},
          ArrayRef<int64_t>{n / 2}, ArrayRef<int64_t>{1});
    };
    lanes = arith::AddFOp::create(builder, loc, half(0), half(n / 2));
  }
  return vector::ExtractOp::create(builder, loc, lanes, ArrayRef<int64_t>{0});
}

namespace {

/// What the loops of one work item share.
struct Tile {
  const MatmulPlan &plan;
  Location loc;
  Value panelA, tileB, sums;
  /// Rows of A and of B in this tile.
  Value rowsA, rowsB;

  /// sums[m, n] += A[m, k0 .. k0 + count) . B[n, ...] for a register tile.
  void multiply(OpBuilder &builder, Value m, Value n, Value k0,
                Value count) const;
};

} // namespace

void Tile::multiply(OpBuilder &builder, Value m, Value n, Value k0,
                    Value count) const {
  IndexMath math(builder, loc);
  // Rows past the end repeat the last one; their sums are never read.
  SmallVector<Value> startsA, startsB;
  Value lastA = math.sub(rowsA, math.constant(1));
  Value lastB = math.sub(rowsB, math.constant(1));
  for (int64_t i = 0; i < plan.tileM; ++i)
    startsA.push_back(
        math.add(math.mul(math.min(math.add(m, i), lastA), plan.paddedK), k0));
  for (int64_t j = 0; j < plan.tileN; ++j)
    startsB.push_back(math.mul(math.min(math.add(n, j), lastB), plan.sliceK));

  auto laneType = VectorType::get({kLanes}, builder.getF64Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(laneType));
  SmallVector<Value> initial(plan.tileM * plan.tileN, zero);
  auto loop = scf::ForOp::create(
      builder, loc, math.constant(0), count, math.constant(kLanes), initial,
      [&](OpBuilder &inner, Location, Value k, ValueRange sums) {
        IndexMath at(inner, loc);
        SmallVector<Value> a, b, next;
        for (Value start : startsA)
          a.push_back(loadF64Lanes(inner, loc, panelA, at.add(start, k)));
        for (Value start : startsB)
          b.push_back(loadF64Lanes(inner, loc, tileB, at.add(start, k)));
        for (int64_t i = 0; i < plan.tileM; ++i)
          for (int64_t j = 0; j < plan.tileN; ++j) {
            Value sum = sums[i * plan.tileN + j];
            if (plan.useFMA)
              next.push_back(
                  vector::FMAOp::create(inner, loc, a[i], b[j], sum));
            else
              next.push_back(arith::AddFOp::create(
                  inner, loc, arith::MulFOp::create(inner, loc, a[i], b[j]),
                  sum));
          }
        scf::YieldOp::create(inner, loc, next);
      });

  for (int64_t i = 0; i < plan.tileM; ++i)
    for (int64_t j = 0; j < plan.tileN; ++j) {
      Value index =
          math.add(math.mul(math.add(m, i), kTileRowsB), math.add(n, j));
      Value old = memref::LoadOp::create(builder, loc, sums, ValueRange{index});
      Value sum = sumLanes(builder, loc, loop.getResult(i * plan.tileN + j));
      memref::StoreOp::create(builder, loc,
                              arith::AddFOp::create(builder, loc, old, sum),
                              sums, ValueRange{index});
    }
}

MatmulPlan MatmulPlan::make(const MatmulSide &lhs, const MatmulSide &rhs,
                            unsigned vectorBits, bool useFMA) {
  MatmulPlan plan;
  plan.useFMA = useFMA;
  plan.tileM = plan.tileN = vectorBits >= 512 ? 4 : 2;
  plan.paddedK = std::max(lhs.paddedCols(), rhs.paddedCols());
  // The largest slice that holds whole blocks: 1024 doubles of 4 rows of A are
  // an L1 cache, 32 rows of B a part of an L2 cache.
  int64_t block = rhs.format ? rhs.format->blockCols : kLanes;
  plan.sliceK = std::min(plan.paddedK, 1024 / block * block);
  return plan;
}

func::FuncOp cpu::panelKernel(KernelSet &kernelSet, Location loc,
                              const MatmulSide &side) {
  OpBuilder types(loc.getContext());
  Type index = types.getIndexType();
  SmallVector<Type> arguments{flatType(types.getF64Type()), index, index,
                              index};
  for (Value buffer : side.buffers)
    arguments.push_back(buffer.getType());
  return kernelSet.getOrCreate(
      loc, "blockscale_panel", kernelKey("panel", side.key()), arguments,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        Value panel = args[0], batch = args[1], rows = args[2], first = args[3];
        forRange(builder, loc, begin, end, 1,
                 [&](OpBuilder &inner, Value item) {
                   IndexMath math(inner, loc);
                   side.writeRow(inner, loc, args.drop_front(4), batch, rows,
                                 math.add(first, item), math.constant(0),
                                 math.constant(side.paddedCols()), panel,
                                 math.mul(item, side.paddedCols()));
                 });
      });
}

func::FuncOp cpu::matmulKernel(KernelSet &kernelSet, Location loc,
                               const MatmulPlan &plan, const MatmulSide &rhs,
                               const MatmulEpilogue &epilogue) {
  OpBuilder types(loc.getContext());
  Type index = types.getIndexType();
  // panelA, rowsA, first row of the chunk, batch of B, rows of B
  SmallVector<Type> arguments{flatType(types.getF64Type()), index, index, index,
                              index};
  for (Value buffer : rhs.buffers)
    arguments.push_back(buffer.getType());
  size_t numFixed = 5, numRhs = rhs.buffers.size();
  llvm::append_range(arguments, epilogue.argumentTypes());
  std::string key =
      kernelKey("matmul", plan.tileM, plan.tileN, plan.paddedK, plan.sliceK,
                plan.useFMA, rhs.key(), epilogue.key());
  return kernelSet.getOrCreate(
      loc, "blockscale_matmul", key, arguments,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        Value panelA = args[0], rowsA = args[1], firstRow = args[2],
              batch = args[3], rows = args[4];
        ValueRange rhsBuffers = args.slice(numFixed, numRhs);
        ValueRange epilogueArgs = args.drop_front(numFixed + numRhs);
        IndexMath math(builder, loc);
        Value tileB = allocateFlat(builder, loc, builder.getF64Type(),
                                   math.constant(kTileRowsB * plan.sliceK));
        Value paddedRowsA =
            math.mul(math.ceilDiv(rowsA, plan.tileM), plan.tileM);
        Value sumsSize = math.mul(paddedRowsA, kTileRowsB);
        // A register tile may reach past the 32 columns when 32 is no multiple
        // of its width; it never is: 2 and 4 divide 32.
        Value sums = allocateFlat(builder, loc, builder.getF64Type(), sumsSize);
        Value zero = arith::ConstantOp::create(builder, loc,
                                               builder.getF64FloatAttr(0.0));
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &b, Value item) {
          IndexMath at(b, loc);
          Value n0 = at.mul(item, kTileRowsB);
          Value rowsB = at.min(at.sub(rows, n0), at.constant(kTileRowsB));
          forRange(b, loc, at.constant(0), sumsSize, 1,
                   [&](OpBuilder &inner, Value i) {
                     memref::StoreOp::create(inner, loc, zero, sums,
                                             ValueRange{i});
                   });
          Tile tile{plan, loc, panelA, tileB, sums, rowsA, rowsB};
          forRange(b, loc, at.constant(0), at.constant(plan.paddedK),
                   plan.sliceK, [&](OpBuilder &slice, Value k0) {
                     IndexMath in(slice, loc);
                     Value count = in.min(in.sub(in.constant(plan.paddedK), k0),
                                          in.constant(plan.sliceK));
                     forRange(slice, loc, in.constant(0), rowsB, 1,
                              [&](OpBuilder &inner, Value n) {
                                IndexMath row(inner, loc);
                                rhs.writeRow(inner, loc, rhsBuffers, batch,
                                             rows, row.add(n0, n), k0, count,
                                             tileB, row.mul(n, plan.sliceK));
                              });
                     forRange(slice, loc, in.constant(0), rowsA, plan.tileM,
                              [&](OpBuilder &rowLoop, Value m) {
                                IndexMath row(rowLoop, loc);
                                forRange(
                                    rowLoop, loc, row.constant(0), rowsB,
                                    plan.tileN, [&](OpBuilder &inner, Value n) {
                                      tile.multiply(inner, m, n, k0, count);
                                    });
                              });
                   });
          forRange(b, loc, at.constant(0), rowsA, 1,
                   [&](OpBuilder &inner, Value m) {
                     IndexMath row(inner, loc);
                     epilogue.emitRow(inner, loc, epilogueArgs, sums,
                                      row.mul(m, kTileRowsB),
                                      row.add(firstRow, m), n0, rowsB, rows);
                   });
        });
      });
}
