//===-- Balance.cpp - Balanced matrices on the host -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Balance.h"
#include "blockscale/Numerics/HostBuilder.h"

#include <algorithm>
#include <cmath>

using namespace blockscale;

namespace {

/// Sum and sum of squares of one row or column.
struct Sums {
  double sum = 0, squares = 0;

  void add(double x) {
    sum += x;
    squares += x * x;
  }
  /// balance_c1
  float deviation(int64_t count) const {
    double n = double(count);
    double variance =
        (squares - sum * sum / n) / double(std::max<int64_t>(count - 1, 1));
    return std::sqrt(float(variance < 0 ? 0.0 : variance));
  }
};

/// The columns [first, last) of all rows.
class Tile {
public:
  Tile(const float *w, int64_t rows, int64_t stride, int64_t first,
       int64_t last)
      : w(w), rows(rows), stride(stride), first(first), cols(last - first),
        rowFactors(rows, 1.0f), factors(cols, 1.0f), rowDeviations(rows),
        deviations(cols) {}

  /// The factors of the columns.
  std::vector<float> balance(int64_t steps);

private:
  void measure();

  const float *w;
  int64_t rows, stride, first, cols;
  std::vector<float> rowFactors, factors, rowDeviations, deviations;
};

} // namespace

void Tile::measure() {
  std::vector<float> inverse(cols);
  for (int64_t col = 0; col < cols; ++col)
    inverse[col] = 1.0f / factors[col];
  std::vector<Sums> sums(cols);
  for (int64_t row = 0; row < rows; ++row) {
    Sums ofRow;
    float rowInverse = 1.0f / rowFactors[row];
    const float *values = w + row * stride + first;
    for (int64_t col = 0; col < cols; ++col) {
      float scaled = values[col] * inverse[col];
      scaled = scaled * rowInverse;
      ofRow.add(scaled);
      sums[col].add(scaled);
    }
    rowDeviations[row] = ofRow.deviation(cols);
  }
  for (int64_t col = 0; col < cols; ++col)
    deviations[col] = sums[col].deviation(rows);
}

std::vector<float> Tile::balance(int64_t steps) {
  HostBuilder b;
  std::vector<float> best = factors;
  HostValue target = b.f32(0), bestImbalance = b.f32(0);
  for (int64_t step = 0; step < steps; ++step) {
    measure();
    float smallest = deviations[0], largest = deviations[0];
    bool isFinite = true;
    for (const std::vector<float> *some : {&rowDeviations, &deviations})
      for (float deviation : *some) {
        isFinite &= std::isfinite(deviation);
        smallest = std::min(smallest, deviation);
        largest = std::max(largest, deviation);
      }
    HostValue now = imbalance(b, b.f32(smallest), b.f32(largest));
    if (step == 0)
      target = balanceTarget(b, b.f32(smallest));
    if (!isFinite || (step > 0 && now.asFloat() > bestImbalance.asFloat()))
      break;
    bestImbalance = now;
    best = factors;
    auto update = [&](std::vector<float> &all,
                      const std::vector<float> &measured) {
      for (size_t i = 0; i < all.size(); ++i)
        all[i] =
            nextFactor(b, b.f32(all[i]), b.f32(measured[i]), target).asFloat();
    };
    update(rowFactors, rowDeviations);
    update(factors, deviations);
  }
  return best;
}

void reference::balanceTiles(const float *w, int64_t rows, int64_t cols,
                             int64_t block, int64_t steps, int64_t firstTile,
                             int64_t lastTile, Balanced &result) {
  for (int64_t tile = firstTile; tile < lastTile; ++tile) {
    int64_t first = tile * block, last = std::min(first + block, cols);
    std::vector<float> factors =
        Tile(w, rows, cols, first, last).balance(steps);
    std::copy(factors.begin(), factors.end(), result.columns.begin() + first);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = first; col < last; ++col)
        result.values[row * cols + col] =
            w[row * cols + col] / factors[col - first];
  }
}
