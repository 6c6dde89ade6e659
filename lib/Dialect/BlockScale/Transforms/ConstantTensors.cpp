//===-- ConstantTensors.cpp - Constants as plain memory and back ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantTensors.h"
#include "blockscale/Numerics/ValueBuilder.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Threading.h"

#include <cmath>
#include <cstring>
#include <limits>

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

/// Calls `one(i)` for each of `count` elements, many at a time.
template <typename F>
static void inParts(MLIRContext *context, int64_t count, F one) {
  constexpr int64_t kStep = 1 << 16;
  parallelFor(context, 0, (count + kStep - 1) / kStep, [&](size_t part) {
    int64_t first = int64_t(part) * kStep;
    for (int64_t i = first; i < std::min(count, first + kStep); ++i)
      one(i);
  });
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
  auto widen = [&](auto one) {
    inParts(constant.getContext(), count, [&](int64_t i) {
      uint16_t bits;
      std::memcpy(&bits, bytes->data() + 2 * i, 2);
      values[i] = one(bits);
    });
  };
  if (element.isBF16())
    widen(widenBF16);
  else
    widen(widenF16);
  return values;
}

ElementsAttr blockscale::makeConstant(RankedTensorType type,
                                      ArrayRef<char> bytes, StringRef name) {
  if (int64_t(bytes.size()) < kResourceBytes)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
}

/// To nearest even; of a NaN the upper half.
static uint16_t roundToBF16(float value) {
  uint32_t bits = bitsOfF32(value);
  if (!std::isnan(value))
    bits += 0x7FFF + (bits >> 16 & 1);
  return uint16_t(bits >> 16);
}

static uint16_t roundToF16(float wide) {
  APFloat value(wide);
  bool losesInfo;
  value.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &losesInfo);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

ElementsAttr blockscale::makeFloats(RankedTensorType type,
                                    ArrayRef<float> values) {
  Type element = type.getElementType();
  // As kernels store it (real_c1).
  auto canonical = [](float value) {
    return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
  };
  if (element.isF32()) {
    std::vector<float> stored(values.size());
    inParts(type.getContext(), values.size(),
            [&](int64_t i) { stored[i] = canonical(values[i]); });
    return makeConstant(type,
                        ArrayRef(reinterpret_cast<const char *>(stored.data()),
                                 stored.size() * sizeof(float)),
                        "constant");
  }
  std::vector<uint16_t> narrow(values.size());
  auto round = [&](auto one) {
    inParts(type.getContext(), values.size(),
            [&](int64_t i) { narrow[i] = one(canonical(values[i])); });
  };
  if (element.isBF16())
    round(roundToBF16);
  else
    round(roundToF16);
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
