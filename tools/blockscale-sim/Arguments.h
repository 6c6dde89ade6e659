//===-- Arguments.h - Arrays and numbers for an entry -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_SIM_ARGUMENTS_H
#define BLOCKSCALE_TOOLS_SIM_ARGUMENTS_H

#include "blockscale/Runtime/Tensor.h"
#include "blockscale/Sim/Simulator.h"

namespace blockscale::sim {

/// An array to write when the kernel has run.
struct OutputArray {
  std::string path;
  uint64_t address = 0;
  runtime::Tensor tensor;
};

/// Appends the parameter that `text` describes. False with an error.
bool addArgument(const std::string &text, Device &device, Launch &launch,
                 std::vector<OutputArray> &outputs, std::string &error);

} // namespace blockscale::sim

#endif // BLOCKSCALE_TOOLS_SIM_ARGUMENTS_H
