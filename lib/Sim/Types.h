//===-- Types.h - PTX types -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_TYPES_H
#define BLOCKSCALE_LIB_SIM_TYPES_H

#include <cstdint>
#include <string_view>

namespace blockscale::sim {

/// The types that PTX spells as a modifier: `.u32`, `.e4m3x2`.
enum class Type : uint8_t {
  None,
  Pred,
  B1,
  B8,
  B16,
  B32,
  B64,
  B128,
  U4,
  U8,
  U16,
  U32,
  U64,
  S4,
  S8,
  S16,
  S32,
  S64,
  U16x2,
  S16x2,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE4M3,
  UE8M0,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M3x4,
  E3M2x4,
  E2M1x4,
};

/// Type::None if `name` (without its dot) is no type.
Type typeFromName(std::string_view name);
/// As PTX spells it, without its dot.
std::string_view nameOf(Type type);
/// Bits of a value; 4 for `.u4`, 1 for predicates.
unsigned bitWidth(Type type);
bool isSigned(Type type);
/// A scalar float: f16, bf16, tf32, f32 or f64.
bool isFloat(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_TYPES_H
