//===-- ConstantTensors.cpp - Constants as plain memory and back ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantTensors.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace blockscale;

ElementsAttr blockscale::getConstantTensor(Value value) {
  ElementsAttr constant;
  matchPattern(value, m_Constant(&constant));
  return constant;
}

std::optional<ArrayRef<char>> blockscale::getBytes(ElementsAttr constant) {
  if (auto dense = dyn_cast<DenseElementsAttr>(constant)) {
    if (dense.isSplat() && dense.getNumElements() != 1)
      return std::nullopt;
    return dense.getRawData();
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  return blob->getData();
}

static float widenBF16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static float widenF16(uint16_t bits) {
  APFloat value(APFloat::IEEEhalf(), APInt(16, bits));
  bool losesInfo;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToFloat();
}

std::optional<std::vector<float>>
blockscale::readFloats(ElementsAttr constant) {
  Type element = constant.getShapedType().getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return std::nullopt;
  int64_t count = constant.getNumElements();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant);
      dense && dense.isSplat()) {
    APFloat value = dense.getSplatValue<APFloat>();
    bool losesInfo;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return std::vector<float>(count, value.convertToFloat());
  }
  auto bytes = getBytes(constant);
  int64_t width = element.getIntOrFloatBitWidth() / 8;
  if (!bytes || int64_t(bytes->size()) != count * width)
    return std::nullopt;
  std::vector<float> values(count);
  if (element.isF32()) {
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes->data() + 2 * i, 2);
    values[i] = element.isBF16() ? widenBF16(bits) : widenF16(bits);
  }
  return values;
}

ElementsAttr blockscale::makeConstant(RankedTensorType type,
                                      ArrayRef<char> bytes, StringRef name) {
  if (int64_t(bytes.size()) < kResourceBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
}

ElementsAttr blockscale::makeFloats(RankedTensorType type,
                                    ArrayRef<float> values) {
  Type element = type.getElementType();
  if (element.isF32())
    return makeConstant(type,
                        ArrayRef(reinterpret_cast<const char *>(values.data()),
                                 values.size() * sizeof(float)),
                        "constant");
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  std::vector<uint16_t> narrow(values.size());
  for (auto [wide, bits] : llvm::zip_equal(values, narrow)) {
    APFloat value(wide);
    bool losesInfo;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    bits = uint16_t(value.bitcastToAPInt().getZExtValue());
  }
  return makeConstant(type,
                      ArrayRef(reinterpret_cast<const char *>(narrow.data()),
                               narrow.size() * sizeof(uint16_t)),
                      "constant");
}

ElementsAttr blockscale::withType(ElementsAttr constant,
                                  RankedTensorType type) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  if (auto dense = dyn_cast<DenseElementsAttr>(constant))
    return DenseElementsAttr::getFromRawBuffer(type, dense.getRawData());
  return {};
}
