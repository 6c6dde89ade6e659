//===-- Lexer.cpp - The tokens of PTX text ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace blockscale::sim {

static bool startsName(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

static bool continuesName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '.' || c == '%';
}

/// A number, which starts with a digit.
static bool number(std::string_view text, Token &token) {
  std::string digits(text);
  char second = text.size() > 1 ? text[1] : 0;
  char *end = nullptr;
  if (text[0] == '0' && (second == 'f' || second == 'F') && text.size() == 10) {
    token.kind = Token::Float32;
    token.bits = std::strtoull(digits.c_str() + 2, &end, 16);
  } else if (text[0] == '0' && (second == 'd' || second == 'D') &&
             text.size() == 18) {
    token.kind = Token::Float64;
    token.bits = std::strtoull(digits.c_str() + 2, &end, 16);
  } else if (text.find_first_of(".") != text.npos ||
             (second != 'x' && second != 'X' &&
              text.find_first_of("eE") != text.npos)) {
    token.kind = Token::Float64;
    double value = std::strtod(digits.c_str(), &end);
    std::memcpy(&token.bits, &value, sizeof value);
  } else {
    if (digits.back() == 'U')
      digits.pop_back();
    token.kind = Token::Integer;
    bool binary = text[0] == '0' && (second == 'b' || second == 'B');
    token.bits = binary ? std::strtoull(digits.c_str() + 2, &end, 2)
                        : std::strtoull(digits.c_str(), &end, 0);
  }
  return *end == 0;
}

std::vector<Token> tokenize(std::string_view text, std::string &error) {
  std::vector<Token> tokens;
  uint32_t line = 1;
  size_t i = 0, size = text.size();
  while (i < size) {
    char c = text[i];
    if (c == '\n') {
      ++line, ++i;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) || c == 0) {
      ++i;
      continue;
    }
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), size);
      continue;
    }
    if (text.compare(i, 2, "/*") == 0) {
      size_t end = text.find("*/", i + 2);
      end = end == text.npos ? size : end + 2;
      for (; i < end; ++i)
        line += text[i] == '\n';
      continue;
    }
    Token token;
    token.line = line;
    size_t start = i;
    if (startsName(c)) {
      token.kind = Token::Name;
      for (++i; i < size; ++i) {
        // `shared::cluster` is one name; the colon after a label is not in it.
        if (text.compare(i, 2, "::") == 0)
          ++i;
        else if (!continuesName(text[i]))
          break;
      }
      token.text = text.substr(start, i - start);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      for (++i; i < size; ++i) {
        bool exponentSign =
            (text[i] == '-' || text[i] == '+') &&
            (text[i - 1] == 'e' || text[i - 1] == 'E') &&
            text.substr(start, i - start).find('.') != text.npos;
        if (!std::isalnum(static_cast<unsigned char>(text[i])) &&
            text[i] != '.' && !exponentSign)
          break;
      }
      token.text = text.substr(start, i - start);
      if (!number(token.text, token)) {
        error = "line " + std::to_string(line) +
                ": expects a number, but got '" + std::string(token.text) + "'";
        return {};
      }
    } else if (c == '"') {
      for (++i; i < size && text[i] != '"'; ++i)
        if (text[i] == '\\')
          ++i;
      token.kind = Token::String;
      token.text = text.substr(start + 1, std::min(i, size) - start - 1);
      ++i;
    } else {
      token.kind = Token::Mark;
      token.text = text.substr(i++, 1);
    }
    tokens.push_back(token);
  }
  Token end;
  end.line = line;
  tokens.push_back(end);
  return tokens;
}

} // namespace blockscale::sim
