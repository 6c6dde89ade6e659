//===-- Types.cpp - PTX types -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Types.h"

namespace blockscale::sim {

namespace {
struct Row {
  std::string_view name;
  Type type;
  uint8_t bits;
};
constexpr Row rows[] = {
    {"pred", Type::Pred, 1},      {"b1", Type::B1, 1},
    {"b8", Type::B8, 8},          {"b16", Type::B16, 16},
    {"b32", Type::B32, 32},       {"b64", Type::B64, 64},
    {"b128", Type::B128, 128},    {"u4", Type::U4, 4},
    {"u8", Type::U8, 8},          {"u16", Type::U16, 16},
    {"u32", Type::U32, 32},       {"u64", Type::U64, 64},
    {"s4", Type::S4, 4},          {"s8", Type::S8, 8},
    {"s16", Type::S16, 16},       {"s32", Type::S32, 32},
    {"s64", Type::S64, 64},       {"u16x2", Type::U16x2, 32},
    {"s16x2", Type::S16x2, 32},   {"f16", Type::F16, 16},
    {"f16x2", Type::F16x2, 32},   {"bf16", Type::BF16, 16},
    {"bf16x2", Type::BF16x2, 32}, {"tf32", Type::TF32, 32},
    {"f32", Type::F32, 32},       {"f32x2", Type::F32x2, 64},
    {"f64", Type::F64, 64},       {"e4m3", Type::E4M3, 8},
    {"e5m2", Type::E5M2, 8},      {"e2m3", Type::E2M3, 8},
    {"e3m2", Type::E3M2, 8},      {"e2m1", Type::E2M1, 4},
    {"ue4m3", Type::UE4M3, 8},    {"ue8m0", Type::UE8M0, 8},
    {"e4m3x2", Type::E4M3x2, 16}, {"e5m2x2", Type::E5M2x2, 16},
    {"e2m3x2", Type::E2M3x2, 16}, {"e3m2x2", Type::E3M2x2, 16},
    {"e2m1x2", Type::E2M1x2, 8},  {"ue8m0x2", Type::UE8M0x2, 16},
    {"e4m3x4", Type::E4M3x4, 32}, {"e5m2x4", Type::E5M2x4, 32},
    {"e2m3x4", Type::E2M3x4, 32}, {"e3m2x4", Type::E3M2x4, 32},
    {"e2m1x4", Type::E2M1x4, 16},
};
} // namespace

Type typeFromName(std::string_view name) {
  for (const Row &row : rows)
    if (row.name == name)
      return row.type;
  return Type::None;
}

std::string_view nameOf(Type type) {
  for (const Row &row : rows)
    if (row.type == type)
      return row.name;
  return "";
}

unsigned bitWidth(Type type) {
  for (const Row &row : rows)
    if (row.type == type)
      return row.bits;
  return 0;
}

bool isSigned(Type type) {
  return type == Type::S4 || type == Type::S8 || type == Type::S16 ||
         type == Type::S32 || type == Type::S64 || type == Type::S16x2;
}

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::TF32 ||
         type == Type::F32 || type == Type::F64;
}

} // namespace blockscale::sim
