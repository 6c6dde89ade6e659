//===-- Text.cpp - Numbers and options as text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace blockscale;

std::optional<unsigned> blockscale::parseUnsigned(std::string_view text) {
  if (text.empty() || text.size() > 4)
    return std::nullopt;
  unsigned value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return std::nullopt;
    value = value * 10 + unsigned(c - '0');
  }
  return value;
}

std::optional<float> blockscale::parseFloat(std::string_view text) {
  std::string copy(text);
  // strtof skips spaces and reads `nan`, `inf` and hexadecimal as well.
  for (char c : copy)
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != '-' &&
        c != '+' && c != 'e' && c != 'E')
      return std::nullopt;
  char *end = nullptr;
  float value = std::strtof(copy.c_str(), &end);
  if (copy.empty() || *end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::string blockscale::textOf(float value) {
  char buffer[32];
  if (std::fabs(value) < 1e7f && std::trunc(value) == value &&
      !(value == 0 && std::signbit(value))) {
    std::snprintf(buffer, sizeof buffer, "%.0f", double(value));
    return buffer;
  }
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, double(value));
    if (std::strtof(buffer, nullptr) == value)
      break;
  }
  std::string text = buffer;
  size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

std::string blockscale::listOf(const std::vector<std::string_view> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i)
      text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}
