//===-- Random.h - Made-up inputs -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_RANDOM_H
#define BLOCKSCALE_RUNTIME_RANDOM_H

#include "blockscale/Runtime/Manifest.h"
#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

/// An input of `type` with the given (logical) sizes, for trying things out
/// and for benchmarks. Floats are bell-shaped with mean 0 and deviation 1;
/// 8-bit floats, most often scales, are positive and near 1; packed elements
/// are any code; integers are in [0, 127]. The same seed and sizes give the
/// same bits on every machine.
std::optional<Tensor> randomInput(const TensorType &type,
                                  const std::vector<int64_t> &sizes,
                                  uint64_t seed, std::string &error);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_RANDOM_H
