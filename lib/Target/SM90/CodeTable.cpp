//===-- CodeTable.cpp - Two 4-bit codes to two bf16 by a load -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CodeTable.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::ThreadCode;

void CodeTable::fill(
    HopperCode &code, Value thread, int64_t threads,
    llvm::function_ref<Value(HopperCode &, Value)> decode) const {
  // A thread writes 16 of an entry's 128 bytes.
  code.loop(thread, code.constant(256 * 8), threads, {},
            [&](ThreadCode &inner, Value piece, ValueRange) {
              HopperCode c(inner);
              Value byte = c.shr(piece, 3);
              Value entry = decode(c, byte);
              c.storeWords({entry, entry, entry, entry},
                           c.at(start, c.add(c.shl(byte, 8),
                                             c.shl(c.band(piece, 7), 4))));
              return SmallVector<Value>();
            });
}

Value CodeTable::lookUp(HopperCode &code, Value word, Value byte) const {
  // The lane's offset below the word's byte, zeros above.
  Value offset = code.permuteBytes(
      word, laneBytes, code.add(code.shl(byte, 4), code.constant(0x5504)));
  return code.load(code.i32(), code.at(start, offset), 4);
}
