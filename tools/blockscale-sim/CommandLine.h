//===-- CommandLine.h - Options of blockscale-sim ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_SIM_COMMANDLINE_H
#define BLOCKSCALE_TOOLS_SIM_COMMANDLINE_H

#include "blockscale/Sim/Simulator.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscale::sim {

struct CommandLine {
  std::string file;
  bool list = false;
  std::vector<std::string> arguments;
  Launch launch;
};

/// Nullopt after printing help, or with `error`.
std::optional<CommandLine> parseCommandLine(int argc, char **argv,
                                            std::string &error);

} // namespace blockscale::sim

#endif // BLOCKSCALE_TOOLS_SIM_COMMANDLINE_H
