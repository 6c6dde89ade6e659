//===-- Reduction.h - Operations on memory ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_REDUCTION_H
#define BLOCKSCALE_LIB_SIM_REDUCTION_H

#include "Types.h"

#include <string_view>
#include <utility>

namespace blockscale::sim {

enum class ReductionOp : uint8_t {
  Add,
  Inc,
  Dec,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exch,
  Cas,
};
extern const std::pair<std::string_view, ReductionOp> reductionNames[10];

/// The new value of memory that holds `a`. Of cas: `c` if a == b.
uint64_t reduce(ReductionOp op, Type type, uint64_t a, uint64_t b, uint64_t c,
                bool flushes);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_REDUCTION_H
