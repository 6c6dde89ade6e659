//===-- Parser.cpp - PTX modules and declarations -------------------------*-
// C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Parser.h"

namespace blockscale::sim {

std::string Parser::shown(const Token &token) {
  if (token.kind == Token::End)
    return "the end of the file";
  std::string text = "'";
  for (unsigned char c : token.text) {
    char number[8];
    std::snprintf(number, sizeof number, "\\x%02x", c);
    text += c >= ' ' && c < 127 ? std::string(1, c) : number;
  }
  return text + "'";
}

bool Parser::integer(uint64_t &value) {
  bool minus = accept("-");
  if (peek().kind != Token::Integer)
    return fail("an integer");
  value = next().bits;
  if (minus)
    value = -value;
  return true;
}

bool Parser::skipBraces() {
  if (!expect("{"))
    return false;
  for (unsigned depth = 1; depth;) {
    if (peek().kind == Token::End)
      return fail("'}'");
    Token token = next();
    depth += token.is("{");
    depth -= token.is("}");
  }
  return true;
}

bool Parser::initializer(Variable &variable, uint64_t &index) {
  if (accept("{")) {
    while (!accept("}")) {
      if (!initializer(variable, index))
        return false;
      if (!peek().is("}") && !expect(","))
        return false;
    }
    return true;
  }
  Variable::Init init{index++, 0, ""};
  bool minus = accept("-");
  const Token token = next();
  switch (token.kind) {
  case Token::Integer:
    init.bits = minus ? -token.bits : token.bits;
    break;
  case Token::Float32:
  case Token::Float64:
    init.bits = token.bits;
    if (minus)
      init.bits ^= uint64_t(1) << (bitWidth(variable.type) - 1);
    break;
  case Token::Name:
    init.name = std::string(token.text);
    if (init.name == "generic") {
      if (!expect("("))
        return false;
      init.name = std::string(next().text);
      if (!expect(")"))
        return false;
    }
    if (accept("+") && !integer(init.bits))
      return false;
    break;
  default:
    --at;
    return fail("an initial value");
  }
  variable.init.push_back(init);
  return true;
}

/// After the space: `.align 8 .v2 .b8 name[16] = {...}`, one or several.
bool Parser::variable(Space space, bool isRegister,
                      std::vector<Variable> &out) {
  Variable base;
  base.space = space;
  base.isRegister = isRegister;
  base.line = peek().line;
  uint64_t width = 1;
  bool aligned = false;
  while (peek().kind == Token::Name && peek().text[0] == '.') {
    std::string_view name = next().text;
    if (name == ".align" || name == ".attribute") {
      if (name == ".attribute") {
        while (!accept(")"))
          next();
        continue;
      }
      aligned = true;
      if (!integer(base.align))
        return false;
    } else if (name == ".v2" || name == ".v4" || name == ".v8") {
      width = name[2] - '0';
    } else if (Type type = typeFromName(name.substr(1)); type != Type::None) {
      base.type = type;
      // A parameter may be a pointer: `.u64 .ptr .global .align 16 name`.
      if (accept(".ptr"))
        while (peek().kind == Token::Name && peek().text[0] == '.') {
          bool isAlign = next().text == ".align";
          uint64_t ignored;
          if (isAlign && !integer(ignored))
            return false;
        }
    } else {
      --at;
      return fail("a type");
    }
  }
  if (base.type == Type::None)
    return fail("a type");
  if (!aligned)
    base.align = std::max<uint64_t>(1, width * bitWidth(base.type) / 8);
  base.count = width;
  do {
    Variable variable = base;
    if (peek().kind != Token::Name)
      return fail("a name");
    variable.name = std::string(next().text);
    if (isRegister && accept("<")) {
      uint64_t count = 0;
      if (!integer(count) || !expect(">"))
        return false;
      constexpr uint64_t most = 1 << 20;
      if (count > most || out.size() + count > most)
        return beyond(most, "registers of a function");
      for (uint64_t i = 0; i < count; ++i) {
        out.push_back(base);
        out.back().name = variable.name + std::to_string(i);
      }
      continue;
    }
    while (accept("[")) {
      variable.isArray = true;
      uint64_t extent = 0;
      if (peek().is("]"))
        variable.unsized = true;
      else if (!integer(extent))
        return false;
      variable.count *= extent;
      if (!expect("]"))
        return false;
    }
    uint64_t index = 0;
    if (accept("=") && !initializer(variable, index))
      return false;
    if (variable.unsized && index)
      variable.count = index * width, variable.unsized = false;
    out.push_back(std::move(variable));
  } while (accept(","));
  return true;
}

bool Parser::declarations(Space space, bool isRegister,
                          std::vector<Variable> &out) {
  return variable(space, isRegister, out) && expect(";");
}

bool Parser::parameters(std::vector<Variable> &out) {
  while (!accept(")")) {
    bool isRegister = peek().is(".reg");
    if (!accept(".param") && !accept(".reg"))
      return fail("'.param'");
    // One each: `.param .b32 a, .param .b32 b`.
    std::vector<Variable> one;
    size_t before = at;
    while (!peek().is(",") && !peek().is(")") && peek().kind != Token::End)
      next();
    size_t stop = at;
    at = before;
    Token saved = tokens[stop];
    tokens[stop].text = ";";
    tokens[stop].kind = Token::Mark;
    bool good = variable(Space::Param, isRegister, one) && at == stop;
    tokens[stop] = saved;
    if (!good)
      return fail("a parameter");
    for (const Variable &other : out)
      if (other.name == one.front().name)
        return twice(other.name, one.front().line);
    out.push_back(one.front());
    if (!peek().is(")") && !expect(","))
      return false;
  }
  return true;
}

bool Parser::triple(std::optional<std::array<uint32_t, 3>> &out) {
  std::array<uint32_t, 3> value = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t extent = 0;
    if (!integer(extent))
      return false;
    value[i] = extent;
    if (!accept(","))
      break;
  }
  out = value;
  return true;
}

bool Parser::function(Syntax &syntax, bool isEntry) {
  Function function;
  function.isEntry = isEntry;
  function.line = peek().line;
  accept(".attribute");
  if (accept("(") && !parameters(function.results))
    return false;
  if (peek().kind != Token::Name)
    return fail("a function's name");
  function.name = std::string(next().text);
  if (accept("(") && !parameters(function.params))
    return false;
  while (peek().kind == Token::Name && peek().text[0] == '.') {
    std::string_view name = next().text;
    std::optional<std::array<uint32_t, 3>> ignored;
    if (name == ".reqntid") {
      if (!triple(function.requiredBlock))
        return false;
    } else if (name == ".maxntid") {
      if (!triple(function.maxBlock))
        return false;
    } else if (name == ".reqnctapercluster") {
      if (!triple(function.cluster))
        return false;
    } else if (name == ".maxclusterrank") {
      uint64_t rank = 0;
      if (!integer(rank))
        return false;
      function.maxClusterRank = rank;
    } else if (name == ".pragma") {
      next();
      if (!expect(";"))
        return false;
    } else if (peek().kind == Token::Integer && !triple(ignored)) {
      return false;
    }
  }
  if (!accept(";")) {
    function.hasBody = true;
    function.scopes.emplace_back();
    if (!expect("{") || !block(function, 0))
      return false;
  }
  // A definition replaces its declaration.
  for (Function &other : syntax.functions)
    if (other.name == function.name) {
      if (other.hasBody && function.hasBody)
        return twice(function.name, function.line);
      if (function.hasBody)
        other = std::move(function);
      return true;
    }
  syntax.functions.push_back(std::move(function));
  return true;
}

bool Parser::checkGlobals(const Syntax &syntax, size_t first) {
  for (size_t i = first; i < syntax.globals.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Variable &one = syntax.globals[j], &two = syntax.globals[i];
      if (one.name == two.name && !(one.unsized && two.unsized))
        return twice(two.name, two.line);
    }
  return true;
}

bool Parser::directive(Syntax &syntax) {
  if (peek().kind != Token::Name || peek().text[0] != '.')
    return fail("a directive");
  std::string_view name = next().text;
  if (name == ".version") {
    syntax.version = std::string(next().text);
    return true;
  }
  if (name == ".target") {
    syntax.targetLine = peek().line;
    syntax.target = std::string(next().text);
    while (accept(","))
      next();
    return true;
  }
  if (name == ".address_size") {
    uint64_t bits = 0;
    if (!integer(bits))
      return false;
    return bits == 64 || (--at, fail("64"));
  }
  if (name == ".visible" || name == ".extern" || name == ".weak" ||
      name == ".common")
    return true;
  if (name == ".entry" || name == ".func")
    return function(syntax, name == ".entry");
  static constexpr std::pair<std::string_view, Space> spaces[] = {
      {".global", Space::Global},
      {".const", Space::Const},
      {".shared", Space::Shared}};
  for (auto [spelling, space] : spaces)
    if (name == spelling) {
      size_t first = syntax.globals.size();
      return declarations(space, false, syntax.globals) &&
             checkGlobals(syntax, first);
    }
  if (name == ".file" || name == ".pragma" || name == ".alias") {
    uint32_t line = peek().line;
    while (peek().line == line && peek().kind != Token::End)
      next();
    return true;
  }
  if (name == ".section") {
    while (!peek().is("{") && peek().kind != Token::End)
      next();
    return skipBraces();
  }
  --at;
  return fail("a directive");
}

bool Parser::module(Syntax &syntax) {
  while (peek().kind != Token::End)
    if (!directive(syntax))
      return false;
  return true;
}

std::optional<Syntax> parsePtx(std::string_view text, std::string &error) {
  error.clear();
  std::vector<Token> tokens = tokenize(text, error);
  if (tokens.empty())
    return std::nullopt;
  Syntax syntax;
  if (!Parser(std::move(tokens), error).module(syntax))
    return std::nullopt;
  return syntax;
}

} // namespace blockscale::sim
