//===-- StorageConstants.cpp - Constants as memory holds them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StorageConversion.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace blockscale;

/// The codes of a constant of elements of at most 8 bits, a byte each; nullopt
/// if they are not at hand.
static std::optional<std::vector<uint8_t>> codesOf(ElementsAttr constant) {
  int64_t count = constant.getNumElements();
  unsigned bits = constant.getElementType().getIntOrFloatBitWidth();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant)) {
    ArrayRef<char> bytes = dense.getRawData();
    if (dense.isSplat() && count != 1)
      return std::vector<uint8_t>(count, uint8_t(bytes.front()));
    if (bits != 1)
      return std::vector<uint8_t>(bytes.begin(), bytes.end());
    std::vector<uint8_t> codes;
    for (APInt value : dense.getValues<APInt>())
      codes.push_back(value.getZExtValue());
    return codes;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob || int64_t(blob->getData().size()) != count)
    return std::nullopt;
  return std::vector<uint8_t>(blob->getData().begin(), blob->getData().end());
}

/// Two codes in a byte, each row starting a new one (layout_c5).
static std::vector<uint8_t> packRows(const std::vector<uint8_t> &codes,
                                     int64_t extent) {
  std::vector<uint8_t> packed;
  packed.reserve((codes.size() + 1) / 2);
  for (size_t row = 0; extent && row < codes.size(); row += extent)
    for (int64_t col = 0; col < extent; col += 2) {
      uint8_t low = codes[row + col];
      uint8_t high = col + 1 < extent ? codes[row + col + 1] : 0;
      packed.push_back((low & 15) | (high << 4));
    }
  return packed;
}

/// Each matrix of scales in tiles (layout_c1 to layout_c4).
static std::vector<uint8_t> tileScales(const std::vector<uint8_t> &codes,
                                       RankedTensorType type) {
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t cols = type.getShape().back();
  int64_t batch = rows * cols ? int64_t(codes.size()) / (rows * cols) : 0;
  std::vector<uint8_t> tiled(batch * tiledScaleBytes(rows, cols));
  packTiledScales(codes.data(), tiled.data(), batch, rows, cols);
  return tiled;
}

namespace {

/// The bytes of a constant, packed or tiled as memory holds them. Resources
/// stay resources.
struct ConvertConstant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto constant = dyn_cast<ElementsAttr>(op.getValue());
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!constant || !type)
      return rewriter.notifyMatchFailure(op, "expects a tensor");
    auto codes = codesOf(constant);
    if (!codes)
      return op.emitOpError("expects a constant whose ")
             << type.getNumElements() << " values are there, a byte each, but "
             << "got a resource that is not loaded or of another size";
    auto storage =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    bool tiled = isa_and_present<Tiled128x4Attr>(type.getEncoding());
    if (tiled)
      *codes = tileScales(*codes, type);
    else if (getStorageWidth(type.getElementType()) == 4 && type.getRank() > 0)
      *codes = packRows(*codes, type.getShape().back());
    ArrayRef bytes(reinterpret_cast<const char *>(codes->data()),
                   codes->size());
    ElementsAttr stored;
    if (isa<DenseResourceElementsAttr>(constant))
      stored = DenseResourceElementsAttr::get(
          storage, "stored",
          HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
    else
      stored = DenseElementsAttr::getFromRawBuffer(storage, bytes);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, stored);
    return success();
  }
};

} // namespace

void blockscale::populateStorageConstantConversion(
    const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ConvertConstant>(converter, patterns.getContext());
}
