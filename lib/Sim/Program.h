//===-- Program.h - An entry, decoded for execution -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operand is a slot: a register, an immediate, a special register or a
// variable's address. Slots hold 64 bits per lane, zero-extended from the
// operand's width; predicates hold one bit per lane. Immediates and special
// registers are filled in once per warp, so that handlers know only slots.
// Calls of `.func` are expanded in place.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_PROGRAM_H
#define BLOCKSCALE_LIB_SIM_PROGRAM_H

#include "Types.h"

#include <any>
#include <memory>
#include <string>
#include <vector>

namespace blockscale::sim {

struct Warp;
struct Inst;
using Handler = void (*)(Warp &, const Inst &, uint32_t mask);

/// Slot 0 is the predicate that is always true.
constexpr uint32_t alwaysTrue = 0;
/// A destination that is dropped: `_`.
constexpr uint32_t sinkSlot = 1;

/// The carry flag, as a predicate.
constexpr uint32_t carrySlot = 2;

constexpr uint32_t noTarget = ~0u;

struct Inst {
  Handler run = nullptr;
  /// Destinations, then sources.
  const uint32_t *args = nullptr;
  uint16_t dsts = 0, srcs = 0;
  uint32_t guard = alwaysTrue;
  bool guardNegated = false;
  /// A mov: the destination inherits whether the source is initialised.
  bool propagates = false;
  bool selects = false;  ///< Likewise, as Warp::selected says.
  bool branches = false; ///< Sets `Warp::next` or the masks itself.
  Type type = Type::None, type2 = Type::None;
  Space space = Space::Generic;
  uint8_t vector = 1;
  uint8_t dstBits = 32; ///< Width of the destination register.
  uint32_t line = 0;
  uint32_t opcode = 0; ///< Into Program::opcodes.
  uint32_t target = noTarget;
  uint32_t reconverge = noTarget; ///< The branch's immediate post-dominator.
  int64_t offset[3] = {0, 0, 0};
  uint64_t mode = 0; ///< The family's own.
  /// The family's own decoded data.
  std::shared_ptr<const void> data;

  uint32_t dst(unsigned i) const { return args[i]; }
  uint32_t src(unsigned i) const { return args[dsts + i]; }
  template <class T> const T &as() const {
    return *static_cast<const T *>(data.get());
  }
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  SharedAddress, ///< Of a shared variable: `value` is its offset.
  DynamicShared, ///< Of the dynamic shared memory.
  Clock,
  Clock64,
  Clockhi,
  Globaltimer,
  GlobaltimerLo,
  GlobaltimerHi,
};
/// Whether it changes while a warp runs.
inline bool isDynamic(Special special) { return special >= Special::Clock; }

struct Program {
  std::vector<Inst> code;
  std::vector<std::unique_ptr<uint32_t[]>> argPool;
  uint32_t slots = 3;
  std::vector<std::string> slotNames;
  struct Fill {
    uint32_t slot;
    uint64_t bits;
  };
  std::vector<Fill> immediates;
  struct SpecialFill {
    uint32_t slot;
    Special special;
    uint64_t value;
  };
  std::vector<SpecialFill> specials;
  std::vector<std::string> opcodes; ///< Texts, with modifiers.
  uint64_t sharedBytes = 0;         ///< Static; dynamic memory follows it.
  uint64_t sharedAlign = 16;
  uint64_t localBytes = 0; ///< Of a thread, parameters of calls included.
  uint64_t paramBytes = 0; ///< Of the entry.
  std::vector<uint64_t> paramOffsets;
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_PROGRAM_H
