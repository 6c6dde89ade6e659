//===-- MatmulLowering.cpp - scaled_matmul to a schedule's kernel ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulLowering.h"

#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/ScaleResults.h"
#include "blockscale/Kernels/SizeChecks.h"
#include "blockscale/Target/NVIDIA/Matmul.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::kernels;

namespace {

struct LowerScaledMatmul : OpConversionPattern<ScaledMatmulOp> {
  LowerScaledMatmul(const TypeConverter &converter, MLIRContext *context,
                    GPUKernelSet &kernelSet)
      : OpConversionPattern(converter, context), kernelSet(kernelSet),
        schedules(matmulSchedules(kernelSet.getChip())) {}

  LogicalResult
  matchAndRewrite(ScaledMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  const MatmulSchedule &choose(const MatmulProblem &problem) const;
  /// The tiles of a schedule, or the one that the op asks for.
  FailureOr<SmallVector<MatmulVariant>>
  decide(ScaledMatmulOp op, const MatmulSchedule &schedule,
         const MatmulProblem &problem) const;

  /// What the result is quantized to, where the kernel of the product can do
  /// it.
  std::shared_ptr<ScaleResults>
  quantizationOf(ScaledMatmulOp op, const MatmulSchedule &schedule,
                 ArrayRef<MatmulVariant> variants) const;

  /// Makes the epilogue of `problem` take the largest magnitude of the result
  /// if a user of `op` wants it; the tensor, or null.
  Value takeAmax(ConversionPatternRewriter &rewriter, ScaledMatmulOp op,
                 const MatmulSchedule &schedule,
                 ArrayRef<MatmulVariant> variants,
                 MatmulProblem &problem) const;

  GPUKernelSet &kernelSet;
  std::vector<std::unique_ptr<MatmulSchedule>> schedules;
};

} // namespace

/// The buffer of a tensor as memory holds it; kernels see its address.
static Value deviceBuffer(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return bufferization::ToBufferOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
      tensor, /*read_only=*/true);
}

/// What happens to the accumulators, checked against `sizes` of the result.
static MatmulEpilogue makeEpilogue(OpBuilder &builder, ScaledMatmulOp op,
                                   ScaledMatmulOp::Adaptor adaptor,
                                   ArrayRef<Value> sizes) {
  Location loc = op.getLoc();
  MatmulEpilogue epilogue;
  epilogue.resultType = op.getResult().getType();
  epilogue.batchSizes.assign(sizes.begin(), sizes.end() - 2);
  for (Value scalar : {adaptor.getLhsTensorScale(), adaptor.getRhsTensorScale(),
                       adaptor.getAlpha()})
    if (scalar)
      epilogue.scalars.push_back(deviceBuffer(builder, loc, scalar));
  if (adaptor.getAcc()) {
    requireSizes(
        builder, loc, "scaled_matmul: acc",
        getSizes(builder, loc, adaptor.getAcc(), op.getAcc().getType()), sizes);
    epilogue.c = deviceBuffer(builder, loc, adaptor.getAcc());
  }
  if (!op.hasEpilogue())
    return epilogue;
  epilogue.region = &op.getEpilogue();
  for (auto [index, original] : llvm::enumerate(op.getEpilogueOperands())) {
    Value converted = adaptor.getEpilogueOperands()[index];
    auto type = cast<RankedTensorType>(original.getType());
    int64_t rank = type.getRank();
    epilogue.operands.push_back({deviceBuffer(builder, loc, converted), type});
    SmallVector<Value> operandSizes = getSizes(builder, loc, converted, type);
    for (int64_t dim = 0; dim < rank; ++dim)
      if (type.getDimSize(dim) != 1)
        requireSize(builder, loc,
                    "scaled_matmul: epilogue operand " + Twine(index) +
                        ", dimension " + Twine(dim),
                    operandSizes[dim], sizes[sizes.size() - rank + dim]);
  }
  return epilogue;
}

const MatmulSchedule &
LowerScaledMatmul::choose(const MatmulProblem &problem) const {
  for (const auto &schedule : schedules)
    if (schedule->isSupported(problem, kernelSet.getChip()))
      return *schedule;
  llvm_unreachable("the last schedule supports every problem");
}

FailureOr<SmallVector<MatmulVariant>>
LowerScaledMatmul::decide(ScaledMatmulOp op, const MatmulSchedule &schedule,
                          const MatmulProblem &problem) const {
  const Chip &chip = kernelSet.getChip();
  // Its form is the dialect's to check.
  auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(kTileAttr);
  if (!sizes)
    return schedule.decide(problem, chip);
  MatmulTile tile{sizes[0], sizes[1], sizes[2], sizes[3]};
  if (auto operands = op->getAttrOfType<StringAttr>(kOperandsAttr))
    tile.operands = operands.str();
  SmallVector<StringRef> others = schedule.otherOperands(problem);
  if (!tile.operands.empty() && !llvm::is_contained(others, tile.operands)) {
    InFlightDiagnostic error = op.emitOpError("expects ");
    if (others.empty())
      error << "no " << kOperandsAttr << ": on " << chip.name
            << " this product has one kind";
    else
      error << kOperandsAttr << " = \"" << llvm::join(others, "\" or \"")
            << "\"";
    return error << ", but got '" << tile.operands << "'";
  }
  std::string why;
  if (!schedule.accepts(problem, chip, tile, why))
    return op.emitOpError("cannot use ") << tile.text() << ": " << why;
  return SmallVector<MatmulVariant>{{tile, std::nullopt}};
}

static std::string describe(ArrayRef<MatmulVariant> variants) {
  std::string text;
  for (const MatmulVariant &variant : variants) {
    text += (text.empty() ? "" : ", else ") + variant.tile.text();
    if (variant.maxRows)
      text += " up to " + std::to_string(*variant.maxRows) + " rows";
  }
  return text;
}

static void launch(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                   const MatmulSchedule &schedule, const MatmulProblem &problem,
                   ArrayRef<MatmulVariant> variants) {
  assert(!variants.back().maxRows && "the last variant has no limit");
  const MatmulVariant &first = variants.front();
  if (!first.maxRows)
    return schedule.generate(builder, loc, kernelSet, problem, first.tile);
  IndexMath math(builder, loc);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule,
                            problem.rows, math.constant(*first.maxRows));
  scf::IfOp::create(
      builder, loc, isFirst,
      [&](OpBuilder &inner, Location) {
        schedule.generate(inner, loc, kernelSet, problem, first.tile);
        scf::YieldOp::create(inner, loc);
      },
      [&](OpBuilder &inner, Location) {
        launch(inner, loc, kernelSet, schedule, problem, variants.drop_front());
        scf::YieldOp::create(inner, loc);
      });
}

/// Whether quantizing in the epilogue is no slower than by a kernel of its own.
/// It takes registers, and with them the second block of a large tile from a
/// multiprocessor whose shared memory holds two. Where each has one tile at
/// most, nothing is lost.
static bool quantizesCheaply(const Chip &chip, const MatmulTile &tile,
                             RankedTensorType result) {
  constexpr int kTwoLargeBlocks = 128 * 1024;
  if (chip.sharedBytes < kTwoLargeBlocks)
    return true;
  if (!result.hasStaticShape())
    return false;
  ArrayRef<int64_t> shape = result.getShape();
  int64_t tiles = llvm::divideCeil(shape.back(), tile.n) *
                  llvm::divideCeil(shape.drop_back().back(), tile.m);
  for (int64_t batch : shape.drop_back(2))
    tiles *= batch;
  return tiles <= chip.multiprocessors;
}

std::shared_ptr<ScaleResults>
LowerScaledMatmul::quantizationOf(ScaledMatmulOp op,
                                  const MatmulSchedule &schedule,
                                  ArrayRef<MatmulVariant> variants) const {
  for (Operation *user : op->getUsers()) {
    auto scale = dyn_cast<ScaleOp>(user);
    if (!scale || scale->getBlock() != op->getBlock())
      continue;
    const Format &format = scale.getFormat().getValue();
    if (format.blockRows != 1 ||
        !llvm::all_of(variants, [&](const MatmulVariant &variant) {
          return schedule.quantizes(variant.tile, format.blockCols) &&
                 quantizesCheaply(kernelSet.getChip(), variant.tile,
                                  op.getResult().getType());
        }))
      continue;
    // The largest magnitude of the result is not known before all of it is.
    Value amax = scale.getAmax();
    if (format.hasTensorScale && !amax)
      continue;
    if (amax && !isDefinedBefore(amax, op))
      continue;
    return std::make_shared<ScaleResults>(scale, op);
  }
  return nullptr;
}

/// The users of a product that need its largest magnitude.
static SmallVector<Operation *> amaxUsers(ScaledMatmulOp op) {
  SmallVector<Operation *> users;
  for (Operation *user : op->getUsers()) {
    auto scale = dyn_cast<ScaleOp>(user);
    bool wants =
        scale ? scale.getFormat().getValue().hasTensorScale && !scale.getAmax()
              : isa<AmaxOp>(user);
    if (wants && user->getBlock() == op->getBlock())
      users.push_back(user);
  }
  return users;
}

Value LowerScaledMatmul::takeAmax(ConversionPatternRewriter &rewriter,
                                  ScaledMatmulOp op,
                                  const MatmulSchedule &schedule,
                                  ArrayRef<MatmulVariant> variants,
                                  MatmulProblem &problem) const {
  bool canTake = llvm::all_of(variants, [&](const MatmulVariant &variant) {
    return schedule.quantizes(variant.tile, /*block=*/1);
  });
  if (!canTake || amaxUsers(op).empty())
    return {};
  ResultBuffer amax =
      allocateResult(rewriter, op.getLoc(), kernelSet,
                     RankedTensorType::get({}, rewriter.getF32Type()), {});
  kernelSet.fillZero(rewriter, op.getLoc(), amax.flat);
  problem.epilogue.amax = amax.flat;
  return amax.asTensor(rewriter, op.getLoc());
}

LogicalResult
LowerScaledMatmul::matchAndRewrite(ScaledMatmulOp op, OpAdaptor adaptor,
                                   ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto lhsType = op.getLhs().getType(), rhsType = op.getRhs().getType();
  MatmulProblem problem;
  auto bufferOf = [&](Value tensor) {
    return deviceBuffer(rewriter, loc, tensor);
  };
  problem.lhs = {lhsOperand(rewriter, op, adaptor, bufferOf)};
  problem.rhs = {rhsOperand(rewriter, op, adaptor, bufferOf)};
  Extents extentsA = getExtents(rewriter, loc, adaptor.getLhs(), lhsType);
  Extents extentsB = getExtents(rewriter, loc, adaptor.getRhs(), rhsType);
  SmallVector<Value> sizes = productSizes(rewriter, op, adaptor);
  problem.batch = extentsA.batch;
  problem.rows = extentsA.rows;
  problem.cols = extentsB.rows;
  problem.depth = op.getContraction();
  problem.rhsShared = op.isRhsShared();
  problem.epilogue = makeEpilogue(rewriter, op, adaptor, sizes);

  const MatmulSchedule &schedule = choose(problem);
  FailureOr<SmallVector<MatmulVariant>> variants =
      decide(op, schedule, problem);
  if (failed(variants))
    return failure();
  InFlightDiagnostic remark = op.emitRemark()
                              << "scaled_matmul " << problem.lhs.text() << " x "
                              << problem.rhs.text() << ": "
                              << schedule.describe(problem, kernelSet.getChip(),
                                                   *variants)
                              << ", " << describe(*variants);
  auto quantized = quantizationOf(op, schedule, *variants);
  if (quantized) {
    ScaleOp scale = quantized->getScale();
    Value amax =
        scale.getAmax() ? rewriter.getRemappedValue(scale.getAmax()) : Value();
    quantized->allocate(rewriter, loc, kernelSet, sizes,
                        amax ? inputBuffer(rewriter, loc, amax) : Value());
    problem.epilogue.quantized = quantized;
    problem.epilogue.kernelSet = &kernelSet;
    remark << ", its result quantized to "
           << scale.getFormat().getValue().text() << " in the epilogue";
  }
  Value amax = takeAmax(rewriter, op, schedule, *variants, problem);
  if (amax)
    remark << ", its amax taken in the epilogue";
  auto resultType = op.getResult().getType();
  Value result;
  bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return !(quantized && quantized->contains(user)) &&
           !(amax && isa<AmaxOp>(user));
  });
  if (!isRead && quantized) {
    result = emptyTensor(rewriter, loc, resultType, sizes);
    launch(rewriter, loc, kernelSet, schedule, problem, *variants);
  } else {
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet, resultType, sizes);
    problem.epilogue.out = buffer.flat;
    launch(rewriter, loc, kernelSet, schedule, problem, *variants);
    result = buffer.asTensor(rewriter, loc);
  }
  if (quantized)
    quantized->replace(rewriter);
  if (amax)
    for (Operation *user : amaxUsers(op)) {
      if (isa<AmaxOp>(user))
        rewriter.replaceOp(user, amax);
      else
        rewriter.modifyOpInPlace(
            user, [&] { cast<ScaleOp>(user).getAmaxMutable().assign(amax); });
    }
  rewriter.replaceOp(op, result);
  return success();
}

void nvidia::populateMatmulLowering(RewritePatternSet &patterns,
                                    const TypeConverter &converter,
                                    GPUKernelSet &kernelSet) {
  patterns.add<LowerScaledMatmul>(converter, patterns.getContext(), kernelSet);
}
