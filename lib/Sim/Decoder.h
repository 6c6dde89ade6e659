//===-- Decoder.h - From syntax to instructions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of instructions has a file with its decode functions and
// handlers, and enters them into the table of opcodes.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_DECODER_H
#define BLOCKSCALE_LIB_SIM_DECODER_H

#include "Machine.h"
#include "Requirements.h"

#include <functional>
#include <map>

namespace blockscale::sim {

class Decoder;
/// Decodes `decoder.in()`; false after decoder.fail().
using DecodeFunction = bool (*)(Decoder &decoder);
using OpcodeTable = std::unordered_map<std::string_view, DecodeFunction>;

void addMoves(OpcodeTable &table);
void addIntegers(OpcodeTable &table);
void addDotProducts(OpcodeTable &table);
void addBits(OpcodeTable &table);
void addFloats(OpcodeTable &table);
void addHalves(OpcodeTable &table);
void addCompares(OpcodeTable &table);
void addConversions(OpcodeTable &table);
void addControl(OpcodeTable &table);
void addLoadsAndStores(OpcodeTable &table);
void addAtomics(OpcodeTable &table);
void addWarpWide(OpcodeTable &table);
void addBarriers(OpcodeTable &table);
void addMbarriers(OpcodeTable &table);
void addCopies(OpcodeTable &table);
void addMatrixMoves(OpcodeTable &table);
void addMatrixMultiplies(OpcodeTable &table);
void addWarpgroupMultiplies(OpcodeTable &table);
void addWarpMatrices(OpcodeTable &table);
const OpcodeTable &opcodes();

// Opcodes that all kinds of numbers share start in the file of integers.
bool decodeFloat(Decoder &decoder); ///< f32, f64, f32x2
bool decodeHalf(Decoder &decoder);  ///< f16, bf16 and their pairs

/// What a name of a function means in one expansion of it.
struct Binding {
  enum Kind : uint8_t {
    Register,  ///< `slot`
    Address,   ///< `slot` holds its address in `space`.
    ParamArea, ///< `offset` in the entry's parameters or in local memory.
  } kind = Register;
  uint32_t slot = 0;
  Type type = Type::None;
  Space space = Space::Local;
  uint64_t offset = 0;
  bool entryParam = false;
  bool isSpecial = false; ///< `%tid.x`
};

/// Where a memory operand points.
struct AddressOperand {
  uint32_t slot = 0;
  int64_t offset = 0;
  bool entryParam = false; ///< Of `.param`: the entry's own parameters.
};

class Decoder {
public:
  Decoder(const Syntax &syntax, const ModuleTarget &target,
          const std::unordered_map<std::string, uint64_t> &symbols,
          Program &program, std::string &error)
      : syntax(syntax), target(target), symbols(symbols), program(program),
        error(error) {}
  bool entry(const Function &function);

  const Instruction &in() const { return *instruction; }
  Inst inst;

  bool fail(const std::string &message);
  /// The modifier at `index` is not known.
  bool unsupported(const std::string &what);

  // Operands. Each returns false after fail(). Types say how immediates read.
  size_t operandCount() const { return instruction->operands.size(); }
  const Operand &operand(size_t i) const { return instruction->operands[i]; }
  bool expectOperands(size_t least, size_t most);
  bool dst(const Operand &operand);
  bool src(const Operand &operand, Type type);
  /// Whether it may stand where `type` is read or written; `bits` are those of
  /// `type`, or all that is asked for if it is None.
  bool checkOperand(const Operand &operand, Type type, unsigned bits,
                    bool orWider);
  bool dst(size_t i) { return dst(operand(i)); }
  bool src(size_t i, Type type) { return src(operand(i), type); }
  /// Each element of a vector, or the one operand.
  bool dsts(const Operand &operand);
  bool srcs(const Operand &operand, Type type);
  /// Operand 0 and the others, all of one type.
  bool simple(Type type, size_t sources);
  bool address(const Operand &operand, unsigned which, Space space);
  /// A constant, not a register.
  bool constant(const Operand &operand, uint64_t &value);
  bool slot(const Operand &operand, Type type, uint32_t &slot);
  uint32_t immediate(uint64_t bits);
  uint32_t temporary(const std::string &name);
  unsigned registerBits(const Operand &operand);
  bool label(const Operand &operand, uint32_t &target);
  void addDst(uint32_t slot) { dstSlots.push_back(slot); }
  void addSrc(uint32_t slot) { srcSlots.push_back(slot); }
  size_t dstCount() const { return dstSlots.size(); }
  size_t srcCount() const { return srcSlots.size(); }

  /// The first and second type among the modifiers.
  Type type(unsigned which = 0) const;
  bool has(std::string_view modifier) const {
    return instruction->has(modifier);
  }
  Space space() const;
  bool run(Handler handler) {
    if (!handler)
      return unsupported("type");
    inst.run = handler;
    return true;
  }

  /// Of brx.idx: the labels of a table.
  bool targets(const Operand &operand, std::vector<uint32_t> &targets);
  bool call();

private:
  struct Frame {
    const Function *function;
    std::unordered_map<const Variable *, Binding> bindings;
    uint32_t base = 0; ///< Of its labels in `labels`.
    uint32_t end = noTarget;
    std::vector<std::pair<std::string, Binding>> formals;
  };
  bool body(const Function &function,
            std::vector<std::pair<std::string, Binding>> formals);
  bool declare(const Variable &variable, Binding &binding);
  const Binding *find(const std::string &name);
  const Binding *find(const std::string &name, uint32_t scope);
  bool one(const Instruction &source);
  void emit();
  bool checkEntry(const Function &function);
  /// The types of registers and constants, in OperandTypes.cpp.
  bool checkOperands();
  bool checkConversion(const std::vector<Type> &types);
  bool checkMatrices(const std::vector<Type> &types);
  void resolveLabels();
  void findPostDominators();

  const Syntax &syntax;
  const ModuleTarget &target;
  const std::unordered_map<std::string, uint64_t> &symbols;
  Program &program;
  std::string &error;

  const Instruction *instruction = nullptr;
  std::vector<Frame> frames;
  uint32_t expansions = 0; ///< Of functions where they are called.
  std::map<uint64_t, uint32_t> immediateSlots;
  std::map<std::pair<uint8_t, uint64_t>, uint32_t> specialSlots;
  std::unordered_map<std::string, Binding> globalBindings;
  std::unordered_map<std::string, uint32_t> opcodeIndex;
  std::vector<uint32_t> dstSlots, srcSlots;
  /// Labels are numbered over all expansions; targets are label numbers until
  /// resolveLabels().
  std::vector<uint32_t> labelPositions;
  uint32_t nextLabel = 0;
  friend bool decodeReturn(Decoder &);
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_DECODER_H
