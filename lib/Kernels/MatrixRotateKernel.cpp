//===-- MatrixRotateKernel.cpp - Block rotation by a matrix ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotateSigns.h"
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/SizeChecks.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// Columns rotated side by side when the axis is not innermost.
static constexpr int64_t kColumnLanes = 16;

namespace {

struct LowerMatrixRotate : KernelPattern<RotateOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(RotateOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Value prepareMatrix(OpBuilder &builder, RotateOp op, Value matrix,
                      Value signs) const;
};

} // namespace

/// The matrix that a run, as a row vector, is multiplied by: with the signs,
/// transposed for an inverse (rotate_c4).
Value LowerMatrixRotate::prepareMatrix(OpBuilder &builder, RotateOp op,
                                       Value matrix, Value signs) const {
  Location loc = op.getLoc();
  int64_t size = op.getSize();
  bool inverse = op.getInverse();
  IndexMath math(builder, loc);
  Value prepared = allocateFlat(builder, loc, builder.getF32Type(),
                                math.constant(size * size));
  KernelArgs args;
  args.add(matrix);
  args.add(prepared);
  auto signsArg = args.add(signs);
  std::string signsText;
  llvm::raw_string_ostream(signsText) << op.getSignsAttr();
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_rotation_matrix",
      kernelKey("rotation_matrix", size, signsText, signsArg.has_value(),
                inverse),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        IRValueBuilder outside(builder, loc);
        Signs signs{op.getSigns().value_or(ArrayRef<int8_t>()),
                    signsArg ? args[*signsArg] : Value()};
        Value signBits = signs.lanes(outside, size);
        IndexMath bounds(builder, loc);
        Value first = bounds.constant(0), last = bounds.constant(size);
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &rows, Value i) {
          forRange(rows, loc, first, last, 1, [&](OpBuilder &inner, Value j) {
            IRValueBuilder b(inner, loc);
            IndexMath at(inner, loc);
            Value row = inverse ? j : i, col = inverse ? i : j;
            Value entry = loadReal(b, args[0], at.add(at.mul(row, size), col));
            // A sign belongs to a row of the matrix as it was given.
            if (signBits)
              entry = flip(b, entry,
                           vector::ExtractOp::create(inner, loc, signBits,
                                                     OpFoldResult(row)));
            storeScalarCode(b, b.asInt(entry), args[1],
                            at.add(at.mul(i, size), j));
          });
        });
      });
  kernelSet.launch(builder, loc, kernel, math.constant(size),
                   math.constant(size), args.values);
  return prepared;
}

/// Sums over i of x[i] * matrix row i, for one run of neighbours.
static void multiplyRun(IRValueBuilder &b, Value source, Value result,
                        Value matrix, Value index, int64_t size) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  IndexMath math(builder, loc);
  auto lanes = VectorType::get({size}, builder.getF32Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(lanes));
  auto sum = scf::ForOp::create(
      builder, loc, math.constant(0), math.constant(size), math.constant(1),
      zero, [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
        IRValueBuilder in(inner, loc);
        IndexMath at(inner, loc);
        Value x = loadReal(in, source, at.add(index, i));
        Value row = loadReals(in, matrix, at.mul(i, size), size, size);
        scf::YieldOp::create(inner, loc, in.fadd(sofar[0], in.fmul(row, x)));
      });
  storeReals(b, sum.getResult(0), result, index, size);
}

/// The same for `valid` neighbouring columns of rows that lie `stride` apart.
static void multiplyColumns(IRValueBuilder &b, Value source, Value result,
                            Value matrix, Value index, int64_t stride,
                            int64_t size, int64_t valid) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  IndexMath math(builder, loc);
  auto lanes = VectorType::get({kColumnLanes}, builder.getF32Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(lanes));
  Value first = math.constant(0), last = math.constant(size);
  forRange(builder, loc, first, last, 1, [&](OpBuilder &rows, Value j) {
    IndexMath out(rows, loc);
    auto sum = scf::ForOp::create(
        rows, loc, first, last, out.constant(1), zero,
        [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
          IRValueBuilder in(inner, loc);
          IndexMath at(inner, loc);
          Value x = loadReals(in, source, at.add(index, at.mul(i, stride)),
                              kColumnLanes, valid);
          Value entry = loadReal(in, matrix, at.add(at.mul(i, size), j));
          scf::YieldOp::create(inner, loc,
                               in.fadd(sofar[0], in.fmul(x, entry)));
        });
    IRValueBuilder outer(rows, loc);
    storeReals(outer, sum.getResult(0), result,
               out.add(index, out.mul(j, stride)), valid);
  });
}

LogicalResult
LowerMatrixRotate::matchAndRewrite(RotateOp op, OpAdaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  if (!op.getMatrix())
    return rewriter.notifyMatchFailure(op, "by Hadamard's matrix");
  Location loc = op.getLoc();
  auto type = op.getSource().getType();
  int64_t size = op.getSize(), axis = op.getRotationAxis();
  int64_t inner = 1;
  for (int64_t dim = axis + 1; dim < type.getRank(); ++dim) {
    if (type.isDynamicDim(dim))
      return op.emitOpError("expects static extents inside the rotated axis ")
             << axis << ", but dimension " << dim
             << " is dynamic; rotate an inner axis or give its extent";
    inner *= type.getDimSize(dim);
  }
  SmallVector<Value> sizes = getSizes(rewriter, loc, adaptor.getSource(), type);
  IndexMath math(rewriter, loc);
  requireSize(rewriter, loc,
              Twine("rotate: rest of dimension ") + Twine(axis) +
                  " after runs of " + Twine(size),
              math.rem(sizes[axis], size), math.constant(0));
  Value runs = math.div(sizes[axis], size);
  for (int64_t dim = 0; dim < axis; ++dim)
    runs = math.mul(runs, sizes[dim]);

  Value signs = adaptor.getSignValues()
                    ? inputBuffer(rewriter, loc, adaptor.getSignValues())
                    : Value();
  Value matrix = prepareMatrix(
      rewriter, op, inputBuffer(rewriter, loc, adaptor.getMatrix()), signs);
  ResultBuffer result = allocateResult(rewriter, loc, kernelSet, type, sizes);
  KernelArgs args;
  args.add(inputBuffer(rewriter, loc, adaptor.getSource()));
  args.add(result.flat);
  args.add(matrix);
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_matrix_rotate",
      kernelKey("matrix_rotate", type.getElementType(), size, inner),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &body, Value item) {
          IRValueBuilder b(body, loc);
          IndexMath at(body, loc);
          Value start = at.mul(item, size * inner);
          if (inner == 1)
            return multiplyRun(b, args[0], args[1], args[2], start, size);
          int64_t fullCols = inner / kColumnLanes * kColumnLanes;
          forRange(body, loc, at.constant(0), at.constant(fullCols),
                   kColumnLanes, [&](OpBuilder &cols, Value col) {
                     IRValueBuilder lanes(cols, loc);
                     IndexMath in(cols, loc);
                     multiplyColumns(lanes, args[0], args[1], args[2],
                                     in.add(start, col), inner, size,
                                     kColumnLanes);
                   });
          if (fullCols != inner)
            multiplyColumns(b, args[0], args[1], args[2],
                            at.add(start, fullCols), inner, size,
                            inner - fullCols);
        });
      });
  kernelSet.launch(rewriter, loc, kernel, runs,
                   grainFor(math, math.constant(size * size * inner)),
                   args.values);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void kernels::populateMatrixRotateKernel(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         KernelSet &kernelSet) {
  patterns.add<LowerMatrixRotate>(converter, patterns.getContext(), kernelSet);
}
