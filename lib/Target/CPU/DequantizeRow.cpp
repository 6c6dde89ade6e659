//===-- DequantizeRow.cpp - A matmul side, row by row ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DequantizeRow.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;
using namespace blockscale::kernels;

std::string MatmulSide::key() const {
  std::string layout;
  if (scalesType)
    layout = kernelKey(scalesType.getEncoding() ? "tiled" : "linear");
  return kernelKey(format ? format->text() : "plain", type.getElementType(),
                   cols(), layout);
}

static Value toF64(IRValueBuilder &b, Value f32Value) {
  OpBuilder &builder = b.getBuilder();
  return arith::ExtFOp::create(
      builder, b.getLoc(),
      withLanesOf(builder.getF64Type(), f32Value.getType()), f32Value);
}

static void storePanel(IRValueBuilder &b, Value lanes, Value panel,
                       Value index) {
  vector::StoreOp::create(b.getBuilder(), b.getLoc(), lanes, panel,
                          ValueRange{index});
}

/// Plain reals: the last group of 8 may be partial and is padded with zeros.
static void writePlainRow(OpBuilder &builder, Location loc, Value reals,
                          int64_t cols, Value rowIndex, Value firstCol,
                          Value count, Value panel, Value panelIndex) {
  constexpr int64_t lanes = 8;
  IndexMath math(builder, loc);
  int64_t fullCols = cols / lanes * lanes;
  Value rowStart = math.mul(rowIndex, cols);
  Value end = math.add(firstCol, count);
  auto copy = [&](OpBuilder &inner, Value col, int64_t valid) {
    IRValueBuilder b(inner, loc);
    IndexMath at(inner, loc);
    Value x = loadReals(b, reals, at.add(rowStart, col), lanes, valid);
    storePanel(b, toF64(b, x), panel,
               at.add(panelIndex, at.sub(col, firstCol)));
  };
  Value fullEnd = math.min(end, math.constant(fullCols));
  forRange(builder, loc, firstCol, fullEnd, lanes,
           [&](OpBuilder &inner, Value col) { copy(inner, col, lanes); });
  if (fullCols == cols)
    return;
  Value reachesTail = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ugt, end, math.constant(fullCols));
  scf::IfOp::create(builder, loc, reachesTail, [&](OpBuilder &inner, Location) {
    IndexMath at(inner, loc);
    copy(inner, at.constant(fullCols), cols - fullCols);
    scf::YieldOp::create(inner, loc);
  });
}

void MatmulSide::writeRow(OpBuilder &builder, Location loc, ValueRange buffers,
                          Value batch, Value rows, Value row, Value firstCol,
                          Value count, Value panel, Value panelIndex) const {
  IndexMath math(builder, loc);
  Value rowIndex = math.add(math.mul(batch, rows), row);
  if (!format) {
    writePlainRow(builder, loc, buffers[0], cols(), rowIndex, firstCol, count,
                  panel, panelIndex);
    return;
  }
  int64_t block = format->blockCols;
  ScaleAddress scaleAddress(scalesType);
  Value scaleRow = math.div(row, format->blockRows);
  Value scaleRows = math.ceilDiv(rows, format->blockRows);
  Value rowStart = math.mul(rowIndex, cols());
  Value end = math.add(firstCol, count);
  forRange(
      builder, loc, firstCol, end, block, [&](OpBuilder &inner, Value col) {
        IRValueBuilder b(inner, loc);
        IndexMath at(inner, loc);
        Value blockCol = at.div(col, block);
        Value scaleCode =
            loadScalarCode(b, buffers[1],
                           scaleAddress.offset(inner, loc, batch, scaleRows,
                                               scaleRow, blockCol));
        Value scale = decodeScale(b, format->scale, scaleCode);
        Value codes = loadCodes(b, buffers[0], at.add(rowStart, col), block,
                                format->element.width());
        Value values;
        if (format->zero == ZeroPoint::None) {
          values = decodeElement(b, format->element, codes);
        } else {
          Value zero = loadScalarCode(
              b, buffers[2],
              ScaleAddress(zerosType).offset(inner, loc, batch, scaleRows,
                                             scaleRow, blockCol));
          values =
              decodeWithZero(b, *format, codes, loadZero(b, *format, zero));
        }
        // An f32 product, as dequantize computes it (rule matmul_c1).
        storePanel(b, toF64(b, b.fmul(values, scale)), panel,
                   at.add(panelIndex, at.sub(col, firstCol)));
      });
}
