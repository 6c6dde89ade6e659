//===-- Modifiers.h - What may follow an opcode -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MODIFIERS_H
#define BLOCKSCALE_LIB_SIM_MODIFIERS_H

#include "Syntax.h"

namespace blockscale::sim {

/// Empty, or the modifier of `instruction` that its opcode does not have, or
/// that is not executed: nothing that an instruction says is ignored.
std::string unknownModifier(const Instruction &instruction);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MODIFIERS_H
