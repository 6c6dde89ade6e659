//===-- OperandTypes.cpp - Registers against instruction types --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "Operand Type Checking" of the PTX ISA: a register has the size of what the
// instruction reads or writes, and either untyped bits, the same type, or
// another sign. ld, st and cvt allow wider registers.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
/// What an instruction wants of an operand: a type, or any of so many bits.
struct Want {
  Type type = Type::None;
  unsigned bits = 0;
  bool orWider = false;
};

/// `operands` has a word for each: `0`, `1` are the instruction's types, `0w`
/// twice as wide, `0+` or wider, `x` is checked elsewhere, else a type. The
/// last stands for the rest too, if a `*` follows. Rows with `words` need one
/// of them as a modifier; the first row that fits is taken.
struct Row {
  std::string_view opcodes, words, operands;
};
constexpr Row rows[] = {
    {"add sub", "f16 bf16", "0 1 0"},
    {"fma", "f16 bf16", "0 1 1 0"},
    {"mul mad", "wide", "0w 0 0 0w"},
    {"add sub addc subc mul mad madc mul24 mad24 div rem min max abs neg sad "
     "fma rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign and or xor not cnot "
     "brev cvta mov",
     "", "0*"},
    {"shl shr", "", "0 0 u32"},
    {"shf", "", "b32 b32 b32 u32"},
    {"lop3 prmt bmsk movmatrix", "", "b32*"},
    {"bfe", "", "0 0 u32*"},
    {"bfi", "", "0 0 0 u32*"},
    {"popc clz bfind", "", "u32 0"},
    {"fns", "", "b32 b32 b32 s32"},
    {"szext", "", "0 0 u32"},
    {"dp4a dp2a", "", "u32*"},
    {"testp", "", "pred 0"},
    {"setp", "", "pred 0 0 pred"},
    {"set", "", "0 1 1 pred"},
    {"selp", "", "0 0 0 pred"},
    {"slct", "", "0 0 0 1"},
    {"cvt", "pack", "u32+ 1 1 b32"},
    {"mapa", "", "0 0 u32"},
    {"getctarank", "", "u32 0"},
    {"isspacep", "", "pred x"},
    {"ld ldu", "", "0+ x*"},
    {"st", "", "x 0+ x*"},
    {"atom", "cas", "0 x 0 0"},
    {"atom", "", "0 x 0 x*"},
    {"red", "", "x 0 x*"},
    {"shfl", "", "b32*"},
    {"vote", "ballot", "b32 pred u32"},
    {"vote", "", "pred pred u32"},
    {"match", "", "b32 0 u32"},
    {"redux", "", "0 0 u32"},
    {"activemask nanosleep", "", "b32"},
    {"elect", "", "b32 u32"},
    {"brx", "", "u32 x"},
    {"bar barrier", "sync arrive", "u32*"},
    {"mbarrier", "parity", "pred x u32*"},
    {"mbarrier", "test_wait try_wait", "pred x u64 u32"},
    {"mbarrier", "pending_count", "u32 u64"},
    {"mbarrier", "arrive arrive_drop", "u64 x*"},
    {"ldmatrix", "", "b32 x"},
    {"stmatrix", "", "x b32"},
};

std::string_view take(std::string_view &words) {
  size_t end = std::min(words.find(' '), words.size());
  std::string_view word = words.substr(0, end);
  words.remove_prefix(std::min(end + 1, words.size()));
  return word;
}

const Row *rowFor(const Instruction &instruction) {
  for (const Row &row : rows)
    for (std::string_view opcodes = row.opcodes; !opcodes.empty();) {
      if (take(opcodes) != instruction.opcode())
        continue;
      bool fits = row.words.empty();
      for (std::string_view words = row.words; !words.empty();)
        fits |= instruction.has(take(words));
      if (fits)
        return &row;
    }
  return nullptr;
}

Want wantOf(std::string_view word, const std::vector<Type> &types) {
  Want want;
  if (word == "x")
    return want;
  if (word.back() == '+') {
    want.orWider = true;
    word.remove_suffix(1);
  }
  bool isWide = word.back() == 'w';
  if (isWide)
    word.remove_suffix(1);
  if (word == "0" || word == "1") {
    size_t which = word[0] - '0';
    want.type = which < types.size() ? types[which] : Type::None;
  } else {
    want.type = typeFromName(word);
  }
  if (isWide)
    want.type = want.type == Type::U16   ? Type::U32
                : want.type == Type::S16 ? Type::S32
                : want.type == Type::U32 ? Type::U64
                                         : Type::S64;
  want.bits = bitWidth(want.type);
  return want;
}

bool isBits(Type type) {
  return type == Type::B8 || type == Type::B16 || type == Type::B32 ||
         type == Type::B64 || type == Type::B128;
}
bool isInteger(Type type) {
  return type >= Type::U8 && type <= Type::S64 && type != Type::S4;
}

bool agrees(Type reg, const Want &want) {
  unsigned bits = bitWidth(reg);
  if (want.orWider ? bits < want.bits : bits != want.bits)
    return false;
  if (isBits(reg) || want.type == Type::None || isBits(want.type))
    return true;
  if (isInteger(want.type))
    return isInteger(reg) || reg == Type::F16x2;
  // Predicates, floats, and pairs of them.
  return reg == want.type || (want.type == Type::U16x2 && reg == Type::F16x2) ||
         (want.type == Type::S16x2 && reg == Type::F16x2);
}

std::string spelled(const Want &want) {
  if (want.type == Type::None)
    return std::to_string(want.bits) + " bits";
  return "." + std::string(nameOf(want.type)) +
         (want.orWider ? " or wider" : "");
}
} // namespace

bool Decoder::checkOperand(const Operand &operand, Type wanted, unsigned bits,
                           bool orWider) {
  const Want want{wanted, bits, orWider};
  auto wrong = [&](const std::string &got) {
    return fail("expects " + spelled(want) + ", but got " + got);
  };
  bool wantsBits = wanted == Type::None || isBits(wanted);
  switch (operand.kind) {
  case Operand::Integer:
    return !isFloat(wanted) || wrong("an integer");
  case Operand::Float32:
  case Operand::Float64:
    if (isFloat(wanted) ||
        (wantsBits && bits == (operand.kind == Operand::Float32 ? 32u : 64u)))
      return true;
    return wrong("a float constant");
  case Operand::Vector:
    for (const Operand &element : operand.elements)
      if (!checkOperand(element, wanted, bits, orWider))
        return false;
    return true;
  case Operand::Name:
    break;
  default:
    return true;
  }
  const Binding *binding = find(operand.name);
  // What is not declared is reported where it is used.
  if (binding && binding->isSpecial && instruction->opcode() != "mov" &&
      instruction->opcode() != "cvt")
    return fail("expects a register, but got '" + operand.name +
                "', which only mov and cvt may read");
  if (!binding || binding->kind != Binding::Register ||
      agrees(binding->type, want))
    return true;
  return wrong("'" + operand.name + "', which is ." +
               std::string(nameOf(binding->type)));
}

bool Decoder::checkOperands() {
  const Instruction &source = *instruction;
  std::vector<Type> types = source.types();
  if (source.opcode() == "cvt" && !source.has("pack"))
    return checkConversion(types);
  if (source.opcode() == "mma")
    return checkMatrices(types);
  const Row *row = rowFor(source);
  if (!row)
    return true;
  std::string_view words = row->operands, word;
  for (const Operand &operand : source.operands) {
    if (word.empty() || word.back() != '*')
      word = words.empty() ? "x" : take(words);
    std::string_view bare = word;
    if (bare.back() == '*')
      bare.remove_suffix(1);
    Want want = wantOf(bare, types);
    // A vector of mov is as wide as the type, all together.
    if (operand.kind == Operand::Vector && source.opcode() == "mov") {
      want.type = Type::None;
      want.bits /= std::max<size_t>(1, operand.elements.size());
    }
    if (want.bits && !checkOperand(operand, want.type, want.bits, want.orWider))
      return false;
  }
  return true;
}

/// cvt allows wider registers, except for the newer types.
bool Decoder::checkConversion(const std::vector<Type> &types) {
  if (types.size() < 2)
    return true;
  auto isOld = [](Type type) {
    return isInteger(type) || type == Type::F16 || type == Type::F32 ||
           type == Type::F64;
  };
  bool orWider = isOld(types[0]) && isOld(types[1]);
  for (size_t i = 0; i < operandCount(); ++i) {
    Type type = i == 0 ? types[0] : types[1];
    if (i && i + 1 == operandCount() && has("rs"))
      type = Type::B32;
    if (!checkOperand(operand(i), type, bitWidth(type), orWider))
      return false;
  }
  return true;
}

/// d, a, b, c: f32 and f64 are as they are, others come in 32 bits.
bool Decoder::checkMatrices(const std::vector<Type> &types) {
  if (types.size() < 4)
    return true;
  for (size_t i = 0; i < operandCount(); ++i) {
    Type type = i < 4 ? types[i] : i % 2 ? Type::U16 : Type::B32;
    if (isInteger(type))
      type = i == 0 || i == 3 ? Type::S32 : i < 3 ? Type::B32 : type;
    else if (i < 4 && type != Type::F32 && type != Type::F64)
      type = Type::F16x2;
    if (!checkOperand(operand(i), type, bitWidth(type), false))
      return false;
  }
  return true;
}

} // namespace blockscale::sim
