//===-- LaunchChecks.cpp - A launch against entry and chip ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits are those of the CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability".
//
//===----------------------------------------------------------------------===//
#include "LaunchChecks.h"
#include "Text.h"

namespace blockscale::sim {

namespace {
std::string expects(const std::string &what, const std::string &got) {
  return "expects " + what + ", but got " + got;
}
std::string expects(const std::string &what, uint64_t got) {
  return expects(what, std::to_string(got));
}

Dim3 dim(const std::array<uint32_t, 3> &value) {
  return {value[0], value[1], value[2]};
}
bool equal(const Dim3 &a, const Dim3 &b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

std::string checkParameters(const Launch &launch, const Function &function,
                            const Program &program, Machine &machine) {
  if (launch.params.size() != function.params.size())
    return expects(std::to_string(function.params.size()) + " parameters",
                   launch.params.size());
  machine.params.assign(program.paramBytes, 0);
  for (size_t i = 0; i < launch.params.size(); ++i) {
    uint64_t bytes = function.params[i].bytes();
    if (launch.params[i].size() != bytes)
      return expects(std::to_string(bytes) + " bytes for parameter '" +
                         function.params[i].name + "'",
                     launch.params[i].size());
    std::copy(launch.params[i].begin(), launch.params[i].end(),
              machine.params.begin() + program.paramOffsets[i]);
  }
  return "";
}

std::string checkGrid(const Launch &launch) {
  const Dim3 &grid = launch.grid, &block = launch.block;
  if (!grid.count() || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return expects("a grid from 1 to (2147483647,65535,65535)", triple(grid));
  if (!block.count() || block.x > 1024 || block.y > 1024 || block.z > 64)
    return expects("a block from 1 to (1024,1024,64)", triple(block));
  if (block.count() > 1024)
    return expects("at most 1024 threads in a block",
                   triple(block) + ", which are " +
                       std::to_string(block.count()));
  return "";
}

std::string checkBlock(const Launch &launch, const Function &function) {
  if (function.requiredBlock &&
      !equal(dim(*function.requiredBlock), launch.block))
    return expects("blocks of " + triple(dim(*function.requiredBlock)) +
                       " (.reqntid)",
                   triple(launch.block));
  // The ISA's limit is the product.
  if (function.maxBlock &&
      dim(*function.maxBlock).count() < launch.block.count())
    return expects("at most " +
                       std::to_string(dim(*function.maxBlock).count()) +
                       " threads (.maxntid)",
                   launch.block.count());
  return "";
}

std::string checkCluster(const Launch &launch, const Function &function,
                         const ModuleTarget &target, Machine &machine) {
  const Dim3 &grid = launch.grid;
  Dim3 &cluster = machine.cluster;
  cluster = launch.cluster;
  if (function.cluster) {
    Dim3 required = dim(*function.cluster);
    if (cluster.count() == 1)
      cluster = required;
    else if (!equal(cluster, required))
      return expects("clusters of " + triple(required) +
                         " (.reqnctapercluster)",
                     triple(cluster));
  }
  if (!cluster.count() || grid.x % cluster.x || grid.y % cluster.y ||
      grid.z % cluster.z)
    return expects("a cluster that divides the grid " + triple(grid),
                   triple(cluster));
  uint64_t most = launch.nonPortableCluster ? 16 : 8;
  if (cluster.count() > most)
    return expects("a cluster of at most " + std::to_string(most) + " CTAs" +
                       (most == 8 ? " (16 where a launch allows a size that is "
                                    "not portable)"
                                  : ""),
                   triple(cluster));
  if (cluster.count() > 1 && target.number < 90)
    return expects("no cluster on sm_" + std::to_string(target.number) +
                       ", which has none",
                   triple(cluster));
  if (function.maxClusterRank && cluster.count() > function.maxClusterRank)
    return expects("a cluster of at most " +
                       std::to_string(function.maxClusterRank) +
                       " CTAs (.maxclusterrank)",
                   triple(cluster));
  return "";
}

std::string checkShared(const Launch &launch, const ModuleTarget &target,
                        const Program &program, Machine &machine) {
  uint64_t align = program.sharedAlign;
  uint64_t start = (program.sharedBytes + align - 1) / align * align;
  uint64_t total =
      launch.sharedBytes ? start + launch.sharedBytes : program.sharedBytes;
  machine.dynamicOffset = start;
  machine.sharedBytes = total;
  uint32_t most = target.maxSharedBytes();
  if (total <= most)
    return "";
  return expects("at most " + std::to_string(most) +
                     " bytes of shared memory on sm_" +
                     std::to_string(target.number),
                 std::to_string(total) + ", " +
                     std::to_string(program.sharedBytes) + " of them static");
}
} // namespace

std::string checkLaunch(const Launch &launch, const Function &function,
                        const ModuleTarget &target, const Program &program,
                        Machine &machine) {
  machine.grid = launch.grid;
  machine.block = launch.block;
  std::string error = checkParameters(launch, function, program, machine);
  if (error.empty())
    error = checkGrid(launch);
  if (error.empty())
    error = checkBlock(launch, function);
  if (error.empty())
    error = checkCluster(launch, function, target, machine);
  if (error.empty())
    error = checkShared(launch, target, program, machine);
  return error;
}

} // namespace blockscale::sim
