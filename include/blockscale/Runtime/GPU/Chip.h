//===-- Chip.h - Which GPU runs what was compiled for which -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_GPU_CHIP_H
#define BLOCKSCALE_RUNTIME_GPU_CHIP_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blockscale::runtime {

/// A compilation target: `sm_80`, `sm_90a`, `sm_100f`.
struct Chip {
  enum class Kind : uint8_t {
    Portable, ///< Runs on what comes later, too.
    Family,   ///< `f`: the same major version, from the minor one on.
    Exact,    ///< `a`: this one alone.
  };
  int major = 0, minor = 0;
  Kind kind = Kind::Portable;

  /// Nullopt if `target` names no chip.
  static std::optional<Chip> parse(std::string_view target);
  bool runsOn(int deviceMajor, int deviceMinor) const;
  /// `compute capability 9.0 exactly`.
  std::string requirement() const;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_GPU_CHIP_H
