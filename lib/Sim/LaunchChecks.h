//===-- LaunchChecks.h - A launch against entry and chip --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_LAUNCHCHECKS_H
#define BLOCKSCALE_LIB_SIM_LAUNCHCHECKS_H

#include "Machine.h"
#include "Requirements.h"

namespace blockscale::sim {

/// Fills in what `machine` takes from the launch. Empty, or what the launch
/// asks for that neither the entry nor the chip allows.
std::string checkLaunch(const Launch &launch, const Function &function,
                        const ModuleTarget &target, const Program &program,
                        Machine &machine);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_LAUNCHCHECKS_H
