//===-- Parser.h - PTX text to syntax ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_PARSER_H
#define BLOCKSCALE_LIB_SIM_PARSER_H

#include "Lexer.h"
#include "Syntax.h"

namespace blockscale::sim {

/// By recursive descent; each function returns false after fail().
class Parser {
public:
  Parser(std::vector<Token> tokens, std::string &error)
      : tokens(std::move(tokens)), error(error) {}
  bool module(Syntax &syntax);

private:
  /// In quotes; what is no text, as numbers.
  static std::string shown(const Token &token);
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  Token next() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  bool accept(std::string_view text) {
    if (!peek().is(text))
      return false;
    next();
    return true;
  }
  bool fail(const std::string &expected) {
    if (error.empty())
      error = "line " + std::to_string(peek().line) + ": expects " + expected +
              ", but got " + shown(peek());
    return false;
  }
  /// A limit of this parser, so that hostile text ends in an error.
  bool beyond(uint64_t limit, const std::string &what) {
    if (error.empty())
      error = "line " + std::to_string(peek().line) + ": expects at most " +
              std::to_string(limit) + " " + what;
    return false;
  }
  /// One pair of braces or brackets further inside.
  template <typename Body> bool nested(Body body) {
    constexpr uint32_t most = 1000;
    if (++depth > most)
      return beyond(most, "braces and brackets inside each other");
    bool succeeded = body();
    --depth;
    return succeeded;
  }
  bool expect(std::string_view text) {
    return accept(text) || fail("'" + std::string(text) + "'");
  }
  /// `name` is declared at `line` for a second time.
  bool twice(const std::string &name, uint32_t line) {
    if (error.empty())
      error = "line " + std::to_string(line) + ": '" + name +
              "' is declared twice in one scope";
    return false;
  }
  bool integer(uint64_t &value);
  bool skipBraces();
  bool variable(Space space, bool isRegister, std::vector<Variable> &out);
  bool initializer(Variable &variable, uint64_t &index);
  bool declarations(Space space, bool isRegister, std::vector<Variable> &out);
  bool checkGlobals(const Syntax &syntax, size_t first);
  bool parameters(std::vector<Variable> &out);
  bool function(Syntax &syntax, bool isEntry);
  bool directive(Syntax &syntax);
  bool triple(std::optional<std::array<uint32_t, 3>> &out);
  bool block(Function &function, uint32_t scope);
  /// Enters what function.locals has from `first` on into its scope.
  bool enter(Function &function, uint32_t scope, size_t first);
  bool statement(Function &function, uint32_t scope);
  bool instruction(Function &function, uint32_t scope);
  bool operand(Operand &out);
  bool list(std::string_view close, std::vector<Operand> &out);

  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t depth = 0;
  std::string &error;
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_PARSER_H
