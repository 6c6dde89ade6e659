//===-- ValueBuilder.h - What the numeric templates build with --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rule about bits is written once, as a template over a *value builder*,
// and evaluated two ways: on host bits (HostBuilder.h) and as IR
// (IRValueBuilder in Conversion). The templates use the operations below and
// nothing else: no C++ arithmetic and no C++ branch on a value. What is known
// when the code is built (the format, the rule, the rounding) is decided in
// C++, so that no operation is emitted for it.
//
//   using Value = ...;        i32, f32 or i1 by convention, one or many lanes
//
//   i32(uint32_t) f32(float)                       constants of one lane
//   add sub mul                                    modulo 2^32
//   mulWide(a, b)                                  -> pair: low and high word
//                                                  of the unsigned product
//   band bor bxor shl lshr ashr                    shift amounts below 32
//   umin umax smin smax
//   eq ne ult ule ugt uge slt sle sgt sge          -> i1
//   land lor lnot                                  on i1
//   flt fle fgt                                    -> i1, false on NaN
//   select(i1, a, b)
//   fadd fsub fmul fdiv fsqrt                      IEEE f32, nearest even, with
//                                                  subnormals, never contracted
//   fmuladd(x, s, c)                               x * s + c rounded once or
//                                                  twice, as is cheaper: for s
//                                                  a power of two whose product
//                                                  is exact, or too small to
//                                                  matter
//   asInt asFloat                                  the same 32 bits
//   toFloat                                        signed i32 -> f32
//   lanes(v)                                       1 for a scalar
//   laneConstants(std::vector<uint32_t>)           i32, a lane each
//   shuffle(v, std::vector<int>)                   lane i of the result is lane
//                                                  index[i] of v
//   interleave4(w0, w1, w2, w3)                    lane 4 i + j is lane i of wj
//   reduceUMax(v)                                  -> scalar
//   reduceFAdd(v)                                  -> scalar, by halving: lanes
//                                                  padded with +0 to a power of
//                                                  two n; lane i += lane i+n/2;
//                                                  n halves until it is 1
//
// Binary operations and select take a scalar with a vector: the scalar is
// broadcast.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_VALUEBUILDER_H
#define BLOCKSCALE_NUMERICS_VALUEBUILDER_H

#include <cstdint>
#include <cstring>
#include <optional>

namespace blockscale {

template <typename B> using ValueOf = typename B::Value;
template <typename B> using OptionalValueOf = std::optional<typename B::Value>;

/// The f32 bits that the templates name.
constexpr uint32_t kF32MagnitudeMask = 0x7fffffffu;
constexpr uint32_t kF32ExponentMask = 0x7f800000u; ///< Also +inf.
constexpr uint32_t kF32MantissaMask = 0x007fffffu;
constexpr uint32_t kF32HiddenBit = 0x00800000u;
constexpr uint32_t kF32MaxBits = 0x7f7fffffu;
constexpr uint32_t kF32NaNBits = 0x7fc00000u;
constexpr unsigned kF32MantissaBits = 23;
constexpr unsigned kF32Bias = 127;

inline uint32_t bitsOfF32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float f32OfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_VALUEBUILDER_H
