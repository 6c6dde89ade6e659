//===-- Nibbles.cpp - Two 4-bit codes in a byte ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Layout/Nibbles.h"

#include <cassert>

void blockscale::packNibbles(const uint8_t *codes, uint8_t *bytes,
                             int64_t count) {
  assert(count % 2 == 0 && "expects an even number of codes");
  for (int64_t i = 0; i < count; i += 2)
    bytes[i / 2] = uint8_t((codes[i] & 15) | (codes[i + 1] << 4));
}

void blockscale::unpackNibbles(const uint8_t *bytes, uint8_t *codes,
                               int64_t count) {
  assert(count % 2 == 0 && "expects an even number of codes");
  for (int64_t i = 0; i < count; i += 2) {
    codes[i] = bytes[i / 2] & 15;
    codes[i + 1] = bytes[i / 2] >> 4;
  }
}
