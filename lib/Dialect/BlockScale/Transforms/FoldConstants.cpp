//===-- FoldConstants.cpp - Quantize constants at compile time ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantTensors.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"
#include "blockscale/Numerics/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Threading.h"

#include <cstring>

namespace blockscale {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

/// Rows of a tensor that are evaluated together.
struct Part {
  int64_t firstRow, rows;
};

/// Evaluates ops on the host, in parallel over rows.
class Evaluator {
public:
  explicit Evaluator(MLIRContext *context) : context(context) {}

  reference::Scales scale(ScaleOp op, const std::vector<float> &x,
                          std::optional<float> amax);
  std::vector<uint8_t> quantize(FormatAttr format, Rounding rounding,
                                uint64_t seed, const reference::Scales &scales,
                                const std::vector<float> &x,
                                RankedTensorType type);
  std::vector<float> dequantize(FormatAttr format,
                                const reference::Scales &scales,
                                ArrayRef<uint8_t> codes, RankedTensorType type);

private:
  MLIRContext *context;
};

struct FoldConstantsPass
    : blockscale::impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;
  void runOnOperation() override;

private:
  void fold(ScaleOp op);
  void fold(QuantizeOp op);
  void fold(DequantizeOp op);
  void fold(FakeQuantizeOp op);
  void fold(RelayoutOp op);
  void fold(linalg::TransposeOp op);
  void replace(Operation *op, ArrayRef<ElementsAttr> values);
};

} // namespace

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static reference::Extents extentsOf(RankedTensorType type) {
  reference::Extents extents;
  ArrayRef<int64_t> shape = type.getShape();
  extents.cols = shape.back();
  if (shape.size() >= 2)
    extents.rows = shape[shape.size() - 2];
  for (int64_t extent : shape.drop_back(std::min<size_t>(2, shape.size())))
    extents.batch *= extent;
  return extents;
}

/// Whole rows of blocks, some 64 Ki values each. Blocks of several rows end
/// with their batch.
static std::vector<Part> partsOf(const Format &format,
                                 const reference::Extents &extents) {
  int64_t rowsPerBatch =
      format.blockRows == 1 ? extents.batch * extents.rows : extents.rows;
  int64_t batches = format.blockRows == 1 ? 1 : extents.batch;
  int64_t step = std::max<int64_t>(1, (1 << 16) / extents.cols);
  step = (step + format.blockRows - 1) / format.blockRows * format.blockRows;
  std::vector<Part> parts;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t row = 0; row < rowsPerBatch; row += step)
      parts.push_back(
          {batch * rowsPerBatch + row, std::min(step, rowsPerBatch - row)});
  return parts;
}

/// Index of the first scale of `part`.
static int64_t firstScale(const Format &format,
                          const reference::Extents &extents, const Part &part) {
  reference::BlockGrid grid = reference::blockGridOf(format, extents);
  if (format.blockRows == 1)
    return part.firstRow * grid.scaleCols;
  int64_t batch = part.firstRow / extents.rows;
  int64_t row = part.firstRow % extents.rows;
  return (batch * grid.scaleRows + row / format.blockRows) * grid.scaleCols;
}

/// The scales of `part` alone.
static reference::Scales sliceScales(const Format &format,
                                     const reference::Extents &extents,
                                     const reference::Scales &scales,
                                     const Part &part) {
  reference::Extents partExtents{1, part.rows, extents.cols};
  reference::BlockGrid grid = reference::blockGridOf(format, partExtents);
  int64_t first = firstScale(format, extents, part);
  int64_t count = grid.scaleRows * grid.scaleCols;
  auto slice = [&](const auto &all) {
    std::decay_t<decltype(all)> some;
    if (!all.empty())
      some.assign(all.begin() + first, all.begin() + first + count);
    return some;
  };
  return {slice(scales.codes), scales.tensorScale, slice(scales.zeros),
          slice(scales.encodeFactors)};
}

reference::Scales Evaluator::scale(ScaleOp op, const std::vector<float> &x,
                                   std::optional<float> amax) {
  const Format &format = op.getFormat().getValue();
  const ScaleRule &rule = op.getRule().getValue();
  reference::Extents extents = extentsOf(op.getSource().getType());
  if (!amax && format.hasTensorScale)
    amax = reference::amax(x.data(), x.size());
  std::vector<Part> parts = partsOf(format, extents);
  std::vector<reference::Scales> results(parts.size());
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    results[i] = reference::scale(format, rule,
                                  x.data() + parts[i].firstRow * extents.cols,
                                  {1, parts[i].rows, extents.cols}, amax);
  });
  reference::Scales all;
  for (reference::Scales &part : results) {
    all.tensorScale = part.tensorScale;
    llvm::append_range(all.codes, part.codes);
    llvm::append_range(all.zeros, part.zeros);
    llvm::append_range(all.encodeFactors, part.encodeFactors);
  }
  return all;
}

std::vector<uint8_t> Evaluator::quantize(FormatAttr formatAttr,
                                         Rounding rounding, uint64_t seed,
                                         const reference::Scales &scales,
                                         const std::vector<float> &x,
                                         RankedTensorType type) {
  const Format &format = formatAttr.getValue();
  reference::Extents extents = extentsOf(type);
  // Random bits depend on the index in the whole tensor.
  if (rounding == Rounding::Stochastic)
    return reference::quantize(format, scales, x.data(), extents, rounding,
                               seed);
  std::vector<Part> parts = partsOf(format, extents);
  int64_t paddedCols = formatAttr.getPaddedExtent(extents.cols);
  std::vector<uint8_t> codes(extents.batch * extents.rows * paddedCols);
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    const Part &part = parts[i];
    std::vector<uint8_t> some =
        reference::quantize(format, sliceScales(format, extents, scales, part),
                            x.data() + part.firstRow * extents.cols,
                            {1, part.rows, extents.cols}, rounding, seed);
    std::memcpy(codes.data() + part.firstRow * paddedCols, some.data(),
                some.size());
  });
  return codes;
}

std::vector<float> Evaluator::dequantize(FormatAttr formatAttr,
                                         const reference::Scales &scales,
                                         ArrayRef<uint8_t> codes,
                                         RankedTensorType type) {
  const Format &format = formatAttr.getValue();
  reference::Extents extents = extentsOf(type);
  std::vector<Part> parts = partsOf(format, extents);
  std::vector<float> values(codes.size());
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    const Part &part = parts[i];
    int64_t first = part.firstRow * extents.cols;
    std::vector<float> some = reference::dequantize(
        format, sliceScales(format, extents, scales, part),
        codes.data() + first, {1, part.rows, extents.cols});
    std::memcpy(values.data() + first, some.data(),
                some.size() * sizeof(float));
  });
  return values;
}

//===----------------------------------------------------------------------===//
// Constants in and out
//===----------------------------------------------------------------------===//

static std::optional<std::vector<float>> floatsOf(Value value) {
  ElementsAttr constant = getConstantTensor(value);
  return constant ? readFloats(constant) : std::nullopt;
}

/// Codes of 1, 2 or 4 bytes as integers; nullopt if `value` is no constant.
static std::optional<std::vector<uint32_t>> codesOf(Value value) {
  ElementsAttr constant = getConstantTensor(value);
  if (!constant)
    return std::nullopt;
  int64_t count = constant.getNumElements();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant);
      dense && dense.isSplat()) {
    uint32_t code = 0;
    std::memcpy(&code, dense.getRawData().data(), dense.getRawData().size());
    return std::vector<uint32_t>(count, code);
  }
  auto bytes = getBytes(constant);
  int64_t width = (constant.getElementType().getIntOrFloatBitWidth() + 7) / 8;
  if (!bytes || int64_t(bytes->size()) != count * width)
    return std::nullopt;
  std::vector<uint32_t> codes(count);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(&codes[i], bytes->data() + i * width, width);
  return codes;
}

/// A constant of integers of the width of `type`'s elements.
static ElementsAttr makeCodes(RankedTensorType type, ArrayRef<uint32_t> codes,
                              StringRef name) {
  int64_t width = (type.getElementTypeBitWidth() + 7) / 8;
  std::vector<char> bytes(codes.size() * width);
  for (auto [i, code] : llvm::enumerate(codes))
    std::memcpy(bytes.data() + i * width, &code, width);
  return makeConstant(type, bytes, name);
}

/// The scales that a quantize or dequantize reads; nullopt unless all of them
/// are constant.
static std::optional<reference::Scales>
readScales(Value scales, Value tensorScale, Value zeros, Value encode) {
  reference::Scales result;
  if (scales) {
    auto codes = codesOf(scales);
    if (!codes)
      return std::nullopt;
    result.codes = std::move(*codes);
  }
  if (tensorScale) {
    auto value = floatsOf(tensorScale);
    if (!value)
      return std::nullopt;
    result.tensorScale = value->front();
  }
  if (zeros) {
    auto codes = codesOf(zeros);
    if (!codes)
      return std::nullopt;
    result.zeros = std::move(*codes);
  }
  if (encode) {
    auto factors = floatsOf(encode);
    if (!factors)
      return std::nullopt;
    result.encodeFactors = std::move(*factors);
  }
  return result;
}

/// The seed, 0 if there is none; nullopt if it is not constant.
static std::optional<uint64_t> readSeed(Value seed) {
  if (!seed)
    return 0;
  auto constant =
      dyn_cast_or_null<DenseIntElementsAttr>(getConstantTensor(seed));
  if (!constant)
    return std::nullopt;
  return *constant.value_begin<uint64_t>();
}

void FoldConstantsPass::replace(Operation *op, ArrayRef<ElementsAttr> values) {
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (!result.use_empty())
      result.replaceAllUsesWith(
          arith::ConstantOp::create(builder, op->getLoc(), value));
  op->erase();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void FoldConstantsPass::fold(ScaleOp op) {
  auto x = floatsOf(op.getSource());
  std::optional<float> amax;
  if (op.getAmax()) {
    auto held = floatsOf(op.getAmax());
    if (!held)
      return;
    amax = held->front();
  }
  if (!x)
    return;
  reference::Scales scales = Evaluator(&getContext()).scale(op, *x, amax);
  SmallVector<ElementsAttr> values = {
      makeCodes(op.getScales().getType(), scales.codes, "scales")};
  if (op.getTensorScale())
    values.push_back(
        makeFloats(cast<RankedTensorType>(op.getTensorScale().getType()),
                   scales.tensorScale));
  if (op.getZeros())
    values.push_back(makeCodes(cast<RankedTensorType>(op.getZeros().getType()),
                               scales.zeros, "zeros"));
  if (op.getEncode())
    values.push_back(
        makeFloats(cast<RankedTensorType>(op.getEncode().getType()),
                   scales.encodeFactors));
  replace(op, values);
}

/// Codes of a byte each as a constant, also of types narrower than a byte,
/// which constants hold in a byte each.
static ElementsAttr makeElements(RankedTensorType type,
                                 ArrayRef<uint8_t> codes) {
  return makeConstant(
      type,
      ArrayRef(reinterpret_cast<const char *>(codes.data()), codes.size()),
      "elements");
}

void FoldConstantsPass::fold(QuantizeOp op) {
  auto seed = readSeed(op.getSeed());
  auto scales = readScales(op.getScales(), op.getTensorScale(), op.getZeros(),
                           op.getEncode());
  auto x = seed && scales ? floatsOf(op.getSource()) : std::nullopt;
  if (!x)
    return;
  std::vector<uint8_t> codes =
      Evaluator(&getContext())
          .quantize(op.getFormat(), op.getRounding(), *seed, *scales, *x,
                    op.getSource().getType());
  replace(op, makeElements(op.getElements().getType(), codes));
}

void FoldConstantsPass::fold(DequantizeOp op) {
  auto scales =
      readScales(op.getScales(), op.getTensorScale(), op.getZeros(), {});
  auto codes = scales ? codesOf(op.getElements()) : std::nullopt;
  if (!codes)
    return;
  std::vector<uint8_t> bytes(codes->begin(), codes->end());
  replace(op, makeFloats(op.getResult().getType(),
                         Evaluator(&getContext())
                             .dequantize(op.getFormat(), *scales, bytes,
                                         op.getElements().getType())));
}

void FoldConstantsPass::fold(FakeQuantizeOp op) {
  auto x = floatsOf(op.getSource());
  auto seed = readSeed(op.getSeed());
  std::optional<float> amax;
  if (op.getAmax()) {
    auto held = floatsOf(op.getAmax());
    if (!held)
      return;
    amax = held->front();
  }
  if (!x || !seed)
    return;
  const Format &format = op.getFormat().getValue();
  reference::Extents extents = extentsOf(op.getSource().getType());
  std::vector<float> result =
      reference::fakeQuantize(format, op.getRule().getValue(), x->data(),
                              extents, op.getRounding(), *seed, amax);
  if (op.getResidual())
    for (auto [value, quantized] : llvm::zip_equal(*x, result))
      quantized = value - quantized;
  replace(op, makeFloats(op.getResult().getType(), result));
}

void FoldConstantsPass::fold(RelayoutOp op) {
  ElementsAttr constant = getConstantTensor(op.getSource());
  ElementsAttr converted =
      constant ? withType(constant, op.getResult().getType()) : ElementsAttr();
  if (converted)
    replace(op, converted);
}

/// Matrices of whole-byte elements.
void FoldConstantsPass::fold(linalg::TransposeOp op) {
  ElementsAttr constant = getConstantTensor(op.getInput());
  if (!constant || op->getNumResults() != 1 ||
      op.getPermutation() != ArrayRef<int64_t>({1, 0}))
    return;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto dense = dyn_cast<DenseElementsAttr>(constant);
      dense && dense.isSplat())
    return replace(op, cast<ElementsAttr>(dense.resizeSplat(type)));
  auto bytes = getBytes(constant);
  int64_t width = (type.getElementTypeBitWidth() + 7) / 8;
  if (!bytes || int64_t(bytes->size()) != type.getNumElements() * width)
    return;
  int64_t rows = type.getDimSize(1), cols = type.getDimSize(0);
  std::vector<char> transposed(bytes->size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      std::memcpy(transposed.data() + (col * rows + row) * width,
                  bytes->data() + (row * cols + col) * width, width);
  replace(op, makeConstant(type, transposed, "transposed"));
}

void FoldConstantsPass::runOnOperation() {
  // In the order of the program, so that constants reach their users.
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto scale = dyn_cast<ScaleOp>(op))
      fold(scale);
    else if (auto quantize = dyn_cast<QuantizeOp>(op))
      fold(quantize);
    else if (auto dequantize = dyn_cast<DequantizeOp>(op))
      fold(dequantize);
    else if (auto fake = dyn_cast<FakeQuantizeOp>(op))
      fold(fake);
    else if (auto relayout = dyn_cast<RelayoutOp>(op))
      fold(relayout);
    else if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
      fold(transpose);
  });
  // The sources, where nothing else uses them.
  getOperation()->walk([](arith::ConstantOp op) {
    if (op->use_empty())
      op->erase();
  });
}
