//===-- Syntax.h - PTX as parsed --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_SYNTAX_H
#define BLOCKSCALE_LIB_SIM_SYNTAX_H

#include "Types.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace blockscale::sim {

struct Operand {
  enum Kind : uint8_t {
    Name,    ///< A register, variable, label or function; may have an offset.
    Integer, ///< `bits`
    Float32, ///< `bits`
    Float64, ///< `bits`
    Vector,  ///< `{a, b}`
    Address, ///< `[a]`, `[a, {b, c}]`
    Group,   ///< `(a, b)` of a call
    Sink,    ///< `_`
  };
  Kind kind = Name;
  bool negated = false; ///< `!%p`
  std::string name;
  std::string second; ///< The q of `p|q`.
  uint64_t bits = 0;
  int64_t offset = 0; ///< `name+offset`
  std::vector<Operand> elements;
};

struct Instruction {
  uint32_t line = 0;
  uint32_t scope = 0;
  std::string guard; ///< Empty if there is none.
  bool guardNegated = false;
  std::string text;               ///< The opcode with all modifiers.
  std::vector<std::string> parts; ///< The same, split at dots.
  std::vector<Operand> operands;
  std::string label; ///< A label instead of an instruction.

  const std::string &opcode() const { return parts.front(); }
  bool has(std::string_view modifier) const {
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i] == modifier)
        return true;
    return false;
  }
  /// The types among the modifiers, in order.
  std::vector<Type> types() const {
    std::vector<Type> result;
    for (size_t i = 1; i < parts.size(); ++i)
      if (Type type = typeFromName(parts[i]); type != Type::None)
        result.push_back(type);
    return result;
  }
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t line = 0;
  uint64_t align = 1;
  uint64_t count = 1; ///< Elements, all dimensions and vector width.
  bool isArray = false;
  bool unsized = false;    ///< `.extern .shared .b8 name[]`
  bool isRegister = false; ///< A `.reg`, as an old-style parameter too.
  struct Init {
    uint64_t index;   ///< Of the element.
    uint64_t bits;    ///< Its value, or the addend to a symbol's address.
    std::string name; ///< The symbol, if it is an address.
  };
  std::vector<Init> init;

  uint64_t bytes() const { return count * ((bitWidth(type) + 7) / 8); }
};

/// A `{ }` region with the names declared in it.
struct Scope {
  uint32_t parent = 0;
  std::unordered_map<std::string, uint32_t> variables; ///< Into `locals`.
  std::unordered_map<std::string, uint32_t> labels;    ///< Into `body`.
};

struct Function {
  std::string name;
  uint32_t line = 0;
  bool isEntry = false;
  bool hasBody = false;
  std::vector<Variable> params, results;
  std::vector<Variable> locals; ///< Registers and variables of all scopes.
  std::vector<Scope> scopes;
  std::vector<Instruction> body;
  std::optional<std::array<uint32_t, 3>> requiredBlock, maxBlock, cluster;
  uint32_t maxClusterRank = 0; ///< 0: no limit.
};

struct Syntax {
  std::string version, target;
  uint32_t targetLine = 1;
  std::vector<Variable> globals;
  std::vector<Function> functions;
};

/// Nullopt and an error with its line, if `text` is not PTX.
std::optional<Syntax> parsePtx(std::string_view text, std::string &error);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_SYNTAX_H
