//===-- Decoder.cpp - From syntax to instructions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Modifiers.h"
#include "Moves.h"

#include <algorithm>

namespace blockscale::sim {

const OpcodeTable &opcodes() {
  static const OpcodeTable table = [] {
    OpcodeTable table;
    addMoves(table);
    addIntegers(table);
    addDotProducts(table);
    addBits(table);
    addFloats(table);
    addHalves(table);
    addCompares(table);
    addConversions(table);
    addControl(table);
    addLoadsAndStores(table);
    addAtomics(table);
    addWarpWide(table);
    addBarriers(table);
    addMbarriers(table);
    addCopies(table);
    addMatrixMoves(table);
    addMatrixMultiplies(table);
    addWarpgroupMultiplies(table);
    addWarpMatrices(table);
    return table;
  }();
  return table;
}

bool Decoder::fail(const std::string &message) {
  if (error.empty())
    error = "line " + std::to_string(instruction ? instruction->line : 0) +
            ": " + (instruction ? instruction->text + ": " : "") + message;
  return false;
}

bool Decoder::unsupported(const std::string &what) {
  return fail("the simulator does not know this " + what);
}

/// Makes room for a variable, or says which slot a register is.
bool Decoder::declare(const Variable &variable, Binding &binding) {
  binding.type = variable.type;
  binding.space = variable.space;
  if (variable.isRegister) {
    if (variable.count != 1)
      return fail("expects scalar registers, but '" + variable.name +
                  "' is a vector; vector registers are not supported");
    binding.kind = Binding::Register;
    binding.slot = temporary(variable.name);
    if (variable.type == Type::B128)
      temporary(variable.name);
    return true;
  }
  auto align = [&](uint64_t at) {
    return (at + variable.align - 1) / variable.align * variable.align;
  };
  switch (variable.space) {
  case Space::Local:
  case Space::Param:
    program.localBytes = align(program.localBytes);
    binding.offset = program.localBytes;
    program.localBytes += variable.bytes();
    binding.kind =
        variable.space == Space::Param ? Binding::ParamArea : Binding::Address;
    // Above the entry's parameters, where accesses tell the two apart.
    binding.slot =
        immediate(variable.space == Space::Param ? 0x80000000 | binding.offset
                                                 : binding.offset);
    return true;
  case Space::Shared: {
    binding.kind = Binding::Address;
    program.sharedAlign = std::max(program.sharedAlign, variable.align);
    Special special = Special::DynamicShared;
    if (!variable.unsized) {
      program.sharedBytes = align(program.sharedBytes);
      binding.offset = program.sharedBytes;
      program.sharedBytes += variable.bytes();
      special = Special::SharedAddress;
    }
    binding.slot = temporary(variable.name);
    program.specials.push_back({binding.slot, special, binding.offset});
    return true;
  }
  default:
    break;
  }
  auto symbol = symbols.find(variable.name);
  if (symbol == symbols.end())
    return fail("'" + variable.name + "' is declared but nowhere defined");
  binding.kind = Binding::Address;
  binding.slot = immediate(symbol->second);
  return true;
}

bool Decoder::body(const Function &function,
                   std::vector<std::pair<std::string, Binding>> formals) {
  for (const Frame &frame : frames)
    if (frame.function == &function)
      return fail("calls '" + function.name +
                  "' recursively, which the simulator does not support");
  if (++expansions > 1 << 16 || program.code.size() > 1 << 22)
    return fail("calls expand, in place, to more than 65536 functions or "
                "4194304 instructions, the simulator's limits");
  Frame frame;
  frame.function = &function;
  frame.formals = std::move(formals);
  frame.base = nextLabel;
  frame.end = frame.base + function.body.size();
  nextLabel = frame.end + 1;
  labelPositions.resize(nextLabel, noTarget);
  frames.push_back(std::move(frame));
  for (size_t i = 0; i < function.body.size(); ++i) {
    const Instruction &statement = function.body[i];
    if (!statement.label.empty())
      labelPositions[frames.back().base + i] = program.code.size();
    else if (!one(statement))
      return false;
  }
  labelPositions[frames.back().end] = program.code.size();
  frames.pop_back();
  return true;
}

bool Decoder::one(const Instruction &source) {
  const Instruction *outer = instruction;
  instruction = &source;
  inst = Inst();
  dstSlots.clear();
  srcSlots.clear();
  inst.line = source.line;
  auto [it, isNew] =
      opcodeIndex.try_emplace(source.text, program.opcodes.size());
  if (isNew)
    program.opcodes.push_back(source.text);
  inst.opcode = it->second;
  if (!source.guard.empty()) {
    const Binding *guard = find(source.guard);
    if (!guard)
      return fail("the predicate '" + source.guard + "' is not declared");
    if (guard->type != Type::Pred)
      return fail("expects a predicate after '@', but got '" + source.guard +
                  "', which is ." + std::string(nameOf(guard->type)));
    inst.guard = guard->slot;
    inst.guardNegated = source.guardNegated;
  }
  if (source.opcode() == "call") {
    if (!call())
      return false;
    instruction = outer;
    return true;
  }
  auto entry = opcodes().find(source.opcode());
  if (entry == opcodes().end())
    return unsupported("instruction");
  if (std::string unknown = unknownModifier(source); !unknown.empty())
    return unsupported("modifier: " + unknown);
  if (std::string missing = missingFor(source, target); !missing.empty())
    return fail(missing);
  if (!checkOperands())
    return false;
  if (!entry->second(*this))
    return fail("expects other operands or modifiers");
  emit();
  instruction = outer;
  return true;
}

void Decoder::emit() {
  inst.dsts = dstSlots.size();
  inst.srcs = srcSlots.size();
  auto args = std::make_unique<uint32_t[]>(inst.dsts + inst.srcs);
  std::copy(dstSlots.begin(), dstSlots.end(), args.get());
  std::copy(srcSlots.begin(), srcSlots.end(), args.get() + inst.dsts);
  inst.args = args.get();
  program.argPool.push_back(std::move(args));
  program.code.push_back(inst);
  dstSlots.clear();
  srcSlots.clear();
}

bool Decoder::entry(const Function &function) {
  error.clear();
  program.slotNames = {"true", "_", "CC"};
  uint64_t offset = 0;
  std::vector<std::pair<std::string, Binding>> formals;
  for (const Variable &param : function.params) {
    offset = (offset + param.align - 1) / param.align * param.align;
    Binding binding;
    binding.kind = Binding::ParamArea;
    binding.entryParam = true;
    binding.offset = offset;
    binding.slot = immediate(offset);
    binding.type = param.type;
    binding.space = Space::Param;
    formals.emplace_back(param.name, binding);
    program.paramOffsets.push_back(offset);
    offset += param.bytes();
  }
  program.paramBytes = offset;
  if (!checkEntry(function))
    return false;
  if (!body(function, std::move(formals)))
    return false;
  Instruction end;
  end.text = "exit";
  end.parts = {"exit"};
  end.line = function.body.empty() ? function.line : function.body.back().line;
  frames.emplace_back();
  frames.back().function = &function;
  if (!one(end))
    return false;
  frames.pop_back();
  if (program.sharedBytes > 48 << 10) {
    error = "line " + std::to_string(function.line) + ": '" + function.name +
            "' has " + std::to_string(program.sharedBytes) +
            " bytes of shared variables, but 49152 is all that a module may "
            "declare; more is dynamic ('.extern .shared')";
    return false;
  }
  resolveLabels();
  findPostDominators();
  return true;
}

/// Directives and parameters against the target.
bool Decoder::checkEntry(const Function &function) {
  std::string missing;
  if (function.cluster)
    missing = missingForName(".reqnctapercluster", target);
  if (function.maxClusterRank && missing.empty())
    missing = missingForName(".maxclusterrank", target);
  uint64_t most = target.number >= 70 && target.version >= 81 ? 32764 : 4352;
  if (program.paramBytes > most)
    missing = "expects at most " + std::to_string(most) +
              " bytes of parameters, but got " +
              std::to_string(program.paramBytes);
  if (!missing.empty())
    error = "line " + std::to_string(function.line) + ": '" + function.name +
            "': " + missing;
  return missing.empty();
}

/// Expands the callee here.
bool Decoder::call() {
  const Instruction &source = *instruction;
  size_t at = 0;
  std::vector<Operand> results, arguments;
  if (at < operandCount() && operand(at).kind == Operand::Group)
    results = operand(at++).elements;
  if (at >= operandCount() || operand(at).kind != Operand::Name)
    return fail("expects a function");
  std::string name = operand(at++).name;
  if (at < operandCount() && operand(at).kind == Operand::Group)
    arguments = operand(at++).elements;
  const Function *callee = nullptr;
  for (const Function &function : syntax.functions)
    if (function.name == name)
      callee = &function;
  if (!callee)
    return fail("expects a function's name, but got '" + name +
                "'; indirect calls are not supported");
  Inst guardOnly = inst;
  std::vector<std::pair<std::string, Binding>> formals;
  auto bind = [&](const Variable &formal, const Operand &actual,
                  bool isResult) {
    const Binding *given =
        actual.kind == Operand::Name ? find(actual.name) : nullptr;
    if (!formal.isRegister) {
      if (!given || given->kind != Binding::ParamArea)
        return fail("expects a .param variable for '" + formal.name + "'");
      formals.emplace_back(formal.name, *given);
      return true;
    }
    Binding binding;
    if (isResult) {
      if (!given)
        return fail("expects a register for '" + formal.name + "'");
      binding = *given;
    } else {
      if (!declare(formal, binding))
        return false;
      inst = guardOnly;
      if (!src(actual, formal.type))
        return false;
      addDst(binding.slot);
      inst.propagates = true;
      inst.run = moveHandler(formal.type);
      emit();
    }
    formals.emplace_back(formal.name, binding);
    return true;
  };
  if (callee->hasBody && (results.size() != callee->results.size() ||
                          arguments.size() != callee->params.size()))
    return fail("expects " + std::to_string(callee->params.size()) +
                " arguments and " + std::to_string(callee->results.size()) +
                " results");
  for (size_t i = 0; i < callee->results.size() && i < results.size(); ++i)
    if (!bind(callee->results[i], results[i], true))
      return false;
  if (!callee->hasBody) {
    if (name == "__assertfail") {
      inst.run = trapHandler();
      emit();
      return true;
    }
    if (name != "vprintf")
      return fail("calls '" + name +
                  "', which is external; the simulator "
                  "needs its body (link device libraries first)");
    // Prints nothing and returns 0.
    if (formals.empty())
      return true;
    inst.run = zeroParamHandler();
    inst.offset[0] = formals.front().second.offset;
    emit();
    return true;
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!bind(callee->params[i], arguments[i], false))
      return false;
  // A guarded call is a branch around the body.
  uint32_t after = noTarget;
  inst = guardOnly;
  if (inst.guard != alwaysTrue) {
    after = nextLabel++;
    labelPositions.resize(nextLabel, noTarget);
    inst.guardNegated = !inst.guardNegated;
    inst.target = after;
    inst.branches = true;
    inst.run = branchHandler();
    emit();
  }
  if (!body(*callee, std::move(formals)))
    return false;
  instruction = &source;
  if (after != noTarget)
    labelPositions[after] = program.code.size();
  return true;
}

} // namespace blockscale::sim
