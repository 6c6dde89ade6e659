//===-- DecodeOperands.cpp - Names and immediates to slots ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <cstring>

namespace blockscale::sim {

static const std::unordered_map<std::string_view, Special> specialNames = {
    {"%tid.x", Special::TidX},
    {"%tid.y", Special::TidY},
    {"%tid.z", Special::TidZ},
    {"%ntid.x", Special::NtidX},
    {"%ntid.y", Special::NtidY},
    {"%ntid.z", Special::NtidZ},
    {"%ctaid.x", Special::CtaidX},
    {"%ctaid.y", Special::CtaidY},
    {"%ctaid.z", Special::CtaidZ},
    {"%nctaid.x", Special::NctaidX},
    {"%nctaid.y", Special::NctaidY},
    {"%nctaid.z", Special::NctaidZ},
    {"%clusterid.x", Special::ClusteridX},
    {"%clusterid.y", Special::ClusteridY},
    {"%clusterid.z", Special::ClusteridZ},
    {"%nclusterid.x", Special::NclusteridX},
    {"%nclusterid.y", Special::NclusteridY},
    {"%nclusterid.z", Special::NclusteridZ},
    {"%cluster_ctaid.x", Special::ClusterCtaidX},
    {"%cluster_ctaid.y", Special::ClusterCtaidY},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ},
    {"%cluster_nctaid.x", Special::ClusterNctaidX},
    {"%cluster_nctaid.y", Special::ClusterNctaidY},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ},
    {"%cluster_ctarank", Special::ClusterCtarank},
    {"%cluster_nctarank", Special::ClusterNctarank},
    {"%is_explicit_cluster", Special::IsExplicitCluster},
    {"%laneid", Special::Laneid},
    {"%warpid", Special::Warpid},
    {"%nwarpid", Special::Nwarpid},
    {"%smid", Special::Smid},
    {"%nsmid", Special::Nsmid},
    {"%gridid", Special::Gridid},
    {"%lanemask_eq", Special::LanemaskEq},
    {"%lanemask_le", Special::LanemaskLe},
    {"%lanemask_lt", Special::LanemaskLt},
    {"%lanemask_ge", Special::LanemaskGe},
    {"%lanemask_gt", Special::LanemaskGt},
    {"%dynamic_smem_size", Special::DynamicSmemSize},
    {"%total_smem_size", Special::TotalSmemSize},
    {"%aggr_smem_size", Special::AggrSmemSize},
    {"%clock", Special::Clock},
    {"%clock_hi", Special::Clockhi},
    {"%clock64", Special::Clock64},
    {"%globaltimer", Special::Globaltimer},
    {"%globaltimer_lo", Special::GlobaltimerLo},
    {"%globaltimer_hi", Special::GlobaltimerHi},
};

static Type typeOf(Special special) {
  switch (special) {
  case Special::Gridid:
  case Special::Clock64:
  case Special::Globaltimer:
    return Type::U64;
  case Special::IsExplicitCluster:
    return Type::Pred;
  default:
    return Type::U32;
  }
}

uint32_t Decoder::temporary(const std::string &name) {
  program.slotNames.push_back(name);
  return program.slots++;
}

uint32_t Decoder::immediate(uint64_t bits) {
  auto [it, isNew] = immediateSlots.try_emplace(bits, program.slots);
  if (isNew) {
    temporary("immediate");
    program.immediates.push_back({it->second, bits});
  }
  return it->second;
}

const Binding *Decoder::find(const std::string &name) {
  return find(name, instruction->scope);
}

const Binding *Decoder::find(const std::string &name, uint32_t scope) {
  Frame &frame = frames.back();
  const Function &function = *frame.function;
  for (;; scope = function.scopes[scope].parent) {
    if (scope >= function.scopes.size())
      break;
    auto it = function.scopes[scope].variables.find(name);
    if (it != function.scopes[scope].variables.end()) {
      const Variable &variable = function.locals[it->second];
      // Shared variables of a function exist once, whatever calls it.
      if (variable.space == Space::Shared && !variable.isRegister) {
        std::string key = function.name + ":" + std::to_string(it->second);
        auto [found, isNew] = globalBindings.try_emplace(key);
        if (isNew && !declare(variable, found->second))
          return nullptr;
        return &found->second;
      }
      auto [found, isNew] = frame.bindings.try_emplace(&variable);
      if (isNew && !declare(variable, found->second))
        return nullptr;
      return &found->second;
    }
    if (scope == 0)
      break;
  }
  for (const auto &[formal, binding] : frame.formals)
    if (formal == name)
      return &binding;
  if (auto it = globalBindings.find(name); it != globalBindings.end())
    return &it->second;
  for (const Variable &variable : syntax.globals)
    if (variable.name == name) {
      Binding binding;
      if (!declare(variable, binding))
        return nullptr;
      return &(globalBindings[name] = binding);
    }
  if (auto it = specialNames.find(name); it != specialNames.end()) {
    if (std::string missing = missingForName(name, target); !missing.empty()) {
      fail(missing);
      return nullptr;
    }
    Binding binding;
    binding.slot = temporary(name);
    binding.type = typeOf(it->second);
    binding.isSpecial = true;
    program.specials.push_back({binding.slot, it->second, 0});
    return &(globalBindings[name] = binding);
  }
  if (name == "WARP_SZ") {
    Binding binding;
    binding.slot = immediate(32);
    binding.type = Type::U32;
    return &(globalBindings[name] = binding);
  }
  return nullptr;
}

static uint64_t keep(uint64_t bits, unsigned width) {
  return width >= 64 || width == 0 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// The slot of an operand, as a value of `type`.
bool Decoder::slot(const Operand &operand, Type type, uint32_t &slot) {
  switch (operand.kind) {
  case Operand::Integer:
    slot = immediate(type == Type::Pred ? operand.bits != 0
                                        : keep(operand.bits, bitWidth(type)));
    return true;
  case Operand::Float32: {
    float value;
    uint32_t bits = operand.bits;
    std::memcpy(&value, &bits, 4);
    double wide = value;
    uint64_t wideBits;
    std::memcpy(&wideBits, &wide, 8);
    slot = immediate(type == Type::F64 ? wideBits : bits);
    return true;
  }
  case Operand::Float64: {
    double value;
    std::memcpy(&value, &operand.bits, 8);
    float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    slot = immediate(type == Type::F32 ? bits : operand.bits);
    return true;
  }
  case Operand::Sink:
    slot = sinkSlot;
    return true;
  case Operand::Name: {
    const Binding *binding = find(operand.name);
    if (!binding) {
      for (const Function &function : syntax.functions)
        if (function.name == operand.name)
          return fail("takes the address of function '" + operand.name +
                      "', but the simulator does not support indirect calls");
      return fail("'" + operand.name + "' is not declared" +
                  (operand.name[0] == '%'
                       ? ", nor a special register that the simulator has"
                       : ""));
    }
    slot = binding->slot;
    if (operand.offset == 0)
      return true;
    // `mov.u64 %rd1, variable+8`
    for (Program::SpecialFill special : program.specials)
      if (special.slot == slot) {
        special.slot = slot = temporary(operand.name);
        special.value += operand.offset;
        program.specials.push_back(special);
        return true;
      }
    for (const Program::Fill &fill : program.immediates)
      if (fill.slot == slot) {
        slot = immediate(fill.bits + operand.offset);
        return true;
      }
    return fail("expects a variable before '+'");
  }
  default:
    return fail("expects a scalar operand");
  }
}

bool Decoder::expectOperands(size_t least, size_t most) {
  size_t count = operandCount();
  if (count >= least && count <= most)
    return true;
  return fail("expects " + std::to_string(least) +
              (most > least ? " to " + std::to_string(most) : "") +
              " operands, but got " + std::to_string(count));
}

unsigned Decoder::registerBits(const Operand &operand) {
  const Binding *binding =
      operand.kind == Operand::Name ? find(operand.name) : nullptr;
  return binding && binding->kind == Binding::Register ? bitWidth(binding->type)
                                                       : 32;
}

bool Decoder::dst(const Operand &operand) {
  if (operand.kind == Operand::Sink) {
    addDst(sinkSlot);
    return true;
  }
  const Binding *binding =
      operand.kind == Operand::Name ? find(operand.name) : nullptr;
  if (!binding || binding->kind != Binding::Register)
    return fail(
        "expects a register to write" +
        (operand.name.empty() ? "" : ", but got '" + operand.name + "'"));
  if (dstSlots.empty())
    inst.dstBits = bitWidth(binding->type);
  addDst(binding->slot);
  return true;
}

bool Decoder::src(const Operand &operand, Type type) {
  uint32_t index = 0;
  if (!slot(operand, type, index))
    return false;
  addSrc(index);
  return true;
}

bool Decoder::dsts(const Operand &operand) {
  if (operand.kind != Operand::Vector)
    return dst(operand);
  for (const Operand &element : operand.elements)
    if (!dst(element))
      return false;
  return true;
}

bool Decoder::srcs(const Operand &operand, Type type) {
  if (operand.kind != Operand::Vector)
    return src(operand, type);
  for (const Operand &element : operand.elements)
    if (!src(element, type))
      return false;
  return true;
}

bool Decoder::simple(Type type, size_t sources) {
  if (!expectOperands(sources + 1, sources + 1) || !dst(0))
    return false;
  inst.type = type;
  for (size_t i = 1; i <= sources; ++i)
    if (!src(i, type))
      return false;
  return true;
}

bool Decoder::address(const Operand &operand, unsigned which, Space space) {
  const Operand *base = &operand;
  if (operand.kind == Operand::Address) {
    if (operand.elements.empty())
      return fail("expects an address");
    base = &operand.elements.front();
  }
  inst.space = space;
  if (base->kind == Operand::Integer) {
    addSrc(immediate(base->bits));
    return true;
  }
  const Binding *binding =
      base->kind == Operand::Name ? find(base->name) : nullptr;
  if (!binding)
    return fail("expects an address, but got '" + base->name + "'");
  inst.offset[which] = base->offset;
  addSrc(binding->slot);
  return true;
}

bool Decoder::constant(const Operand &operand, uint64_t &value) {
  if (operand.kind != Operand::Integer)
    return fail("expects a constant");
  value = operand.bits;
  return true;
}

bool Decoder::label(const Operand &operand, uint32_t &target) {
  const Function &function = *frames.back().function;
  for (uint32_t scope = instruction->scope;;
       scope = function.scopes[scope].parent) {
    auto it = function.scopes[scope].labels.find(operand.name);
    if (it != function.scopes[scope].labels.end()) {
      target = frames.back().base + it->second;
      return true;
    }
    if (scope == 0)
      return fail("expects a label, but got '" + operand.name + "'");
  }
}

bool Decoder::targets(const Operand &operand, std::vector<uint32_t> &targets) {
  uint32_t table = 0;
  if (!label(operand, table))
    return false;
  const Function &function = *frames.back().function;
  const Instruction &statement = function.body[table - frames.back().base];
  if (statement.operands.empty())
    return fail("expects a .branchtargets table");
  for (const Operand &element : statement.operands.front().elements) {
    targets.emplace_back();
    if (!label(element, targets.back()))
      return false;
  }
  return true;
}

Type Decoder::type(unsigned which) const {
  std::vector<Type> types = instruction->types();
  return which < types.size() ? types[which] : Type::None;
}

Space Decoder::space() const {
  for (size_t i = 1; i < instruction->parts.size(); ++i) {
    const std::string &part = instruction->parts[i];
    if (part == "global")
      return Space::Global;
    if (part.compare(0, 6, "shared") == 0)
      return Space::Shared;
    if (part == "local")
      return Space::Local;
    if (part == "const")
      return Space::Const;
    if (part.compare(0, 5, "param") == 0)
      return Space::Param;
  }
  return Space::Generic;
}

} // namespace blockscale::sim
