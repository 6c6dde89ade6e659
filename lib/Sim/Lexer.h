//===-- Lexer.h - The tokens of PTX text ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_LEXER_H
#define BLOCKSCALE_LIB_SIM_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::sim {

struct Token {
  enum Kind : uint8_t {
    Name,    ///< Opcodes with all their modifiers, registers, directives.
    Integer, ///< `bits` holds it.
    Float32, ///< `bits` holds its bits: 0f3F800000.
    Float64, ///< 0d3FF0000000000000 and decimal literals.
    String,
    Mark, ///< One punctuation character, in `text`.
    End,
  };
  Kind kind = End;
  uint32_t line = 0;
  std::string_view text;
  uint64_t bits = 0;

  bool is(std::string_view mark) const {
    return (kind == Mark || kind == Name) && text == mark;
  }
};

/// The tokens of `text`, the last one End. Views point into `text`. On an
/// error, `error` says what and where.
std::vector<Token> tokenize(std::string_view text, std::string &error);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_LEXER_H
