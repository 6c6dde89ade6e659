//===-- HostEvaluation.cpp - Ops on constants, in parallel ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HostEvaluation.h"

#include "mlir/IR/Threading.h"

#include <cstring>

using namespace mlir;
using namespace blockscale;

namespace {

/// Rows of a tensor that are evaluated together.
struct Part {
  int64_t firstRow, rows;
};

} // namespace

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

/// The amax that scales depend on: the one given, else the tensor's if the
/// format has a scale of the tensor.
static std::optional<float> amaxOf(std::optional<float> given,
                                   const Format &format,
                                   const std::vector<float> &x) {
  if (!given && format.hasTensorScale)
    return reference::amax(x.data(), x.size());
  return given;
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

reference::Scales HostEvaluation::scale(FormatAttr formatAttr,
                                        ScaleRuleAttr ruleAttr,
                                        const std::vector<float> &x,
                                        RankedTensorType type,
                                        std::optional<float> amax) {
  const Format &format = formatAttr.getValue();
  const ScaleRule &rule = ruleAttr.getValue();
  reference::Extents extents = extentsOf(type);
  amax = amaxOf(amax, format, x);
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

std::vector<uint8_t> HostEvaluation::quantize(FormatAttr formatAttr,
                                              Rounding rounding, uint64_t seed,
                                              const reference::Scales &scales,
                                              const std::vector<float> &x,
                                              RankedTensorType type) {
  const Format &format = formatAttr.getValue();
  reference::Extents extents = extentsOf(type);
  std::vector<Part> parts = partsOf(format, extents);
  int64_t paddedCols = formatAttr.getPaddedExtent(extents.cols);
  std::vector<uint8_t> codes(extents.batch * extents.rows * paddedCols);
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    const Part &part = parts[i];
    std::vector<uint8_t> some = reference::quantize(
        format, sliceScales(format, extents, scales, part),
        x.data() + part.firstRow * extents.cols, {1, part.rows, extents.cols},
        rounding, seed, part.firstRow * paddedCols);
    std::memcpy(codes.data() + part.firstRow * paddedCols, some.data(),
                some.size());
  });
  return codes;
}

std::vector<float> HostEvaluation::dequantize(FormatAttr formatAttr,
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

std::vector<float>
HostEvaluation::fakeQuantize(FormatAttr formatAttr, ScaleRuleAttr ruleAttr,
                             Rounding rounding, uint64_t seed,
                             const std::vector<float> &x, RankedTensorType type,
                             std::optional<float> amax) {
  const Format &format = formatAttr.getValue();
  const ScaleRule &rule = ruleAttr.getValue();
  reference::Extents extents = extentsOf(type);
  amax = amaxOf(amax, format, x);
  std::vector<Part> parts = partsOf(format, extents);
  int64_t paddedCols = formatAttr.getPaddedExtent(extents.cols);
  std::vector<float> values(x.size());
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    int64_t first = parts[i].firstRow * extents.cols;
    std::vector<float> some = reference::fakeQuantize(
        format, rule, x.data() + first, {1, parts[i].rows, extents.cols},
        rounding, seed, amax, parts[i].firstRow * paddedCols);
    llvm::copy(some, values.begin() + first);
  });
  return values;
}

void HostEvaluation::rotate(std::vector<float> &x, RankedTensorType type,
                            int64_t axis, unsigned size,
                            const std::vector<int> &signs,
                            const std::vector<float> &matrix, bool inverse) {
  // Slices of all that is inside the axis, some 64 Ki values in a part.
  std::vector<int64_t> shape(type.getShape().drop_front(axis));
  int64_t slice = ShapedType::getNumElements(shape);
  int64_t slices = slice == 0 ? 0 : int64_t(x.size()) / slice;
  int64_t step = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(slice, 1));
  shape.insert(shape.begin(), 0);
  parallelFor(context, 0, (slices + step - 1) / step, [&](size_t part) {
    int64_t first = int64_t(part) * step;
    int64_t count = std::min(step, slices - first);
    std::vector<int64_t> partShape = shape;
    partShape[0] = count;
    std::vector<float> values(x.begin() + first * slice,
                              x.begin() + (first + count) * slice);
    reference::rotateAlong(values, partShape, 1, size, signs, matrix, inverse);
    llvm::copy(values, x.begin() + first * slice);
  });
}

reference::Balanced HostEvaluation::balance(const std::vector<float> &w,
                                            RankedTensorType type,
                                            int64_t block, int64_t steps) {
  int64_t rows = type.getDimSize(0), cols = type.getDimSize(1);
  reference::Balanced result{std::vector<float>(w.size()),
                             std::vector<float>(cols)};
  parallelFor(context, 0, (cols + block - 1) / block, [&](size_t tile) {
    reference::balanceTiles(w.data(), rows, cols, block, steps, tile, tile + 1,
                            result);
  });
  return result;
}
