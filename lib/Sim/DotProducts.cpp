//===-- DotProducts.cpp - dp4a, dp2a ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
/// dp4a (4 x 8 bits) and dp2a (2 x 16 bits with 2 of 4 bytes): mode bit 0: a is
/// signed, 1: b is, 2: 16-bit a, 3: the high bytes of b.
void dotHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  forLanes(mask, [&](unsigned l) {
    int64_t sum = static_cast<uint32_t>(c[l]);
    unsigned terms = i.mode & 4 ? 2 : 4;
    for (unsigned k = 0; k < terms; ++k) {
      int64_t x, y;
      unsigned at = i.mode & 4 ? k + (i.mode & 8 ? 2 : 0) : k;
      if (i.mode & 4)
        x = i.mode & 1 ? int64_t(int16_t(a[l] >> (16 * k)))
                       : int64_t(uint16_t(a[l] >> (16 * k)));
      else
        x = i.mode & 1 ? int64_t(int8_t(a[l] >> (8 * k)))
                       : int64_t(uint8_t(a[l] >> (8 * k)));
      y = i.mode & 2 ? int64_t(int8_t(b[l] >> (8 * at)))
                     : int64_t(uint8_t(b[l] >> (8 * at)));
      sum += x * y;
    }
    d[l] = static_cast<uint32_t>(sum);
  });
}

bool dot(Decoder &d) {
  d.inst.mode = (isSigned(d.type(0)) ? 1 : 0) | (isSigned(d.type(1)) ? 2 : 0) |
                (d.in().opcode() == "dp2a" ? 4 : 0) | (d.has("hi") ? 8 : 0);
  return d.simple(Type::B32, 3) && d.run(dotHandler);
}
} // namespace

void addDotProducts(OpcodeTable &table) {
  table["dp4a"] = dot;
  table["dp2a"] = dot;
}

} // namespace blockscale::sim
