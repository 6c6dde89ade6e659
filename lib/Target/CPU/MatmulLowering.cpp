//===-- MatmulLowering.cpp - Launches of the matmul kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulKernel.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/SizeChecks.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;
using namespace blockscale::kernels;

namespace {

struct LowerScaledMatmul : KernelPattern<ScaledMatmulOp> {
  LowerScaledMatmul(const TypeConverter &converter, MLIRContext *context,
                    KernelSet &kernelSet, unsigned vectorBits, bool useFMA)
      : KernelPattern(converter, context, kernelSet), vectorBits(vectorBits),
        useFMA(useFMA) {}

  LogicalResult
  matchAndRewrite(ScaledMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  unsigned vectorBits;
  bool useFMA;
};

} // namespace

/// f64(gA) * f64(gB) * f64(alpha), those that exist (rule matmul_c3).
static Value totalAlpha(OpBuilder &builder, Location loc, ValueRange scalars) {
  Value total =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(1.0));
  for (Value scalar : scalars) {
    if (!scalar)
      continue;
    Value value = tensor::ExtractOp::create(builder, loc, scalar, ValueRange());
    value = arith::ExtFOp::create(builder, loc, builder.getF64Type(), value);
    total = arith::MulFOp::create(builder, loc, total, value);
  }
  return total;
}

/// Offset of batch `batch` of the result in an operand that broadcasts to it.
static Value operandBase(OpBuilder &builder, Location loc, Value batch,
                         ArrayRef<Value> resultSizes,
                         ArrayRef<Value> operandSizes, RankedTensorType type) {
  IndexMath math(builder, loc);
  int64_t resultBatchDims = static_cast<int64_t>(resultSizes.size()) - 2;
  int64_t missing = static_cast<int64_t>(resultSizes.size()) - type.getRank();
  Value base = math.constant(0);
  Value stride = math.constant(1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t resultDim = dim + missing;
    if (resultDim < resultBatchDims && type.getDimSize(dim) != 1) {
      // batch = (... * size(d) + index(d)) * sizes after d + ...
      Value after = math.constant(1);
      for (int64_t d = resultDim + 1; d < resultBatchDims; ++d)
        after = math.mul(after, resultSizes[d]);
      Value index = math.rem(math.div(batch, after), resultSizes[resultDim]);
      base = math.add(base, math.mul(index, stride));
    }
    stride = math.mul(stride, operandSizes[dim]);
  }
  return base;
}

LogicalResult
LowerScaledMatmul::matchAndRewrite(ScaledMatmulOp op, OpAdaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  if (op->hasAttr(kTileAttr))
    op.emitRemark() << kTileAttr << " has no effect on the CPU target";
  auto lhsType = op.getLhs().getType(), rhsType = op.getRhs().getType();
  auto bufferOf = [&](Value tensor) {
    return inputBuffer(rewriter, loc, tensor);
  };
  MatmulSide lhs{lhsOperand(rewriter, op, adaptor, bufferOf)};
  MatmulSide rhs{rhsOperand(rewriter, op, adaptor, bufferOf)};

  IndexMath math(rewriter, loc);
  Extents extentsA = getExtents(rewriter, loc, adaptor.getLhs(), lhsType);
  Extents extentsB = getExtents(rewriter, loc, adaptor.getRhs(), rhsType);
  SmallVector<Value> sizes = productSizes(rewriter, op, adaptor);
  ResultBuffer result =
      allocateResult(rewriter, loc, kernelSet, op.getResult().getType(), sizes);

  MatmulEpilogue epilogue;
  epilogue.alpha =
      totalAlpha(rewriter, loc,
                 {adaptor.getLhsTensorScale(), adaptor.getRhsTensorScale(),
                  adaptor.getAlpha()});
  epilogue.out = result.flat;
  if (adaptor.getAcc()) {
    requireSizes(
        rewriter, loc, "scaled_matmul: acc",
        getSizes(rewriter, loc, adaptor.getAcc(), op.getAcc().getType()),
        sizes);
    epilogue.c = inputBuffer(rewriter, loc, adaptor.getAcc());
  }
  SmallVector<SmallVector<Value>> operandSizes;
  if (op.hasEpilogue()) {
    epilogue.region = &op.getEpilogue();
    for (auto [original, converted] : llvm::zip_equal(
             op.getEpilogueOperands(), adaptor.getEpilogueOperands())) {
      auto type = cast<RankedTensorType>(original.getType());
      int64_t rank = type.getRank();
      MatmulEpilogue::Operand operand;
      operand.buffer = inputBuffer(rewriter, loc, converted);
      operand.type = type;
      operand.variesWithCol = rank >= 1 && type.getDimSize(rank - 1) != 1;
      operand.variesWithRow = rank >= 2 && type.getDimSize(rank - 2) != 1;
      epilogue.operands.push_back(operand);
      operandSizes.push_back(getSizes(rewriter, loc, converted, type));
      for (int64_t dim = 0; dim < rank; ++dim)
        if (type.getDimSize(dim) != 1)
          requireSize(rewriter, loc,
                      "scaled_matmul: epilogue operand " +
                          Twine(epilogue.operands.size() - 1) + ", dimension " +
                          Twine(dim),
                      operandSizes.back()[dim],
                      sizes[sizes.size() - rank + dim]);
    }
  }

  MatmulPlan plan = MatmulPlan::make(lhs, rhs, vectorBits, useFMA);
  func::FuncOp panel = panelKernel(kernelSet, loc, lhs);
  func::FuncOp matmul = matmulKernel(kernelSet, loc, plan, rhs, epilogue);
  Value chunk = math.min(extentsA.rows, math.constant(kChunkRowsA));
  Value panelA = allocateFlat(rewriter, loc, rewriter.getF64Type(),
                              math.mul(chunk, plan.paddedK));
  forRange(rewriter, loc, math.constant(0), extentsA.batch, 1,
           [&](OpBuilder &batchLoop, Value batch) {
             IndexMath inBatch(batchLoop, loc);
             Value outBase =
                 inBatch.mul(inBatch.mul(batch, extentsA.rows), extentsB.rows);
             SmallVector<Value> bases;
             for (auto [operand, operandSize] :
                  llvm::zip_equal(epilogue.operands, operandSizes))
               bases.push_back(operandBase(batchLoop, loc, batch, sizes,
                                           operandSize, operand.type));
             Value batchB = op.isRhsShared() ? inBatch.constant(0) : batch;
             forRange(
                 batchLoop, loc, inBatch.constant(0), extentsA.rows,
                 kChunkRowsA, [&](OpBuilder &builder, Value firstRow) {
                   IndexMath at(builder, loc);
                   Value rows = at.min(at.sub(extentsA.rows, firstRow),
                                       at.constant(kChunkRowsA));
                   SmallVector<Value> panelArgs{panelA, batch, extentsA.rows,
                                                firstRow};
                   llvm::append_range(panelArgs, lhs.buffers);
                   kernelSet.launch(builder, loc, panel, rows,
                                    grainFor(at, at.constant(plan.paddedK)),
                                    panelArgs);
                   SmallVector<Value> args{panelA, rows, firstRow, batchB,
                                           extentsB.rows};
                   llvm::append_range(args, rhs.buffers);
                   llvm::append_range(args, epilogue.arguments(outBase, bases));
                   // A tile costs rows * 32 * K multiplications and the
                   // dequantization.
                   Value work = at.mul(at.add(rows, 8), 2 * plan.paddedK);
                   kernelSet.launch(builder, loc, matmul,
                                    at.ceilDiv(extentsB.rows, kTileRowsB),
                                    grainFor(at, work), args);
                 });
           });
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void cpu::populateMatmulKernel(RewritePatternSet &patterns,
                               const TypeConverter &converter,
                               KernelSet &kernelSet, unsigned vectorBits,
                               bool useFMA) {
  patterns.add<LowerScaledMatmul>(converter, patterns.getContext(), kernelSet,
                                  vectorBits, useFMA);
}
