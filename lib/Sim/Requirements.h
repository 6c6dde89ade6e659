//===-- Requirements.h - Targets and versions of instructions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_REQUIREMENTS_H
#define BLOCKSCALE_LIB_SIM_REQUIREMENTS_H

#include "Syntax.h"

namespace blockscale::sim {

/// A module's `.target sm_120a` and `.version 8.7`.
struct ModuleTarget {
  unsigned number = 0;  ///< 120
  char suffix = 0;      ///< 'a', 'f' or none.
  unsigned version = 0; ///< 87

  /// Shared memory of a CTA at most, static and dynamic, in bytes.
  uint32_t maxSharedBytes() const;
};

/// Nullopt and an error if there is no such target, or if the PTX version does
/// not have it yet.
std::optional<ModuleTarget> moduleTarget(const Syntax &syntax,
                                         std::string &error);

/// What keeps a module for `target` from holding `instruction`: empty, or
/// `.block_scale needs .target sm_120a, ...; this module's is sm_80`.
std::string missingFor(const Instruction &instruction,
                       const ModuleTarget &target);
/// The same of a special register or a directive.
std::string missingForName(std::string_view name, const ModuleTarget &target);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_REQUIREMENTS_H
