//===-- StorageTypes.cpp - How block-scaled tensors lie in memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/StorageTypes.h"
#include "StorageConversion.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

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
    shape.push_back(ShapedType::isDynamic(rows) ? ShapedType::kDynamic
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

Storage blockscale::getStorage(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || getStorageType(tensor) == tensor)
    return Storage::Same;
  if (tensor.getEncoding())
    return Storage::Tiled;
  return getStorageWidth(tensor.getElementType()) == 4 && tensor.getRank() > 0
             ? Storage::Packed
             : Storage::Bytes;
}

void blockscale::populateStorageConversion(const TypeConverter &converter,
                                           RewritePatternSet &patterns,
                                           ConversionTarget &target) {
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  cf::populateCFStructuralTypeConversions(converter, patterns);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  populateStorageConstantConversion(converter, patterns);
  populateStorageShapeConversion(converter, patterns);
  // The blocks after the first are converted with the branches to them.
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType());
  });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
}
