//===-- Moves.h - Handlers that calls are made of ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MOVES_H
#define BLOCKSCALE_LIB_SIM_MOVES_H

#include "Program.h"

namespace blockscale::sim {

Handler moveHandler(Type type);
Handler branchHandler();
Handler trapHandler();
/// Writes 0 to the 4 bytes of local memory at `offset[0]`.
Handler zeroParamHandler();

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MOVES_H
