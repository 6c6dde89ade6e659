//===-- ScaleLayout.cpp - Where block scales lie in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Layout/ScaleLayout.h"

#include <cstring>

namespace {
/// Index arithmetic on host integers.
struct HostIndex {
  using Value = int64_t;
  int64_t add(int64_t a, int64_t b) { return a + b; }
  int64_t mul(int64_t a, int64_t b) { return a * b; }
  int64_t div(int64_t a, int64_t b) { return a / b; }
  int64_t rem(int64_t a, int64_t b) { return a % b; }
};
} // namespace

int64_t blockscale::tiledScaleOffset(int64_t row, int64_t col, int64_t cols) {
  HostIndex index;
  return tiledScaleOffset(index, row, col, cols);
}

/// Calls `visit(linear, tiled)` with both offsets of every scale.
template <typename F>
static void forEachScale(int64_t batch, int64_t rows, int64_t cols, F visit) {
  int64_t bytes = blockscale::tiledScaleBytes(rows, cols);
  for (int64_t t = 0; t < batch; ++t)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        visit((t * rows + row) * cols + col,
              t * bytes + blockscale::tiledScaleOffset(row, col, cols));
}

void blockscale::packTiledScales(const uint8_t *linear, uint8_t *tiled,
                                 int64_t batch, int64_t rows, int64_t cols) {
  std::memset(tiled, 0, size_t(batch * tiledScaleBytes(rows, cols)));
  forEachScale(batch, rows, cols,
               [&](int64_t from, int64_t to) { tiled[to] = linear[from]; });
}

void blockscale::unpackTiledScales(const uint8_t *tiled, uint8_t *linear,
                                   int64_t batch, int64_t rows, int64_t cols) {
  forEachScale(batch, rows, cols,
               [&](int64_t to, int64_t from) { linear[to] = tiled[from]; });
}
