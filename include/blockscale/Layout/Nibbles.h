//===-- Nibbles.h - Two 4-bit codes in a byte -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Theory. Codes of four bits lie two in a byte along the innermost dimension:
// the even index in the low nibble, the odd one in the high nibble. This is
// what cvt.rn.satfinite.e2m1x2 writes, what mma fragments are loaded from, and
// what compressed-tensors, ModelOpt and gpt-oss checkpoints hold. (GGUF splits
// differently: j low and j + 16 high.)
//
// Example. The codes 1 2 3 4 are the bytes 0x21 0x43.
//
// Laws, each a unit test: unpack after pack is the identity on the low nibbles,
// and every byte is reached by exactly one pair of codes. Rule layout_c5 in
// docs/Spec.md. Limit: the count is even, as every block is.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LAYOUT_NIBBLES_H
#define BLOCKSCALE_LAYOUT_NIBBLES_H

#include <cstdint>

namespace blockscale {

/// `count` codes to count / 2 bytes. High nibbles of the codes are dropped.
void packNibbles(const uint8_t *codes, uint8_t *bytes, int64_t count);
/// count / 2 bytes to `count` codes.
void unpackNibbles(const uint8_t *bytes, uint8_t *codes, int64_t count);

} // namespace blockscale

#endif // BLOCKSCALE_LAYOUT_NIBBLES_H
