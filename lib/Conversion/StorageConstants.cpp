//===-- StorageConstants.cpp - Constants as memory holds them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StorageConversion.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;

namespace {

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
    auto storage =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
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
            storage,
            ArrayRef<char>(reinterpret_cast<const char *>(codes.data()),
                           codes.size())));
    return success();
  }
};

} // namespace

void blockscale::populateStorageConstantConversion(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ConvertConstant>(converter, patterns.getContext());
}
