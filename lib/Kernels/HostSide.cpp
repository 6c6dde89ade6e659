//===-- HostSide.cpp - Buffers and extents around kernel launches ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/SizeChecks.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

SmallVector<Value> kernels::getSizes(OpBuilder &builder, Location loc,
                                     Value value, RankedTensorType logical) {
  IndexMath math(builder, loc);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < logical.getRank(); ++dim)
    sizes.push_back(
        logical.isDynamicDim(dim)
            ? tensor::DimOp::create(builder, loc, value, dim).getResult()
            : math.constant(logical.getDimSize(dim)));
  return sizes;
}

Extents kernels::getExtents(OpBuilder &builder, Location loc, Value value,
                            RankedTensorType logical) {
  IndexMath math(builder, loc);
  SmallVector<Value> sizes = getSizes(builder, loc, value, logical);
  Extents extents{math.constant(1), math.constant(1), 1};
  if (logical.getRank() == 0)
    return extents;
  extents.cols = logical.getShape().back();
  sizes.pop_back();
  if (!sizes.empty())
    extents.rows = sizes.pop_back_val();
  for (Value size : sizes)
    extents.batch = math.mul(extents.batch, size);
  return extents;
}

Extents kernels::blockExtents(IndexMath &math, const Extents &extents,
                              const Format &format, RankedTensorType scales) {
  if (format.blockRows != 1 || ScaleAddress(scales).isTiled())
    return extents;
  return {math.constant(1), extents.allRows(math), extents.cols};
}

bool kernels::isSingleBatch(const Extents &extents) {
  return matchPattern(extents.batch, m_One());
}

Value kernels::inputBuffer(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType().isInteger(1)) {
    // In memory a byte each, but a vector of i1 would load eight from a byte.
    type = type.clone(builder.getI8Type());
    tensor = arith::ExtUIOp::create(builder, loc, type, tensor);
  }
  auto bufferType = MemRefType::get(type.getShape(), type.getElementType());
  Value buffer = bufferization::ToBufferOp::create(builder, loc, bufferType,
                                                   tensor, /*read_only=*/true);
  return flatten(builder, loc, buffer);
}

Value ResultBuffer::asTensor(OpBuilder &builder, Location loc) const {
  auto type = cast<MemRefType>(memref.getType());
  auto tensorType =
      RankedTensorType::get(type.getShape(), type.getElementType());
  Value tensor = bufferization::ToTensorOp::create(
      builder, loc, tensorType, memref, /*restrict=*/true, /*writable=*/true);
  if (!holdsBits)
    return tensor;
  return arith::TruncIOp::create(builder, loc,
                                 tensorType.clone(builder.getI1Type()), tensor);
}

/// The bytes of a batch of tiled scales.
static Value tiledBytes(IndexMath &math, Value rows, int64_t cols) {
  return math.mul(math.ceilDiv(rows, kScaleTileRows),
                  tiledScaleBytes(kScaleTileRows, cols));
}

/// Whether tiled scales have bytes that stand for no scale.
static bool mayHavePadding(RankedTensorType logical) {
  int64_t rank = logical.getRank();
  return rank < 2 || logical.isDynamicDim(rank - 2) ||
         logical.getDimSize(rank - 2) % kScaleTileRows != 0 ||
         logical.getDimSize(rank - 1) % kScaleTileCols != 0;
}

ResultBuffer kernels::allocateResult(OpBuilder &builder, Location loc,
                                     KernelSet &kernelSet,
                                     RankedTensorType logical,
                                     ArrayRef<Value> sizes) {
  RankedTensorType storage = getStorageType(logical);
  bool tiled = storage.getRank() != logical.getRank();
  SmallVector<Value> dynamicSizes;
  for (auto [dim, extent] : llvm::enumerate(storage.getShape())) {
    if (!ShapedType::isDynamic(extent))
      continue;
    bool isTileBytes =
        tiled && static_cast<int64_t>(dim) + 1 == storage.getRank();
    if (!isTileBytes) {
      dynamicSizes.push_back(sizes[dim]);
      continue;
    }
    IndexMath math(builder, loc);
    int64_t cols = logical.getShape().back();
    dynamicSizes.push_back(tiledBytes(math, sizes[dim], cols));
  }
  ResultBuffer result;
  result.holdsBits = storage.getElementType().isInteger(1);
  if (result.holdsBits)
    storage = storage.clone(builder.getI8Type());
  result.memref = memref::AllocOp::create(
      builder, loc,
      MemRefType::get(storage.getShape(), storage.getElementType()),
      dynamicSizes, builder.getI64IntegerAttr(64));
  result.flat = flatten(builder, loc, result.memref);
  if (tiled && mayHavePadding(logical))
    kernelSet.fillZero(builder, loc, result.flat);
  return result;
}

SmallVector<Value> kernels::getScaleSizes(IndexMath &math, const Format &format,
                                          ArrayRef<Value> sizes) {
  SmallVector<Value> scaleSizes(sizes);
  scaleSizes.back() = math.ceilDiv(scaleSizes.back(), format.blockCols);
  if (scaleSizes.size() >= 2) {
    Value &rows = scaleSizes[scaleSizes.size() - 2];
    rows = math.ceilDiv(rows, format.blockRows);
  }
  return scaleSizes;
}

void kernels::requireScalesOf(OpBuilder &builder, Location loc,
                              const Twine &what, const Format &format,
                              ArrayRef<Value> sizes, Value scales,
                              RankedTensorType logical) {
  IndexMath math(builder, loc);
  SmallVector<Value> expected = getScaleSizes(math, format, sizes);
  if (!isa_and_present<Tiled128x4Attr>(logical.getEncoding())) {
    requireSizes(builder, loc, what, getSizes(builder, loc, scales, logical),
                 expected);
    return;
  }
  expected.pop_back();
  expected.back() =
      tiledBytes(math, expected.back(), logical.getShape().back());
  auto storage = cast<RankedTensorType>(scales.getType());
  requireSizes(builder, loc, what + " (bytes in tiles)",
               getSizes(builder, loc, scales, storage), expected);
}

Value kernels::allocateFlat(OpBuilder &builder, Location loc, Type element,
                            Value size) {
  return memref::AllocOp::create(builder, loc, flatType(element),
                                 ValueRange{size},
                                 builder.getI64IntegerAttr(64));
}

Value kernels::grainFor(IndexMath &math, Value elementsPerItem) {
  // Waking another thread costs a few microseconds: some 16k elements.
  constexpr int64_t elements = 1 << 14;
  Value atLeastOne = math.max(elementsPerItem, math.constant(1));
  return math.max(math.div(math.constant(elements), atLeastOne),
                  math.constant(1));
}

ScaleAddress::ScaleAddress(RankedTensorType layout)
    : tiled(isa_and_present<Tiled128x4Attr>(layout.getEncoding())),
      cols(layout.getRank() ? layout.getShape().back() : 1) {}

namespace {
/// The index builder of the templates in Layout/ScaleLayout.h.
struct IndexValues : IndexMath {
  using Value = mlir::Value;
  using IndexMath::IndexMath;
};
} // namespace

Value ScaleAddress::offset(OpBuilder &builder, Location loc, Value batch,
                           Value rows, Value row, Value col) const {
  IndexValues math(builder, loc);
  if (!tiled)
    return math.add(math.mul(math.add(math.mul(batch, rows), row), cols), col);
  Value batchBytes = tiledBytes(math, rows, cols);
  return math.add(math.mul(batch, batchBytes),
                  tiledScaleOffset(math, row, col, cols));
}
