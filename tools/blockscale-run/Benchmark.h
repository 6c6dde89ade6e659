//===-- Benchmark.h - Timing calls ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_BENCHMARK_H
#define BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_BENCHMARK_H

#include "blockscale/Runtime/Library.h"

namespace blockscale::run {

/// Seconds of one call, over many.
struct Timing {
  double median = 0, min = 0, max = 0;
  size_t repetitions = 0, warmUp = 0;
  size_t inputSets = 1; ///< Calls of a repetition, each with other inputs.
  uint64_t bytes = 0;   ///< Of the inputs and results of a call.

  double bytesPerSecond() const {
    return median > 0 ? static_cast<double>(bytes) / median : 0;
  }
  /// `median 1.234 ms, 567 GB/s, min 1.2 ms, max 1.5 ms (100 repetitions...)`.
  std::string text() const;
};

/// Calls `entry` until it is warm and then `repetitions` times, or, if that is
/// 0, for a second and 5 to 1000 times. Nullopt if a call fails.
///
/// On a GPU, the device's own clock measures, without copies to and from the
/// host. A repetition there is a round over `inputSets` copies of the inputs,
/// so that none is left in the cache from its last use; 0 takes as many as that
/// needs.
std::optional<Timing> measure(runtime::Library &library,
                              const runtime::Entry &entry,
                              const std::vector<runtime::TensorView> &inputs,
                              size_t repetitions, size_t inputSets,
                              std::string &error);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_BLOCKSCALE_RUN_BENCHMARK_H
