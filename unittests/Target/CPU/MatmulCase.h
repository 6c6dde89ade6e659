//===-- MatmulCase.h - A scaled_matmul, its data and its answer -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_UNITTESTS_TARGET_CPU_MATMULCASE_H
#define BLOCKSCALE_UNITTESTS_TARGET_CPU_MATMULCASE_H

#include "Compiled.h"
#include "Values.h"

#include "blockscale/Numerics/Reference.h"

#include <optional>

namespace blockscale::test {

/// One side of a product.
struct Side {
  std::optional<Format> format; ///< Without one, plain reals.
  runtime::DataType real = runtime::DataType::F32;
  bool tiled = false;
  /// A scale of 1/2 to 2 for each block, so that sums are exact; otherwise
  /// scales of every size.
  bool moderate = true;

  std::string describe() const;
};

/// D = alpha A B^T + C. M, N and the batch are dynamic in the compiled code
/// unless scales are tiled.
struct MatmulCase {
  Side lhs, rhs;
  int64_t k = 0;
  int64_t batchDims = 0;
  bool sharedRhs = false;
  bool alpha = false;
  std::optional<runtime::DataType> acc = std::nullopt;
  runtime::DataType result = runtime::DataType::F32;
  /// Operands' types and the region, or nothing. The region ends in a yield;
  /// the function gets the operands as %operand0, %operand1, ...
  std::vector<std::string> operandTypes = {};
  std::string epilogue = {};
  /// Static extents, for tiled scales.
  int64_t staticM = -1, staticN = -1;

  std::string describe() const;
  std::string text() const;
};

/// The data of one call, and the f32 accumulators it should give.
struct MatmulData {
  MatmulData(const MatmulCase &c, std::vector<int64_t> batch, int64_t m,
             int64_t n, uint32_t seed);

  /// Everything but epilogue operands.
  std::vector<runtime::TensorView> inputs() const;

  /// f32, row-major [batch, m, n].
  std::vector<float> expected;
  /// Sum of |a| |b| of each, times the factor: what errors are measured by.
  std::vector<float> magnitude;
  std::vector<int64_t> resultShape;

private:
  struct SideData {
    std::optional<Reals> reals;
    std::vector<uint8_t> elements;
    std::vector<uint8_t> scales; ///< As memory holds them.
    std::vector<uint8_t> zeros;
    float tensorScale = 1;
    std::vector<float> values;
    std::vector<runtime::TensorView> views;
  };
  void fill(SideData &data, const Side &side, std::vector<int64_t> batch,
            int64_t rows, int64_t k, uint32_t seed);

  SideData sides[2];
  float alpha = 1;
  std::optional<Reals> acc;
  bool hasAlpha = false;
};

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_TARGET_CPU_MATMULCASE_H
