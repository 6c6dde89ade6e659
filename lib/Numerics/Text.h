//===-- Text.h - Numbers and options as text --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_NUMERICS_TEXT_H
#define BLOCKSCALE_LIB_NUMERICS_TEXT_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale {

/// Digits only, at most four of them.
std::optional<unsigned> parseUnsigned(std::string_view text);
/// A finite f32, the whole text.
std::optional<float> parseFloat(std::string_view text);
/// The shortest text that parseFloat() reads back to the same f32, in the form
/// that MLIR accepts as a number.
std::string textOf(float value);
/// `a, b or c`
std::string listOf(const std::vector<std::string_view> &names);

inline bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

} // namespace blockscale

#endif // BLOCKSCALE_LIB_NUMERICS_TEXT_H
