//===-- NumberOption.h - Whole numbers on command lines ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_NUMBEROPTION_H
#define BLOCKSCALE_TOOLS_NUMBEROPTION_H

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace blockscale {

/// Empty, or why `text` is no whole number from `least` to `most`.
inline std::string checkNumber(const std::string &text, uint64_t least,
                               uint64_t most) {
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
  if (!text.empty() &&
      text.find_first_not_of("0123456789") == std::string::npos && !errno &&
      value >= least && value <= most)
    return "";
  return "expects a whole number from " + std::to_string(least) + " to " +
         std::to_string(most) + ", but got '" + text + "'";
}

/// CLI11's own checks accept fractions, and show their limits as such.
inline CLI::Validator wholeNumber(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](std::string &text) { return checkNumber(text, least, most); }, "");
}

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_NUMBEROPTION_H
