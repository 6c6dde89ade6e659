//===-- FoldConstants.cpp - Quantize constants at compile time ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantTensors.h"
#include "HostEvaluation.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

#include <cstring>

namespace blockscale {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct FoldConstantsPass
    : blockscale::impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;
  void runOnOperation() override;

private:
  void fold(AmaxOp op);
  void fold(ScaleOp op);
  void fold(QuantizeOp op);
  void fold(DequantizeOp op);
  void fold(FakeQuantizeOp op);
  void fold(BalanceOp op);
  void fold(RelayoutOp op);
  void fold(linalg::TransposeOp op);
  void replace(Operation *op, ArrayRef<ElementsAttr> values);
};

} // namespace

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
  std::vector<float> tensor;
  // An operand that is not there leaves its values empty.
  auto read = [](Value operand, auto valuesOf, auto &values) {
    if (!operand)
      return true;
    auto constant = valuesOf(operand);
    if (constant)
      values = std::move(*constant);
    return constant.has_value();
  };
  if (!read(scales, codesOf, result.codes) ||
      !read(tensorScale, floatsOf, tensor) ||
      !read(zeros, codesOf, result.zeros) ||
      !read(encode, floatsOf, result.encodeFactors))
    return std::nullopt;
  if (!tensor.empty())
    result.tensorScale = tensor.front();
  return result;
}

/// The amax to hold, if there is one; false if it is not constant.
static bool readAmax(Value held, std::optional<float> &amax) {
  if (!held)
    return true;
  auto value = floatsOf(held);
  if (value)
    amax = value->front();
  return value.has_value();
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

void FoldConstantsPass::fold(AmaxOp op) {
  if (auto x = floatsOf(op.getSource()))
    replace(op, makeFloats(op.getResult().getType(),
                           reference::amax(x->data(), x->size())));
}

void FoldConstantsPass::fold(ScaleOp op) {
  auto x = floatsOf(op.getSource());
  std::optional<float> amax;
  if (!x || !readAmax(op.getAmax(), amax))
    return;
  reference::Scales scales = HostEvaluation(&getContext())
                                 .scale(op.getFormat(), op.getRule(), *x,
                                        op.getSource().getType(), amax);
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
      HostEvaluation(&getContext())
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
                         HostEvaluation(&getContext())
                             .dequantize(op.getFormat(), *scales, bytes,
                                         op.getElements().getType())));
}

void FoldConstantsPass::fold(FakeQuantizeOp op) {
  auto x = floatsOf(op.getSource());
  auto seed = readSeed(op.getSeed());
  std::optional<float> amax;
  if (!x || !seed || !readAmax(op.getAmax(), amax))
    return;
  std::vector<float> result =
      HostEvaluation(&getContext())
          .fakeQuantize(op.getFormat(), op.getRule(), op.getRounding(), *seed,
                        *x, op.getSource().getType(), amax);
  if (op.getResidual())
    for (auto [value, quantized] : llvm::zip_equal(*x, result))
      quantized = value - quantized;
  replace(op, makeFloats(op.getResult().getType(), result));
}

void FoldConstantsPass::fold(BalanceOp op) {
  auto x = floatsOf(op.getSource());
  if (!x)
    return;
  reference::Balanced balanced =
      HostEvaluation(&getContext())
          .balance(*x, op.getSource().getType(), op.getBlock(), op.getSteps());
  replace(op, {makeFloats(op.getBalanced().getType(), balanced.values),
               makeFloats(op.getColumns().getType(), balanced.columns)});
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
    if (auto amax = dyn_cast<AmaxOp>(op))
      fold(amax);
    else if (auto scale = dyn_cast<ScaleOp>(op))
      fold(scale);
    else if (auto quantize = dyn_cast<QuantizeOp>(op))
      fold(quantize);
    else if (auto dequantize = dyn_cast<DequantizeOp>(op))
      fold(dequantize);
    else if (auto fake = dyn_cast<FakeQuantizeOp>(op))
      fold(fake);
    else if (auto balance = dyn_cast<BalanceOp>(op))
      fold(balance);
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
