//===-- CommandLine.h - Options of blockscale-run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_COMMANDLINE_H
#define BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_COMMANDLINE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace blockscale::run {

struct Options {
  std::string library;
  std::string entry;  ///< Empty: the only one.
  std::string device; ///< Empty: what the library was compiled for.
  std::vector<std::string> inputs, outputs;
  bool convertInputs = false, f32Outputs = false;
  std::optional<uint64_t> randomSeed;
  std::map<size_t, std::vector<int64_t>> shapes; ///< By input.
  std::optional<uint32_t> threads;
  bool list = false, json = false;
  bool benchmark = false;
  uint32_t repetitions = 0; ///< 0: as many as a second holds.
  uint32_t inputSets = 0;   ///< 0: as many as the device's cache demands.
  bool profile = false;
};

/// Reads the command line. Nullopt if there is nothing to run: help was asked
/// for and printed (`error` is empty), or something is wrong.
std::optional<Options> parseCommandLine(int argc, char **argv,
                                        std::string &error);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_COMMANDLINE_H
