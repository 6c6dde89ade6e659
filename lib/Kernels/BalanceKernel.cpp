//===-- BalanceKernel.cpp - Even out rows and columns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Balance.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

/// The kernel's work on one tile: all rows, the columns [first, last)
/// (balance_c*).
class TileBody {
public:
  /// `arguments` are in the order of the members.
  TileBody(Location loc, ValueRange arguments, int64_t cols)
      : loc(loc), w(arguments[0]), values(arguments[1]), best(arguments[2]),
        factors(arguments[3]), inverses(arguments[4]), sums(arguments[5]),
        rowFactors(arguments[6]), rowDeviations(arguments[7]),
        rows(arguments[8]), cols(cols) {}

  void emit(OpBuilder &builder, Value tile, int64_t block, int64_t steps);

private:
  using LoopBody = llvm::function_ref<SmallVector<Value>(
      IRValueBuilder &, IndexMath &, Value, ValueRange)>;
  ValueRange loop(OpBuilder &builder, Value from, Value to, ValueRange carried,
                  LoopBody body);
  void eachColumn(OpBuilder &builder,
                  llvm::function_ref<void(IRValueBuilder &, Value)> body);
  void eachRow(OpBuilder &builder,
               llvm::function_ref<void(IRValueBuilder &, Value, Value)> body);

  Value deviation(OpBuilder &builder, Value sum, Value squares, Value count);
  Value columnDeviation(OpBuilder &builder, Value column);
  /// Bits of the smallest and the largest deviation.
  std::pair<Value, Value> measure(OpBuilder &builder);
  SmallVector<Value> step(OpBuilder &builder, Value number, Value target,
                          Value bestImbalance);
  void update(OpBuilder &builder, Value target);

  Value loadWide(OpBuilder &builder, Value buffer, Value index) {
    return memref::LoadOp::create(builder, loc, buffer, ValueRange{index});
  }
  void storeReal(IRValueBuilder &b, Value real, Value buffer, Value index) {
    storeScalarCode(b, b.asInt(real), buffer, index);
  }

  Location loc;
  Value w, values, best, factors, inverses, sums, rowFactors, rowDeviations;
  Value rows;
  int64_t cols;
  /// Of this tile; `rowStart` is that of its part of the buffers of rows.
  Value first, last, rowStart;
};

} // namespace

ValueRange TileBody::loop(OpBuilder &builder, Value from, Value to,
                          ValueRange carried, LoopBody body) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return scf::ForOp::create(
             builder, loc, from, to, one, carried,
             [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
               IRValueBuilder b(inner, loc);
               IndexMath at(inner, loc);
               scf::YieldOp::create(inner, loc, body(b, at, i, sofar));
             })
      .getResults();
}

void TileBody::eachColumn(
    OpBuilder &builder,
    llvm::function_ref<void(IRValueBuilder &, Value)> body) {
  loop(builder, first, last, {},
       [&](IRValueBuilder &b, IndexMath &, Value col,
           ValueRange) -> SmallVector<Value> {
         body(b, col);
         return {};
       });
}

/// `body` gets the row and its index in the buffers of rows.
void TileBody::eachRow(
    OpBuilder &builder,
    llvm::function_ref<void(IRValueBuilder &, Value, Value)> body) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  loop(builder, zero, rows, {},
       [&](IRValueBuilder &b, IndexMath &at, Value row,
           ValueRange) -> SmallVector<Value> {
         body(b, row, at.add(rowStart, row));
         return {};
       });
}

/// balance_c1, in f64, rounded once before the square root.
Value TileBody::deviation(OpBuilder &builder, Value sum, Value squares,
                          Value count) {
  Type f64 = builder.getF64Type();
  IndexMath math(builder, loc);
  auto asReal = [&](Value index) -> Value {
    Value integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    return arith::SIToFPOp::create(builder, loc, f64, integer);
  };
  Value n = asReal(count);
  Value freedom =
      asReal(math.max(math.sub(count, math.constant(1)), math.constant(1)));
  Value product = arith::MulFOp::create(builder, loc, sum, sum);
  Value mean = arith::DivFOp::create(builder, loc, product, n);
  Value rest = arith::SubFOp::create(builder, loc, squares, mean);
  Value variance = arith::DivFOp::create(builder, loc, rest, freedom);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  Value isNegative = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OLT, variance, zero);
  variance = arith::SelectOp::create(builder, loc, isNegative, zero, variance);
  Value narrow =
      arith::TruncFOp::create(builder, loc, builder.getF32Type(), variance);
  return IRValueBuilder(builder, loc).fsqrt(narrow);
}

Value TileBody::columnDeviation(OpBuilder &builder, Value column) {
  IndexMath math(builder, loc);
  Value slot = math.mul(column, 2);
  return deviation(builder, loadWide(builder, sums, slot),
                   loadWide(builder, sums, math.add(slot, 1)), rows);
}

std::pair<Value, Value> TileBody::measure(OpBuilder &builder) {
  IRValueBuilder outside(builder, loc);
  IndexMath math(builder, loc);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  eachColumn(builder, [&](IRValueBuilder &b, Value col) {
    IndexMath at(b.getBuilder(), loc);
    storeReal(b, b.fdiv(b.f32(1), loadReal(b, factors, col)), inverses, col);
    for (int64_t half : {0, 1})
      memref::StoreOp::create(b.getBuilder(), loc, zero, sums,
                              ValueRange{at.add(at.mul(col, 2), half)});
  });
  Value none = math.constant(0), width = math.sub(last, first);
  auto extremes = [](IRValueBuilder &b, ValueRange sofar,
                     Value deviation) -> SmallVector<Value> {
    Value bits = b.asInt(deviation);
    return {b.umin(sofar[0], bits), b.umax(sofar[1], bits)};
  };
  SmallVector<Value> start = {outside.i32(~0u), outside.i32(0)};
  ValueRange ofRows = loop(
      builder, none, rows, start,
      [&](IRValueBuilder &b, IndexMath &at, Value row, ValueRange sofar) {
        Value index = at.add(rowStart, row);
        Value inverse = b.fdiv(b.f32(1), loadReal(b, rowFactors, index));
        ValueRange both = loop(
            b.getBuilder(), first, last, {zero, zero},
            [&](IRValueBuilder &in, IndexMath &cell, Value col,
                ValueRange ofRow) -> SmallVector<Value> {
              OpBuilder &body = in.getBuilder();
              Value x = loadReal(in, w, cell.add(cell.mul(row, cols), col));
              x = in.fmul(x, loadReal(in, inverses, col));
              x = in.fmul(x, inverse);
              Value wide =
                  arith::ExtFOp::create(body, loc, body.getF64Type(), x);
              Value square = arith::MulFOp::create(body, loc, wide, wide);
              auto plus = [&](Value sum, Value term) -> Value {
                return arith::AddFOp::create(body, loc, sum, term);
              };
              Value slot = cell.mul(col, 2), next = cell.add(slot, 1);
              memref::StoreOp::create(body, loc,
                                      plus(loadWide(body, sums, slot), wide),
                                      sums, ValueRange{slot});
              memref::StoreOp::create(body, loc,
                                      plus(loadWide(body, sums, next), square),
                                      sums, ValueRange{next});
              return {plus(ofRow[0], wide), plus(ofRow[1], square)};
            });
        Value spread = deviation(b.getBuilder(), both[0], both[1], width);
        storeReal(b, spread, rowDeviations, index);
        return extremes(b, sofar, spread);
      });
  ValueRange all =
      loop(builder, first, last, ofRows,
           [&](IRValueBuilder &b, IndexMath &, Value col, ValueRange sofar) {
             return extremes(b, sofar, columnDeviation(b.getBuilder(), col));
           });
  return {all[0], all[1]};
}

/// The factors are the best so far; then come the next ones.
void TileBody::update(OpBuilder &builder, Value target) {
  eachRow(builder, [&](IRValueBuilder &b, Value, Value index) {
    Value deviation = loadReal(b, rowDeviations, index);
    Value factor = loadReal(b, rowFactors, index);
    storeReal(b, nextFactor(b, factor, deviation, target), rowFactors, index);
  });
  eachColumn(builder, [&](IRValueBuilder &b, Value col) {
    Value factor = loadReal(b, factors, col);
    storeReal(b, factor, best, col);
    Value deviation = columnDeviation(b.getBuilder(), col);
    storeReal(b, nextFactor(b, factor, deviation, target), factors, col);
  });
}

/// One step: whether to go on, the target, the imbalance to be no worse than.
SmallVector<Value> TileBody::step(OpBuilder &builder, Value number,
                                  Value target, Value bestImbalance) {
  IRValueBuilder b(builder, loc);
  auto [smallest, largest] = measure(builder);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        number, zero);
  target = b.select(isFirst, balanceTarget(b, b.asFloat(smallest)), target);
  Value now = imbalance(b, b.asFloat(smallest), b.asFloat(largest));
  Value isFinite = b.ult(largest, b.i32(kF32ExponentMask));
  Value goesOn =
      b.land(isFinite, b.lor(isFirst, b.lnot(b.fgt(now, bestImbalance))));
  scf::IfOp::create(builder, loc, goesOn, [&](OpBuilder &inner, Location) {
    update(inner, target);
    scf::YieldOp::create(inner, loc);
  });
  return {goesOn, target, now};
}

void TileBody::emit(OpBuilder &builder, Value tile, int64_t block,
                    int64_t steps) {
  IRValueBuilder outside(builder, loc);
  IndexMath math(builder, loc);
  first = math.mul(tile, block);
  last = math.min(math.add(first, block), math.constant(cols));
  rowStart = math.mul(tile, rows);
  eachRow(builder, [&](IRValueBuilder &b, Value, Value index) {
    storeReal(b, b.f32(1), rowFactors, index);
  });
  eachColumn(builder, [&](IRValueBuilder &b, Value col) {
    storeReal(b, b.f32(1), factors, col);
    storeReal(b, b.f32(1), best, col);
  });
  Value isTrue = arith::ConstantIntOp::create(builder, loc, 1, 1);
  SmallVector<Value> start = {isTrue, outside.f32(0), outside.f32(0)};
  loop(builder, math.constant(0), math.constant(steps), start,
       [&](IRValueBuilder &b, IndexMath &, Value number, ValueRange sofar) {
         auto choice = scf::IfOp::create(
             b.getBuilder(), loc, sofar[0],
             [&](OpBuilder &inner, Location) {
               scf::YieldOp::create(inner, loc,
                                    step(inner, number, sofar[1], sofar[2]));
             },
             [&](OpBuilder &inner, Location) {
               scf::YieldOp::create(inner, loc, sofar);
             });
         return SmallVector<Value>(choice.getResults());
       });
  eachRow(builder, [&](IRValueBuilder &rowBuilder, Value row, Value) {
    eachColumn(rowBuilder.getBuilder(), [&](IRValueBuilder &b, Value col) {
      IndexMath at(b.getBuilder(), loc);
      Value index = at.add(at.mul(row, cols), col);
      storeReal(b,
                canonicalReals(
                    b, b.fdiv(loadReal(b, w, index), loadReal(b, best, col))),
                values, index);
    });
  });
}

namespace {

struct LowerBalance : KernelPattern<BalanceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(BalanceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexMath math(rewriter, loc);
    RankedTensorType type = op.getSource().getType();
    int64_t cols = type.getDimSize(1), block = op.getBlock();
    int64_t tiles = (cols + block - 1) / block, steps = op.getSteps();
    SmallVector<Value> sizes =
        getSizes(rewriter, loc, adaptor.getSource(), type);
    ResultBuffer values = allocateResult(rewriter, loc, kernelSet,
                                         op.getBalanced().getType(), sizes);
    ResultBuffer columns = allocateResult(rewriter, loc, kernelSet,
                                          op.getColumns().getType(), sizes[1]);
    auto scratch = [&](Type element, Value size) {
      return allocateFlat(rewriter, loc, element, size);
    };
    Type f32 = rewriter.getF32Type(), f64 = rewriter.getF64Type();
    Value width = math.constant(cols);
    Value rowsOfTiles = math.mul(sizes[0], tiles);
    KernelArgs args;
    args.add(inputBuffer(rewriter, loc, adaptor.getSource()));
    args.add(values.flat);
    args.add(columns.flat);
    args.add(scratch(f32, width));
    args.add(scratch(f32, width));
    args.add(scratch(f64, math.mul(width, 2)));
    args.add(scratch(f32, rowsOfTiles));
    args.add(scratch(f32, rowsOfTiles));
    args.add(sizes[0]);
    func::FuncOp kernel = kernelSet.getOrCreate(
        loc, "blockscale_balance",
        kernelKey("balance", args.values[0].getType(), cols, block, steps),
        args.types(),
        [&](OpBuilder &builder, Location loc, Value begin, Value end,
            ValueRange args) {
          forRange(builder, loc, begin, end, 1,
                   [&](OpBuilder &inner, Value tile) {
                     TileBody(loc, args, cols).emit(inner, tile, block, steps);
                   });
        });
    kernelSet.launch(rewriter, loc, kernel, math.constant(tiles),
                     math.constant(1), args.values);
    rewriter.replaceOp(
        op, {values.asTensor(rewriter, loc), columns.asTensor(rewriter, loc)});
    return success();
  }
};

} // namespace

void kernels::populateBalanceKernel(RewritePatternSet &patterns,
                                    const TypeConverter &converter,
                                    KernelSet &kernelSet) {
  patterns.add<LowerBalance>(converter, patterns.getContext(), kernelSet);
}
