/*===-- BF16.c - What LLVM calls where a processor has no bf16 --*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Without AVX512-BF16, LLVM moves single bf16 values (the elements of a masked
 * store, say) through f32 and back by this function of compiler-rt, which a
 * compiled library must not need to find elsewhere.
 *
 *===----------------------------------------------------------------------===*/
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
__bf16 __truncsfbf2(float value);

/* To nearest even; NaN stays NaN. */
__bf16 __truncsfbf2(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t rounded = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    rounded = (uint16_t)(bits >> 16 | 0x40);
  __bf16 result;
  memcpy(&result, &rounded, sizeof result);
  return result;
}
#endif
