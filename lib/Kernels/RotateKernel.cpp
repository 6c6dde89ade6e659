//===-- RotateKernel.cpp - Block Hadamard rotation ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotateSigns.h"
#include "RotatedLoad.h"
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/SizeChecks.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Hadamard.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// Columns rotated side by side when the axis is not innermost.
static constexpr int64_t kColumnLanes = 16;

namespace {

struct LowerRotate : KernelPattern<RotateOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(RotateOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

/// One run of `size` consecutive values at `index`.
static void rotateRun(IRValueBuilder &b, Value source, Value result,
                      Value index, int64_t size, Value signBits, bool inverse,
                      int64_t alignment) {
  Value x = loadReals(b, source, index, size, size, alignment);
  if (!inverse)
    x = flip(b, x, signBits);
  x = rotateLanes(b, x, {}, /*inverse=*/false);
  if (inverse)
    x = flip(b, x, signBits);
  storeReals(b, x, result, index, size, alignment);
}

/// `valid` neighbouring columns of `size` rows that lie `stride` apart.
static void rotateColumns(IRValueBuilder &b, Value source, Value result,
                          Value index, Value stride, int64_t size,
                          int64_t valid, Value signBits, bool inverse) {
  IndexMath math(b.getBuilder(), b.getLoc());
  auto signOf = [&](int64_t row) -> Value {
    if (!signBits)
      return {};
    return vector::ExtractOp::create(b.getBuilder(), b.getLoc(), signBits,
                                     ArrayRef<int64_t>{row});
  };
  std::vector<Value> rows;
  for (int64_t row = 0; row < size; ++row) {
    Value x = loadReals(b, source, math.add(index, math.mul(stride, row)),
                        kColumnLanes, valid);
    rows.push_back(inverse ? x : flip(b, x, signOf(row)));
  }
  rows = rotateRows(b, rows);
  for (int64_t row = 0; row < size; ++row) {
    Value y = inverse ? flip(b, rows[row], signOf(row)) : rows[row];
    storeReals(b, y, result, math.add(index, math.mul(stride, row)), valid);
  }
}

LogicalResult
LowerRotate::matchAndRewrite(RotateOp op, OpAdaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  if (op.getMatrix())
    return rewriter.notifyMatchFailure(op, "not by Hadamard's matrix");
  if (isInsideQuantizer(op)) {
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
  Location loc = op.getLoc();
  auto type = op.getSource().getType();
  int64_t size = op.getSize(), axis = op.getRotationAxis();
  bool innermost = axis == type.getRank() - 1;
  SmallVector<Value> sizes = getSizes(rewriter, loc, adaptor.getSource(), type);
  Value source = inputBuffer(rewriter, loc, adaptor.getSource());
  ResultBuffer result = allocateResult(rewriter, loc, kernelSet, type, sizes);
  std::string signsText;
  llvm::raw_string_ostream(signsText) << op.getSignsAttr();
  bool signsInMemory = adaptor.getSignValues() != nullptr;

  // As [outer, axis, inner]: the item is a run of the axis in one `outer`.
  IndexMath math(rewriter, loc);
  Value outer = math.constant(1);
  for (int64_t dim = 0; dim < axis; ++dim)
    outer = math.mul(outer, sizes[dim]);
  requireSize(rewriter, loc,
              Twine("rotate: rest of dimension ") + Twine(axis) +
                  " after runs of " + Twine(size),
              math.rem(sizes[axis], size), math.constant(0));
  Value runs = math.div(sizes[axis], size);
  int64_t inner = 1;
  for (int64_t dim = axis + 1; dim < type.getRank(); ++dim) {
    if (type.isDynamicDim(dim))
      return op.emitOpError("expects static extents inside the rotated axis ")
             << axis << " on the CPU target, but dimension " << dim
             << " is dynamic; rotate an inner axis or give its extent";
    inner *= type.getDimSize(dim);
  }

  SmallVector<Value> args{source, result.flat};
  if (signsInMemory)
    args.push_back(inputBuffer(rewriter, loc, adaptor.getSignValues()));
  SmallVector<Type> argTypes;
  for (Value arg : args)
    argTypes.push_back(arg.getType());
  bool inverse = op.getInverse();
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_rotate",
      kernelKey("rotate", type.getElementType(), size, inner, signsText,
                signsInMemory, inverse),
      argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        IRValueBuilder outside(builder, loc);
        Signs signs{op.getSigns().value_or(ArrayRef<int8_t>()),
                    signsInMemory ? args[2] : Value()};
        Value signBits = signs.lanes(outside, size);
        int64_t alignment =
            alignmentOf(kernelSet.bufferAlignment(), size, size,
                        type.getElementType().getIntOrFloatBitWidth());
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &body, Value item) {
          IRValueBuilder b(body, loc);
          IndexMath at(body, loc);
          Value start = at.mul(item, size * inner);
          if (innermost) {
            rotateRun(b, args[0], args[1], start, size, signBits, inverse,
                      alignment);
            return;
          }
          Value stride = at.constant(inner);
          int64_t fullCols = inner / kColumnLanes * kColumnLanes;
          forRange(body, loc, at.constant(0), at.constant(fullCols),
                   kColumnLanes, [&](OpBuilder &cols, Value col) {
                     IRValueBuilder lanes(cols, loc);
                     IndexMath in(cols, loc);
                     rotateColumns(lanes, args[0], args[1], in.add(start, col),
                                   stride, size, kColumnLanes, signBits,
                                   inverse);
                   });
          if (fullCols != inner)
            rotateColumns(b, args[0], args[1], at.add(start, fullCols), stride,
                          size, inner - fullCols, signBits, inverse);
        });
      });
  kernelSet.launch(rewriter, loc, kernel, math.mul(outer, runs),
                   grainFor(math, math.constant(size * inner)), args);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void kernels::populateRotateKernel(RewritePatternSet &patterns,
                                   const TypeConverter &converter,
                                   KernelSet &kernelSet) {
  patterns.add<LowerRotate>(converter, patterns.getContext(), kernelSet);
}
