//===-- NpyHeader.cpp - The dictionary in front of an array -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NpyHeader.h"

#include <utility>

using namespace blockscale::runtime;

namespace {

struct Descr {
  std::string_view letters; ///< Without the byte order.
  DataType type;
};
// The first spelling of a type is the one that is written.
constexpr Descr descrs[] = {
    {"b1", DataType::I1},  {"i1", DataType::I8},  {"u1", DataType::U8},
    {"V1", DataType::U8},  {"i2", DataType::I16}, {"u2", DataType::U16},
    {"i4", DataType::I32}, {"u4", DataType::U32}, {"i8", DataType::I64},
    {"u8", DataType::U64}, {"f2", DataType::F16}, {"V2", DataType::BF16},
    {"f4", DataType::F32}, {"f8", DataType::F64},
};

/// More than any NumPy allows.
constexpr size_t maxRank = 64;

/// A reader of Python literals, as far as NumPy writes them.
class Parser {
public:
  Parser(std::string_view text, std::string &error)
      : rest(text), error(error) {}

  bool parse() {
    if (!take('{'))
      return expected("'{'");
    bool hasDescr = false, hasOrder = false, hasShape = false;
    while (!take('}')) {
      std::string_view key;
      if (!string(key))
        return expected("a key in quotes or '}'");
      if (!take(':'))
        return expected("':' after a key");
      bool &seen = key == "descr"           ? hasDescr
                   : key == "fortran_order" ? hasOrder
                                            : hasShape;
      if (key != "descr" && key != "fortran_order" && key != "shape")
        return fail("unknown key '" + std::string(key) + "'");
      if (seen)
        return fail("'" + std::string(key) + "' is given twice");
      seen = true;
      if (!(key == "descr" ? descr() : key == "shape" ? shape() : order()))
        return false;
      if (!take(',') && !at('}'))
        return expected("',' or '}' after a value");
    }
    skipSpace();
    if (!rest.empty())
      return expected("nothing after '}'");
    if (!hasDescr || !hasOrder || !hasShape)
      return fail(std::string("'") +
                  (!hasDescr   ? "descr"
                   : !hasOrder ? "fortran_order"
                               : "shape") +
                  "' is missing");
    return true;
  }

  NpyHeader header;

private:
  bool fail(std::string message) {
    error = "malformed .npy header: " + std::move(message);
    return false;
  }
  bool expected(std::string_view what) {
    std::string got = "its end";
    if (!rest.empty()) {
      // Bytes of a broken file must not reach a terminal.
      unsigned char c = static_cast<unsigned char>(rest.front());
      got = c >= 0x20 && c < 0x7F ? std::string("'") + rest.front() + "'"
                                  : "byte " + std::to_string(c);
    }
    return fail("expects " + std::string(what) + ", but got " + got);
  }
  void skipSpace() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n' ||
                             rest.front() == '\t' || rest.front() == '\r'))
      rest.remove_prefix(1);
  }
  bool at(char c) {
    skipSpace();
    return !rest.empty() && rest.front() == c;
  }
  bool take(char c) {
    if (!at(c))
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skipSpace();
    if (rest.substr(0, word.size()) != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool string(std::string_view &value) {
    if (!at('\'') && !at('"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return false;
    value = rest.substr(1, end - 1);
    for (char c : value)
      if (c < 0x20 || c == 0x7F || c == '\\')
        return false;
    rest.remove_prefix(end + 1);
    return true;
  }

  bool descr() {
    if (at('['))
      return fail("structured types are not supported; save each field "
                  "as an array of its own");
    std::string_view text;
    if (!string(text))
      return expected("a type in quotes");
    std::string_view letters = text;
    if (!letters.empty() && std::string_view("<>|=").find(letters.front()) !=
                                std::string_view::npos)
      letters.remove_prefix(1);
    for (const Descr &row : descrs)
      if (row.letters == letters) {
        header.type = row.type;
        header.bigEndian = text.front() == '>';
        return true;
      }
    std::string known;
    for (const Descr &row : descrs)
      known += (known.empty() ? "" : ", ") + std::string(row.letters);
    error = "type '" + std::string(text) +
            "' is not supported; expects one of " + known;
    return false;
  }

  bool order() {
    if (take("True"))
      return header.fortranOrder = true;
    return take("False") || expected("True or False");
  }

  bool shape() {
    if (!take('('))
      return expected("'(' before the shape");
    while (!take(')')) {
      skipSpace();
      if (rest.empty() || rest.front() < '0' || rest.front() > '9')
        return expected("a size or ')'");
      int64_t extent = 0;
      for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
           rest.remove_prefix(1))
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, rest.front() - '0', &extent))
          return fail("a size does not fit in 64 bits");
      take('L'); // Written by Python 2.
      header.shape.push_back(extent);
      if (header.shape.size() > maxRank)
        return fail("more than " + std::to_string(maxRank) + " dimensions");
      if (!take(',') && !at(')'))
        return expected("',' or ')' after a size");
    }
    return true;
  }

  std::string_view rest;
  std::string &error;
};

} // namespace

std::optional<NpyHeader>
blockscale::runtime::parseNpyHeader(std::string_view text, std::string &error) {
  Parser parser(text, error);
  if (!parser.parse())
    return std::nullopt;
  return std::move(parser.header);
}

std::string_view blockscale::runtime::npyDescr(DataType type) {
  switch (type) {
  case DataType::I1:
    return "|b1";
  case DataType::I8:
    return "|i1";
  case DataType::U8:
    return "|u1";
  case DataType::I16:
    return "<i2";
  case DataType::U16:
    return "<u2";
  case DataType::I32:
    return "<i4";
  case DataType::U32:
    return "<u4";
  case DataType::I64:
    return "<i8";
  case DataType::U64:
    return "<u8";
  case DataType::F16:
    return "<f2";
  case DataType::BF16:
    return "<V2";
  case DataType::F32:
    return "<f4";
  case DataType::F64:
    return "<f8";
  }
  return "";
}
