//===-- Copies.h - What asynchronous copies share ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_COPIES_H
#define BLOCKSCALE_LIB_SIM_COPIES_H

#include "Decoder.h"
#include "Mbarrier.h"
#include "Reduction.h"
#include "TensorCopy.h"

namespace blockscale::sim {

/// cp.async.bulk and cp.reduce.async.bulk, with all their forms.
bool decodeBulk(Decoder &decoder);

/// The type in which a tensor map's elements are reduced.
Type typeOf(TensorMapType type);
/// Combines `bytes` at `from` into `to`; `address` chooses the lock.
void reduceBytes(Warp &w, ReductionOp op, Type type, uint64_t address,
                 uint8_t *to, const uint8_t *from, uint32_t bytes);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_COPIES_H
