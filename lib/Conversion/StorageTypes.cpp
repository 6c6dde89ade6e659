//===-- StorageTypes.cpp - How block-scaled tensors lie in memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/StorageTypes.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;

unsigned blockscale::getStorageWidth(Type elementType) {
  if (elementType.isIndex())
    return 64;
  unsigned bits = elementType.getIntOrFloatBitWidth();
  if (bits == 1 || bits == 4 || bits > 8)
    return bits;
  return 8;
}

RankedTensorType blockscale::getStorageType(RankedTensorType type) {
  Type element = type.getElementType();
  auto byte = IntegerType::get(type.getContext(), 8);
  SmallVector<int64_t> shape(type.getShape());
  if (isa_and_present<Tiled128x4Attr>(type.getEncoding())) {
    int64_t cols = shape.pop_back_val();
    int64_t rows = shape.pop_back_val();
    shape.push_back(ShapedType::isDynamic(rows)
                        ? ShapedType::kDynamic
                        : tiledScaleBytes(rows, cols));
    return RankedTensorType::get(shape, byte);
  }
  if (!element.isIntOrFloat())
    return type;
  unsigned width = getStorageWidth(element);
  if (width == 4 && !shape.empty()) {
    if (!ShapedType::isDynamic(shape.back()))
      shape.back() = (shape.back() + 1) / 2;
    return RankedTensorType::get(shape, byte);
  }
  if (width == 8 || width == 4)
    return RankedTensorType::get(shape, byte);
  return type;
}

StorageTypeConverter::StorageTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type) { return getStorageType(type); });
}

namespace {

/// tensor.dim of a packed tensor: the innermost extent counts elements.
struct ConvertDim : OpConversionPattern<tensor::DimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
    if (!type || getStorageType(type).getRank() != type.getRank())
      return rewriter.notifyMatchFailure(op, "a tiled layout has no extents");
    std::optional<int64_t> index = op.getConstantIndex();
    if (!index)
      return rewriter.notifyMatchFailure(op, "the dimension is not constant");
    if (!type.isDynamicDim(*index)) {
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(
          op, type.getDimSize(*index));
      return success();
    }
    Value dim = tensor::DimOp::create(rewriter, op.getLoc(),
                                      adaptor.getSource(), *index);
    if (*index == type.getRank() - 1 &&
        getStorageWidth(type.getElementType()) == 4) {
      Value two = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 2);
      dim = arith::MulIOp::create(rewriter, op.getLoc(), dim, two);
    }
    rewriter.replaceOp(op, dim);
    return success();
  }
};

struct ConvertCast : OpConversionPattern<tensor::CastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::CastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CastOp>(
        op, getTypeConverter()->convertType(op.getType()),
        adaptor.getSource());
    return success();
  }
};

/// The bytes of a constant, packed as memory holds them.
struct ConvertConstant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!dense || !type || type.getEncoding())
      return rewriter.notifyMatchFailure(op, "expects a dense linear constant");
    auto storage = cast<RankedTensorType>(
        getTypeConverter()->convertType(op.getType()));
    auto codeOf = [&](Attribute value) -> uint8_t {
      if (auto real = dyn_cast<FloatAttr>(value))
        return real.getValue().bitcastToAPInt().getZExtValue();
      return cast<IntegerAttr>(value).getValue().getZExtValue();
    };
    SmallVector<uint8_t> codes;
    codes.reserve(dense.getNumElements());
    if (dense.isSplat())
      codes.assign(dense.getNumElements(),
                   codeOf(dense.getSplatValue<Attribute>()));
    else
      for (Attribute value : dense.getValues<Attribute>())
        codes.push_back(codeOf(value));
    if (getStorageWidth(type.getElementType()) == 4 && type.getRank() > 0) {
      int64_t extent = type.getShape().back();
      SmallVector<uint8_t> packed;
      packed.reserve(storage.getNumElements());
      for (int64_t row = 0, rows = extent ? codes.size() / extent : 0;
           row < rows; ++row)
        for (int64_t col = 0; col < extent; col += 2) {
          uint8_t low = codes[row * extent + col];
          uint8_t high = col + 1 < extent ? codes[row * extent + col + 1] : 0;
          packed.push_back((low & 15) | (high << 4));
        }
      codes = std::move(packed);
    }
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, storage,
        DenseElementsAttr::getFromRawBuffer(
            storage, ArrayRef<char>(reinterpret_cast<const char *>(codes.data()),
                                    codes.size())));
    return success();
  }
};

} // namespace

void blockscale::populateStorageConversion(const TypeConverter &converter,
                                           RewritePatternSet &patterns,
                                           ConversionTarget &target) {
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  patterns.add<ConvertDim, ConvertCast, ConvertConstant>(
      converter, patterns.getContext());
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType()) &&
           converter.isLegal(&op.getBody());
  });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
}
