//===-- Chip.cpp - Which GPU runs what was compiled for which ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/GPU/Chip.h"

using namespace blockscale::runtime;

std::optional<Chip> Chip::parse(std::string_view target) {
  if (target.substr(0, 3) != "sm_")
    return std::nullopt;
  target.remove_prefix(3);
  Chip chip;
  if (!target.empty() && (target.back() == 'a' || target.back() == 'f')) {
    chip.kind = target.back() == 'a' ? Kind::Exact : Kind::Family;
    target.remove_suffix(1);
  }
  // The last digit is the minor version: sm_90, sm_103.
  if (target.size() < 2 || target.size() > 3 || target.front() == '0')
    return std::nullopt;
  int number = 0;
  for (char digit : target) {
    if (digit < '0' || digit > '9')
      return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  chip.major = number / 10;
  chip.minor = number % 10;
  return chip;
}

bool Chip::runsOn(int deviceMajor, int deviceMinor) const {
  switch (kind) {
  case Kind::Portable:
    return deviceMajor > major ||
           (deviceMajor == major && deviceMinor >= minor);
  case Kind::Family:
    return deviceMajor == major && deviceMinor >= minor;
  case Kind::Exact:
    return deviceMajor == major && deviceMinor == minor;
  }
  return false;
}

std::string Chip::requirement() const {
  const std::string version = "compute capability " + std::to_string(major) +
                              "." + std::to_string(minor);
  switch (kind) {
  case Kind::Portable:
    return version + " or later";
  case Kind::Family:
    return version + " or a later " + std::to_string(major) + ".x";
  case Kind::Exact:
    return version + " exactly";
  }
  return version;
}
