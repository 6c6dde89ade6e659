//===-- MatmulCase.cpp - A scaled_matmul, its data and its answer ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulCase.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace blockscale;
using namespace blockscale::test;
using mlir::RankedTensorType;
using mlir::ShapedType;
using runtime::DataType;

std::string Side::describe() const {
  return (format ? format->text() : std::string(name(real))) +
         (tiled ? " in tiles" : "");
}

std::string MatmulCase::describe() const {
  return lhs.describe() + " x " + rhs.describe() + ", K " + std::to_string(k) +
         ", " + std::to_string(batchDims) + " batch dimensions" +
         (sharedRhs ? ", shared rhs" : "") + (alpha ? ", alpha" : "") +
         (acc ? ", C of " + std::string(name(*acc)) : "") + " to " +
         std::string(name(result));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {
/// Arguments of the function and the text of a side.
struct SideText {
  std::string arguments, operand;
};
} // namespace

static SideText textOf(const Side &side, const std::string &prefix,
                       std::vector<int64_t> shape) {
  mlir::MLIRContext *context = &sharedContext();
  context->loadDialect<BlockScaleDialect>();
  std::vector<std::pair<std::string, mlir::Type>> parts;
  std::string fmt;
  auto reals = RankedTensorType::get(shape, typeOf(side.real));
  if (!side.format) {
    parts.emplace_back(prefix, reals);
  } else {
    auto format = FormatAttr::get(context, *side.format);
    fmt = " as #blockscale.format<" + side.format->text() + ">";
    parts.emplace_back(prefix, format.getElementsTypeOf(reals));
    parts.emplace_back(
        prefix + "s",
        format.getScalesTypeOf(reals, side.tiled ? Tiled128x4Attr::get(context)
                                                 : mlir::Attribute()));
    if (side.format->hasTensorScale)
      parts.emplace_back(
          prefix + "g",
          RankedTensorType::get({}, mlir::Float32Type::get(context)));
    if (auto zeros = format.getZeroPointsTypeOf(reals))
      parts.emplace_back(prefix + "z", zeros);
  }
  SideText text;
  std::string names, types;
  for (auto &[name, type] : parts) {
    text.arguments += "%" + name + ": " + str(type) + ", ";
    std::string separator = names.empty() ? "" : ", ";
    names += separator + "%" + name;
    types += separator + str(type);
  }
  text.operand = names + " : " + types + fmt;
  return text;
}

std::string MatmulCase::text() const {
  std::vector<int64_t> lhsShape(batchDims, ShapedType::kDynamic);
  std::vector<int64_t> rhsShape;
  if (!sharedRhs)
    rhsShape = lhsShape;
  int64_t m = staticM < 0 ? ShapedType::kDynamic : staticM;
  int64_t n = staticN < 0 ? ShapedType::kDynamic : staticN;
  std::vector<int64_t> resultShape = lhsShape;
  resultShape.insert(resultShape.end(), {m, n});
  lhsShape.insert(lhsShape.end(), {m, k});
  rhsShape.insert(rhsShape.end(), {n, k});
  std::string resultType =
      str(RankedTensorType::get(resultShape, typeOf(result)));
  SideText a = textOf(lhs, "lhs", lhsShape), b = textOf(rhs, "rhs", rhsShape);
  std::string arguments = a.arguments + b.arguments, clauses;
  if (alpha) {
    arguments += "%alpha: tensor<f32>, ";
    clauses += " alpha(%alpha : tensor<f32>)";
  }
  if (acc) {
    std::string type = str(RankedTensorType::get(resultShape, typeOf(*acc)));
    arguments += "%addend: " + type + ", ";
    clauses += " acc(%addend : " + type + ")";
  }
  if (!epilogue.empty()) {
    std::string names, types;
    for (size_t i = 0; i < operandTypes.size(); ++i) {
      std::string separator = i ? ", " : "";
      arguments +=
          "%operand" + std::to_string(i) + ": " + operandTypes[i] + ", ";
      names += separator + "%operand" + std::to_string(i);
      types += separator + operandTypes[i];
    }
    clauses += " epilogue";
    if (!names.empty())
      clauses += "(" + names + " : " + types + ")";
    clauses += " {\n" + epilogue + "\n  }";
  }
  arguments.resize(arguments.size() - 2);
  return "func.func @f(" + arguments + ") -> " + resultType +
         " {\n  %y = blockscale.scaled_matmul lhs(" + a.operand + ") rhs(" +
         b.operand + ")" + clauses + " : " + resultType +
         "\n  return %y : " + resultType + "\n}\n";
}

//===----------------------------------------------------------------------===//
// The data
//===----------------------------------------------------------------------===//

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// The narrowest storage of codes.
static std::vector<uint8_t> bytesOf(const std::vector<uint32_t> &codes,
                                    unsigned bytesEach) {
  std::vector<uint8_t> bytes(codes.size() * bytesEach);
  for (size_t i = 0; i < codes.size(); ++i)
    std::memcpy(&bytes[i * bytesEach], &codes[i], bytesEach);
  return bytes;
}

static DataType storageOf(unsigned width, bool isFloat, bool isBF16) {
  if (width == 32)
    return isFloat ? DataType::F32 : DataType::I32;
  if (width == 16)
    return isBF16 ? DataType::BF16 : DataType::F16;
  return DataType::U8;
}

void MatmulData::fill(SideData &data, const Side &side,
                      std::vector<int64_t> batch, int64_t rows, int64_t k,
                      uint32_t seed) {
  int64_t batches = product(batch), count = batches * rows * k;
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), {rows, k});
  std::vector<float> wanted = quarters(count, seed);
  if (!side.format) {
    data.reals.emplace(side.real, wanted);
    data.values = data.reals->values;
    data.views = {data.reals->view(shape)};
    return;
  }
  const Format &format = *side.format;
  HostBuilder b;
  std::mt19937 random(seed + 1);
  reference::Extents extents{batches, rows, k};
  reference::BlockGrid grid = reference::blockGridOf(format, extents);
  std::vector<uint8_t> codes(count);
  for (int64_t i = 0; i < count; ++i)
    codes[i] =
        side.moderate && format.zero == ZeroPoint::None
            ? encodeElement<HostBuilder>(b, format.element, b.f32(wanted[i]),
                                         Rounding::NearestEven)[0]
            : random() & ((1u << format.element.width()) - 1);
  reference::Scales scales;
  for (int64_t i = 0; i < batches * grid.scaleRows * grid.scaleCols; ++i) {
    static const float kModerate[] = {0.5f, 0.75f, 1.0f, 1.5f, 2.0f};
    float scale = side.moderate
                      ? kModerate[random() % 5]
                      : std::ldexp(1.0f + float(random() % 1000) * 1e-3f,
                                   int(random() % 40) - 20);
    scales.codes.push_back(encodeScale<HostBuilder>(
        b, format.scale, b.f32(scale), Rounding::NearestEven)[0]);
    if (format.zero != ZeroPoint::None)
      scales.zeros.push_back(random() % 16);
  }
  if (format.hasTensorScale)
    data.tensorScale = 0.001f + float(random() % 1000) * 1e-3f;
  data.values = reference::dequantize(format, scales, codes.data(), extents,
                                      /*withTensorScale=*/false);
  data.elements = packed(codes, format.element.width());
  unsigned scaleBytes = format.scale.width() / 8;
  std::vector<int64_t> scaleShape = batch;
  if (side.tiled) {
    // NaN in the padding must not matter.
    data.scales = bytesOf(
        tiledCodes(scales.codes, batches, grid.scaleRows, grid.scaleCols, 0xff),
        1);
    scaleShape.push_back(tiledScaleBytes(grid.scaleRows, grid.scaleCols));
  } else {
    data.scales = bytesOf(scales.codes, scaleBytes);
    scaleShape.insert(scaleShape.end(), {grid.scaleRows, grid.scaleCols});
  }
  if (format.element.width() == 4)
    shape.back() /= 2;
  DataType scaleType = storageOf(format.scale.width(), true,
                                 format.scale.kind == ScaleType::Kind::BF16);
  data.views = {view(DataType::U8, data.elements.data(), shape),
                view(scaleType, data.scales.data(), scaleShape)};
  if (format.hasTensorScale)
    data.views.push_back(view(DataType::F32, &data.tensorScale, {}));
  if (format.zero != ZeroPoint::None) {
    data.zeros = bytesOf(scales.zeros, 1);
    data.views.push_back(view(DataType::U8, data.zeros.data(), scaleShape));
  }
}

MatmulData::MatmulData(const MatmulCase &c, std::vector<int64_t> batch,
                       int64_t m, int64_t n, uint32_t seed) {
  fill(sides[0], c.lhs, batch, m, c.k, seed);
  fill(sides[1], c.rhs, c.sharedRhs ? std::vector<int64_t>() : batch, n, c.k,
       seed + 17);
  int64_t batches = product(batch), count = batches * m * n;
  resultShape = batch;
  resultShape.insert(resultShape.end(), {m, n});
  hasAlpha = c.alpha;
  if (c.alpha)
    alpha = -0.37f;
  if (c.acc)
    acc.emplace(*c.acc, awkwardValues(count, seed + 3, false));
  double factor = double(sides[0].tensorScale) * double(sides[1].tensorScale);
  if (c.alpha)
    factor *= double(alpha);

  std::vector<float> rhs = sides[1].values;
  if (c.sharedRhs)
    for (int64_t t = 1; t < batches; ++t)
      rhs.insert(rhs.end(), sides[1].values.begin(), sides[1].values.end());
  auto multiply = [&](const std::vector<float> &a, const std::vector<float> &b,
                      double factor, const float *c) {
    return reference::scaledMatmul(
        a.data(), b.data(), batches, m, n,
        int64_t(a.size() / std::max<int64_t>(1, batches * m)), factor, c);
  };
  expected = multiply(sides[0].values, rhs, factor,
                      acc ? acc->values.data() : nullptr);
  auto absolute = [](std::vector<float> values) {
    for (float &value : values)
      value = std::fabs(value);
    return values;
  };
  magnitude = multiply(absolute(sides[0].values), absolute(rhs),
                       std::fabs(factor), nullptr);
}

std::vector<runtime::TensorView> MatmulData::inputs() const {
  std::vector<runtime::TensorView> all;
  for (const SideData &side : sides)
    all.insert(all.end(), side.views.begin(), side.views.end());
  if (hasAlpha)
    all.push_back(view(DataType::F32, &alpha, {}));
  if (acc)
    all.push_back(acc->view(resultShape));
  return all;
}
