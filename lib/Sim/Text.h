//===-- Text.h - Numbers in messages ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_TEXT_H
#define BLOCKSCALE_LIB_SIM_TEXT_H

#include "blockscale/Sim/Simulator.h"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace blockscale::sim {

inline std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

inline std::string triple(const Dim3 &dim) {
  return "(" + std::to_string(dim.x) + "," + std::to_string(dim.y) + "," +
         std::to_string(dim.z) + ")";
}

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_TEXT_H
