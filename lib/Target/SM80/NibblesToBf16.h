//===-- NibblesToBf16.h - Eight 4-bit codes times a scale -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fast way from a word of eight 4-bit codes to four pairs of bf16. Floats
// look the two bytes of a magnitude up with prmt, whose selector is the code;
// integers are put into the mantissa of 128.0. The scale is multiplied in bf16,
// exactly.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM80_NIBBLESTOBF16_H
#define BLOCKSCALE_LIB_TARGET_SM80_NIBBLESTOBF16_H

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm80 {

/// Bits after which products of an element and its scale are exact; 24 if f32
/// rounds them.
unsigned significantBits(const nvidia::MatmulSide &side);

/// Whether `format` has codes and scales for which nibblesToBf16 is exact.
bool hasFastNibbles(const nvidia::MatmulSide &side);

/// Words of bf16 pairs, the element of lower index in the low half. `scale` is
/// f32.
llvm::SmallVector<mlir::Value> nibblesToBf16(nvidia::ThreadCode &code,
                                             const ElementType &element,
                                             mlir::Value word,
                                             mlir::Value scale);

} // namespace blockscale::sm80

#endif // BLOCKSCALE_LIB_TARGET_SM80_NIBBLESTOBF16_H
