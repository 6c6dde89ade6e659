//===-- Reference.cpp - Whole tensors on the host -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Reference.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "blockscale/Numerics/Hadamard.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "blockscale/Numerics/Philox.h"

using namespace blockscale;
using namespace blockscale::reference;
using V = HostValue;

namespace {
/// Calls `visit(scaleIndex, batch, firstRow, rowCount, firstCol)` per block.
template <typename F>
void forEachBlock(const Format &format, const Extents &extents, F visit) {
  BlockGrid grid = blockGridOf(format, extents);
  int64_t index = 0;
  for (int64_t batch = 0; batch < extents.batch; ++batch)
    for (int64_t i = 0; i < grid.scaleRows; ++i)
      for (int64_t j = 0; j < grid.scaleCols; ++j) {
        int64_t row = i * format.blockRows;
        int64_t rows = std::min(format.blockRows, extents.rows - row);
        visit(index++, batch, row, rows, j * format.blockCols);
      }
}

/// A row of a block; what lies beyond the tensor is zero.
V loadRow(const float *x, const Extents &extents, int64_t batch, int64_t row,
          int64_t col, int64_t count) {
  V lanes(count);
  const float *from = x + (batch * extents.rows + row) * extents.cols + col;
  int64_t present = std::min(count, extents.cols - col);
  for (int64_t i = 0; i < present; ++i)
    lanes[i] = bitsOfF32(from[i]);
  for (int64_t i = present; i < count; ++i)
    lanes[i] = 0;
  return lanes;
}
} // namespace

BlockGrid reference::blockGridOf(const Format &format, const Extents &extents) {
  int64_t scaleCols = (extents.cols + format.blockCols - 1) / format.blockCols;
  int64_t scaleRows = (extents.rows + format.blockRows - 1) / format.blockRows;
  return {scaleCols * format.blockCols, scaleRows, scaleCols};
}

float reference::amax(const float *x, int64_t count) {
  HostBuilder b;
  constexpr int64_t kStep = 64;
  V bits = b.i32(0);
  for (int64_t i = 0; i < count; i += kStep)
    bits = b.reduceUMax(
        tensorAmaxRow(b, bits, V::ofFloats(x + i, std::min(kStep, count - i))));
  return bits.asFloat();
}

Scales reference::scale(const Format &format, const ScaleRule &rule,
                        const float *x, const Extents &extents,
                        std::optional<float> heldAmax) {
  HostBuilder b;
  Scales result;
  float tensorAmax = 0;
  if (heldAmax)
    tensorAmax = *heldAmax;
  else if (format.hasTensorScale)
    tensorAmax = amax(x, extents.elements());
  TensorLevel<V> level = tensorLevel(b, format, rule, b.f32(tensorAmax));
  result.tensorScale = level.decode.asFloat();

  forEachBlock(
      format, extents,
      [&](int64_t, int64_t batch, int64_t row, int64_t rows, int64_t col) {
        auto load = [&](int64_t i) {
          return loadRow(x, extents, batch, row + i, col, format.blockCols);
        };
        Measure<V> lanes = measureInit(b, format, rule);
        for (int64_t i = 0; i < rows; ++i)
          lanes = measureRow(b, format, rule, lanes, load(i));
        V count = b.f32(float(rows * format.blockCols));
        Measure<V> measure = measureReduce(b, format, rule, lanes, count);
        std::vector<Candidate<V>> choices =
            candidates(b, format, rule, measure, level);
        Candidate<V> chosen = choices.front();
        if (choices.size() == 2) {
          V first = b.f32(0), second = b.f32(0);
          for (int64_t i = 0; i < rows; ++i) {
            V row = load(i);
            first = b.fadd(first, candidateErrorRow(b, format, rule, row,
                                                    choices[0], level));
            second = b.fadd(second, candidateErrorRow(b, format, rule, row,
                                                      choices[1], level));
          }
          chosen = pick(b, choices[0], b.reduceFAdd(first), choices[1],
                        b.reduceFAdd(second));
        }
        result.codes.push_back(chosen.scaleCode[0]);
        if (format.zero != ZeroPoint::None)
          result.zeros.push_back(storeZero(b, format, chosen.zero)[0]);
        if (rule.hasEncodeFactor())
          result.encodeFactors.push_back(chosen.encode.asFloat());
      });
  return result;
}

std::vector<uint8_t> reference::quantize(const Format &format,
                                         const Scales &scales, const float *x,
                                         const Extents &extents,
                                         Rounding rounding, uint64_t seed,
                                         int64_t firstIndex) {
  HostBuilder b;
  BlockGrid grid = blockGridOf(format, extents);
  std::vector<uint8_t> codes(extents.batch * extents.rows * grid.paddedCols);
  bool byFactor = !scales.encodeFactors.empty();
  V seedLow = b.i32(uint32_t(seed)), seedHigh = b.i32(uint32_t(seed >> 32));
  V tensor = b.f32(scales.tensorScale);
  forEachBlock(
      format, extents,
      [&](int64_t index, int64_t batch, int64_t row, int64_t rows,
          int64_t col) {
        V encode =
            byFactor ? b.f32(scales.encodeFactors[index])
                     : divisor<HostBuilder>(b, format,
                                            b.i32(scales.codes[index]), tensor);
        V zero;
        if (format.zero != ZeroPoint::None)
          zero = loadZero(b, format, b.i32(scales.zeros[index]));
        for (int64_t i = 0; i < rows; ++i) {
          int64_t first =
              (batch * extents.rows + row + i) * grid.paddedCols + col;
          V lanes = loadRow(x, extents, batch, row + i, col, format.blockCols);
          std::optional<V> random;
          if (rounding == Rounding::Stochastic) {
            uint64_t index = uint64_t(firstIndex + first);
            random = randomLanes(b, b.i32(uint32_t(index)),
                                 b.i32(uint32_t(index >> 32)), format.blockCols,
                                 seedLow, seedHigh);
          }
          V row =
              byFactor
                  ? encodeByFactor(b, format, lanes, encode, rounding, random)
                  : encodeByScale<HostBuilder>(b, format, lanes, encode, zero,
                                               rounding, random);
          for (int64_t j = 0; j < format.blockCols; ++j)
            codes[first + j] = uint8_t(row[j]);
        }
      });
  return codes;
}

std::vector<float> reference::dequantize(const Format &format,
                                         const Scales &scales,
                                         const uint8_t *codes,
                                         const Extents &extents,
                                         bool withTensorScale) {
  HostBuilder b;
  std::vector<float> values(extents.elements());
  Format applied = format;
  applied.hasTensorScale = format.hasTensorScale && withTensorScale;
  V tensor = b.f32(scales.tensorScale);
  forEachBlock(
      format, extents,
      [&](int64_t index, int64_t batch, int64_t row, int64_t rows,
          int64_t col) {
        V blockScale = decodeScale(b, format.scale, b.i32(scales.codes[index]));
        V zero;
        if (format.zero != ZeroPoint::None)
          zero = loadZero(b, format, b.i32(scales.zeros[index]));
        for (int64_t i = 0; i < rows; ++i) {
          int64_t first = (batch * extents.rows + row + i) * extents.cols + col;
          V lanes(format.blockCols);
          for (int64_t j = 0; j < format.blockCols; ++j)
            lanes[j] = codes[first + j];
          V decoded = decodeLanes<HostBuilder>(b, applied, lanes, blockScale,
                                               tensor, zero);
          for (int64_t j = 0; j < format.blockCols; ++j)
            values[first + j] = decoded.asFloat(j);
        }
      });
  return values;
}

std::vector<float>
reference::fakeQuantize(const Format &format, const ScaleRule &rule,
                        const float *x, const Extents &extents,
                        Rounding rounding, uint64_t seed,
                        std::optional<float> heldAmax, int64_t firstIndex) {
  Scales scales = scale(format, rule, x, extents, heldAmax);
  std::vector<uint8_t> codes =
      quantize(format, scales, x, extents, rounding, seed, firstIndex);
  int64_t paddedCols = blockGridOf(format, extents).paddedCols;
  std::vector<float> padded = dequantize(
      format, scales, codes.data(), {extents.batch, extents.rows, paddedCols});
  std::vector<float> values;
  values.reserve(extents.elements());
  for (int64_t row = 0; row < extents.batch * extents.rows; ++row)
    values.insert(values.end(), padded.begin() + row * paddedCols,
                  padded.begin() + row * paddedCols + extents.cols);
  return values;
}

std::vector<float> reference::rotate(const float *x, int64_t count,
                                     unsigned size,
                                     const std::vector<int> &signs,
                                     bool inverse) {
  HostBuilder b;
  std::vector<float> result(count);
  for (int64_t first = 0; first < count; first += size) {
    V rotated = rotateLanes(b, V::ofFloats(x + first, size), signs, inverse);
    for (unsigned i = 0; i < size; ++i)
      result[first + i] = rotated.asFloat(i);
  }
  return result;
}

/// A run as rotate_c4 orders it: the products of one lane after another.
static void multiplyRun(std::vector<float> &run, const std::vector<int> &signs,
                        const std::vector<float> &matrix, bool inverse) {
  size_t size = run.size();
  std::vector<float> result(size, 0.0f);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j) {
      float entry = inverse ? matrix[j * size + i] : matrix[i * size + j];
      int sign = signs.empty() ? 1 : signs[inverse ? j : i];
      float product = run[i] * (sign < 0 ? -entry : entry);
      result[j] = result[j] + product;
    }
  run = result;
}

void reference::rotateAlong(std::vector<float> &x,
                            const std::vector<int64_t> &shape, int64_t axis,
                            unsigned size, const std::vector<int> &signs,
                            const std::vector<float> &matrix, bool inverse) {
  int64_t inner = 1;
  for (size_t dim = axis + 1; dim < shape.size(); ++dim)
    inner *= shape[dim];
  HostBuilder b;
  std::vector<float> run(size);
  for (int64_t first = 0; first < int64_t(x.size()); first += size * inner)
    for (int64_t column = 0; column < inner; ++column) {
      for (unsigned i = 0; i < size; ++i)
        run[i] = x[first + i * inner + column];
      if (matrix.empty()) {
        V rotated =
            rotateLanes(b, V::ofFloats(run.data(), size), signs, inverse);
        for (unsigned i = 0; i < size; ++i)
          run[i] = rotated.asFloat(i);
      } else {
        multiplyRun(run, signs, matrix, inverse);
      }
      for (unsigned i = 0; i < size; ++i)
        x[first + i * inner + column] = run[i];
    }
}

std::vector<float> reference::scaledMatmul(const float *a, const float *b,
                                           int64_t batch, int64_t m, int64_t n,
                                           int64_t k, double factor,
                                           const float *c) {
  std::vector<float> d(batch * m * n);
  for (int64_t t = 0; t < batch; ++t)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const float *rowA = a + (t * m + i) * k;
        const float *rowB = b + (t * n + j) * k;
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += double(rowA[l]) * double(rowB[l]);
        int64_t at = (t * m + i) * n + j;
        double scaled = sum * factor;
        d[at] = float(c ? scaled + double(c[at]) : scaled);
      }
  return d;
}
