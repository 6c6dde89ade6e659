//===-- ParseStatements.cpp - The bodies of functions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Parser.h"

namespace blockscale::sim {

bool Parser::block(Function &function, uint32_t scope) {
  while (!accept("}")) {
    if (peek().kind == Token::End)
      return fail("'}'");
    if (!statement(function, scope))
      return false;
  }
  return true;
}

bool Parser::enter(Function &function, uint32_t scope, size_t first) {
  Scope &into = function.scopes[scope];
  for (size_t i = first; i < function.locals.size(); ++i) {
    const Variable &variable = function.locals[i];
    auto [it, isNew] = into.variables.try_emplace(variable.name, i);
    bool again =
        !isNew && !(variable.unsized && function.locals[it->second].unsized);
    if (again || into.labels.count(variable.name))
      return twice(variable.name, variable.line);
    // The outermost scope is that of the parameters.
    if (scope == 0)
      for (const auto *formals : {&function.params, &function.results})
        for (const Variable &formal : *formals)
          if (formal.name == variable.name)
            return twice(variable.name, variable.line);
  }
  return true;
}

bool Parser::statement(Function &function, uint32_t scope) {
  if (accept(";"))
    return true;
  if (accept("{")) {
    function.scopes.emplace_back();
    function.scopes.back().parent = scope;
    return nested([&] { return block(function, function.scopes.size() - 1); });
  }
  const Token &token = peek();
  if (token.kind == Token::Name && token.text[0] == '.') {
    std::string_view name = next().text;
    static constexpr std::pair<std::string_view, Space> spaces[] = {
        {".reg", Space::Local},     {".local", Space::Local},
        {".shared", Space::Shared}, {".param", Space::Param},
        {".global", Space::Global}, {".const", Space::Const}};
    for (auto [spelling, space] : spaces)
      if (name == spelling) {
        size_t first = function.locals.size();
        if (!declarations(space, name == ".reg", function.locals))
          return false;
        return enter(function, scope, first);
      }
    if (name == ".loc") {
      uint32_t line = peek().line;
      while (peek().line == line && peek().kind != Token::End)
        next();
      return true;
    }
    if (name == ".extern")
      return true;
    if (name == ".pragma" || name == ".branchtargets" ||
        name == ".calltargets" || name == ".callprototype") {
      while (!peek().is(";") && peek().kind != Token::End)
        next();
      return expect(";");
    }
    --at;
    return fail("a statement");
  }
  if (token.kind == Token::Name && peek(1).is(":")) {
    Instruction label;
    label.line = token.line;
    label.label = std::string(next().text);
    next();
    // `L: .branchtargets a, b;` is a table for brx.idx, `L: .callprototype`
    // a type for indirect calls.
    if (peek().is(".branchtargets")) {
      next();
      Operand table;
      table.kind = Operand::Group;
      if (!list(";", table.elements))
        return false;
      label.operands.push_back(std::move(table));
    }
    label.scope = scope;
    Scope &into = function.scopes[scope];
    if (into.variables.count(label.label) ||
        !into.labels.try_emplace(label.label, function.body.size()).second)
      return twice(label.label, label.line);
    function.body.push_back(std::move(label));
    return true;
  }
  return instruction(function, scope);
}

bool Parser::list(std::string_view close, std::vector<Operand> &out) {
  while (!accept(close)) {
    out.emplace_back();
    if (!operand(out.back()))
      return false;
    if (!peek().is(close) && !expect(","))
      return false;
  }
  return true;
}

bool Parser::operand(Operand &out) {
  if (accept("{")) {
    out.kind = Operand::Vector;
    return nested([&] { return list("}", out.elements); });
  }
  if (accept("[")) {
    out.kind = Operand::Address;
    return nested([&] { return list("]", out.elements); });
  }
  if (accept("(")) {
    out.kind = Operand::Group;
    return nested([&] { return list(")", out.elements); });
  }
  out.negated = accept("!");
  bool minus = accept("-");
  const Token token = next();
  switch (token.kind) {
  case Token::Integer:
    out.kind = Operand::Integer;
    out.bits = minus ? -token.bits : token.bits;
    return true;
  case Token::Float32:
  case Token::Float64:
    out.kind =
        token.kind == Token::Float32 ? Operand::Float32 : Operand::Float64;
    out.bits = token.bits;
    if (minus)
      out.bits ^= token.kind == Token::Float32 ? 0x80000000u : 1ull << 63;
    return true;
  case Token::Name:
    break;
  default:
    --at;
    return fail("an operand");
  }
  out.kind = token.text == "_" ? Operand::Sink : Operand::Name;
  out.name = std::string(token.text);
  if (accept("|"))
    out.second = std::string(next().text);
  while (peek().is("+") || peek().is("-")) {
    // `+-8` is how nvcc spells a negative offset.
    bool negative = next().is("-");
    uint64_t value = 0;
    if (!integer(value))
      return false;
    out.offset += negative ? -value : value;
  }
  return true;
}

bool Parser::instruction(Function &function, uint32_t scope) {
  Instruction instruction;
  instruction.line = peek().line;
  instruction.scope = scope;
  if (accept("@")) {
    instruction.guardNegated = accept("!");
    instruction.guard = std::string(next().text);
  }
  if (peek().kind != Token::Name)
    return fail("an instruction");
  std::string_view text = next().text;
  instruction.text = std::string(text);
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find('.', start), text.size());
    instruction.parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  if (!list(";", instruction.operands))
    return false;
  function.body.push_back(std::move(instruction));
  return true;
}

} // namespace blockscale::sim
