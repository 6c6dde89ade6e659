//===-- Reference.h - Whole tensors on the host -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each operation computes, by the same templates that the compiler turns
// into IR. Constants are folded with it, and compiled code is tested against
// it. Plain memory, row-major; one code per array entry, nothing packed.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_REFERENCE_H
#define BLOCKSCALE_NUMERICS_REFERENCE_H

#include "blockscale/Numerics/Format.h"
#include "blockscale/Numerics/ScaleRule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace blockscale::reference {

/// A tensor as batches of matrices. Formats whose blocks have one row do not
/// care how leading dimensions are split between `batch` and `rows`.
struct Extents {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t cols = 1;

  int64_t elements() const { return batch * rows * cols; }
};

/// How a format divides a tensor.
struct BlockGrid {
  int64_t paddedCols; ///< cols rounded up to whole blocks.
  int64_t scaleRows;  ///< Rows of scales in a batch.
  int64_t scaleCols;  ///< Scales in a row.
};
BlockGrid blockGridOf(const Format &format, const Extents &extents);

/// What `scale` returns.
struct Scales {
  /// batch x scaleRows x scaleCols codes; f32 scales as their bits.
  std::vector<uint32_t> codes;
  /// Of formats that have one.
  float tensorScale = 1;
  /// A stored zero point per scale, of formats that have one.
  std::vector<uint32_t> zeros;
  /// A factor per scale, where the rule has one.
  std::vector<float> encodeFactors;
};

/// The largest magnitude, NaN left out (scale_c9).
float amax(const float *x, int64_t count);

/// The scales of x (scale_c*), for the tensor's own amax or a held one.
Scales scale(const Format &format, const ScaleRule &rule, const float *x,
             const Extents &extents,
             std::optional<float> heldAmax = std::nullopt);

/// batch x rows x paddedCols codes (quantize_c*): by the encode factors of
/// `scales` if it has them, else by the scales. `seed` is for stochastic
/// rounding, which draws by the index of an element: x starts at `firstIndex`
/// of a larger tensor.
std::vector<uint8_t> quantize(const Format &format, const Scales &scales,
                              const float *x, const Extents &extents,
                              Rounding rounding, uint64_t seed = 0,
                              int64_t firstIndex = 0);

/// The values of codes (dequantize_c*); `extents.cols` is a multiple of the
/// block. Without the tensor scale if asked: scaledMatmul wants it apart.
std::vector<float> dequantize(const Format &format, const Scales &scales,
                              const uint8_t *codes, const Extents &extents,
                              bool withTensorScale = true);

/// Q(x), as f32: scaled, quantized and dequantized as if padded, without the
/// padding (fake_c1).
std::vector<float> fakeQuantize(const Format &format, const ScaleRule &rule,
                                const float *x, const Extents &extents,
                                Rounding rounding, uint64_t seed = 0,
                                std::optional<float> heldAmax = std::nullopt,
                                int64_t firstIndex = 0);

/// Rotates groups of `size` neighbours (rotate_c*); `count` is a multiple of
/// `size`, a power of two up to 256. `signs` holds 1 or -1, or nothing.
std::vector<float> rotate(const float *x, int64_t count, unsigned size,
                          const std::vector<int> &signs, bool inverse);

/// Rotates runs of `size` along dimension `axis` of a tensor in place
/// (rotate_c*). `matrix` is empty, or size x size entries that take the place
/// of Hadamard's matrix (rotate_c4).
void rotateAlong(std::vector<float> &x, const std::vector<int64_t> &shape,
                 int64_t axis, unsigned size, const std::vector<int> &signs,
                 const std::vector<float> &matrix, bool inverse);

/// D[m, n] = factor * sum over k of A[m, k] * B[n, k] + C[m, n] (matmul_c*) in
/// f64, then rounded to f32. `factor` is the product of both tensor scales and
/// alpha; `c` may be null.
std::vector<float> scaledMatmul(const float *a, const float *b, int64_t batch,
                                int64_t m, int64_t n, int64_t k, double factor,
                                const float *c = nullptr);

} // namespace blockscale::reference

#endif // BLOCKSCALE_NUMERICS_REFERENCE_H
