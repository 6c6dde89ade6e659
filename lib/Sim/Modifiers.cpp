//===-- Modifiers.cpp - What may follow an opcode ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Modifiers.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
/// `words` are those of the ISA's syntax of these opcodes that are executed,
/// besides types, of which there are at most so many. `x*` is any word that
/// starts so.
struct Row {
  std::string_view opcodes;
  unsigned types;
  std::string_view words;
};
constexpr Row rows[] = {
    // Arithmetic.
    {"add sub", 1, "rn rz rm rp ftz sat cc f16 bf16"},
    {"mul mad", 1, "hi lo wide rn rz rm rp ftz sat cc"},
    {"addc subc", 1, "cc"},
    {"madc", 1, "hi lo cc"},
    {"mul24 mad24", 1, "hi lo sat"},
    {"div", 1, "rn rz rm rp approx full ftz"},
    {"rem sad and or xor not cnot shl shr popc clz brev fns bfe bfi", 1, ""},
    {"min max", 1, "ftz NaN xorsign abs relu"},
    {"abs neg", 1, "ftz"},
    {"fma", 1, "rn rz rm rp ftz sat relu f16 bf16"},
    {"rcp sqrt", 1, "rn rz rm rp approx ftz"},
    {"rsqrt sin cos lg2 ex2 tanh", 1, "approx ftz"},
    {"copysign", 1, ""},
    {"testp", 1, "finite infinite number notanumber normal subnormal"},
    {"setp set", 2,
     "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor "
     "ftz"},
    {"selp", 1, ""},
    {"slct", 2, "ftz"},
    {"shf", 1, "l r clamp wrap"},
    {"lop3", 1, ""},
    {"prmt", 1, "f4e b4e rc8 ecl ecr rc16"},
    {"bfind", 1, "shiftamt"},
    {"bmsk szext", 1, "clamp wrap"},
    {"dp4a", 2, ""},
    {"dp2a", 2, "lo hi"},
    {"cvt", 3,
     "pack rn rz rm rp rna rs rni rzi rmi rpi ftz sat satfinite relu"},

    // Control.
    {"bra call ret", 0, "uni"},
    {"brx", 0, "idx uni"},
    {"exit trap brkpt", 0, ""},
    {"nanosleep", 1, ""},
    {"pmevent", 0, "mask"},
    {"griddepcontrol", 0, "launch_dependents wait"},
    {"setmaxnreg", 1, "inc dec sync aligned"},

    // Memory.
    {"mov", 1, ""},
    {"ld ldu", 1,
     "weak relaxed acquire volatile mmio cta cluster gpu sys global shared "
     "shared::cta shared::cluster local const param param::entry param::func "
     "nc unified v2 v4 v8 L1::* L2::*"},
    {"st", 1,
     "weak relaxed release volatile mmio cta cluster gpu sys global shared "
     "shared::cta shared::cluster local param param::func v2 v4 v8 L1::* "
     "L2::*"},
    {"atom red", 1,
     "relaxed acquire release acq_rel cta cluster gpu sys global shared "
     "shared::cta shared::cluster and or xor add inc dec min max exch cas "
     "noftz v2 v4 v8 L2::cache_hint"},
    {"cvta isspacep", 1,
     "to global shared shared::cta shared::cluster local const param "
     "param::entry param::func"},
    {"mapa getctarank", 1, "shared::cluster"},
    {"createpolicy", 1, "fractional range cvt global L2 L2::*"},
    {"prefetch prefetchu", 0,
     "global local const param tensormap L1 L2 L2::evict_last "
     "L2::evict_normal"},
    {"discard", 0, "global L2"},
    {"applypriority", 0, "global L2::evict_normal"},

    // Warps.
    {"shfl", 1, "sync up down bfly idx"},
    {"vote", 1, "sync all any uni ballot"},
    {"match", 1, "sync all any"},
    {"redux", 1, "sync add min max and or xor abs NaN"},
    {"activemask elect", 1, "sync"},

    // Order.
    {"bar", 1, "cta warp sync arrive red popc and or aligned"},
    {"barrier", 1,
     "cta cluster sync arrive wait red popc and or aligned relaxed release "
     "acquire"},
    {"membar", 0, "cta gl sys proxy alias async"},
    {"fence", 0,
     "sc acq_rel acquire release cta cluster gpu sys mbarrier_init proxy alias "
     "async global shared::cta shared::cluster tensormap::generic "
     "async::generic sync_restrict::*"},
    {"mbarrier", 1,
     "init inval arrive arrive_drop test_wait try_wait expect_tx complete_tx "
     "pending_count parity noComplete shared shared::cta shared::cluster "
     "relaxed release acquire cta cluster"},

    // Copies.
    {"cp", 1,
     "async ca cg shared shared::cta shared::cluster global commit_group "
     "wait_group wait_all mbarrier arrive noinc bulk bulk_group read prefetch "
     "tensor 1d 2d 3d 4d 5d tile tile::* im2col* multicast::cluster "
     "mbarrier::complete_tx::bytes reduce and or xor add inc dec min max noftz "
     "L2 L2::*"},

    // Matrices.
    {"ldmatrix stmatrix movmatrix", 1,
     "sync aligned m8n8 m16n16 m8n16 m16n8 x1 x2 x4 trans shared shared::cta "
     "b8x16 b4x16_p64 b6x16_p32"},
    {"mma", 5,
     "sync aligned m8n8* m16n8* row col satfinite xor and popc kind::* "
     "block_scale scale_vec::* sp sp::ordered_metadata"},
    {"wmma", 4,
     "load store mma a b c d sync aligned row col m* global shared shared::cta "
     "satfinite rn"},
    {"wgmma", 3,
     "fence commit_group wait_group mma_async sync aligned m64* sp satfinite"},
};

std::string_view take(std::string_view &words) {
  size_t end = std::min(words.find(' '), words.size());
  std::string_view word = words.substr(0, end);
  words.remove_prefix(std::min(end + 1, words.size()));
  return word;
}

bool contains(std::string_view words, std::string_view text) {
  while (!words.empty()) {
    std::string_view word = take(words);
    bool isPrefix = word.back() == '*';
    if (isPrefix)
      word.remove_suffix(1);
    if (word == (isPrefix ? text.substr(0, word.size()) : text))
      return true;
  }
  return false;
}
} // namespace

std::string unknownModifier(const Instruction &instruction) {
  for (const Row &row : rows) {
    if (!contains(row.opcodes, instruction.opcode()))
      continue;
    unsigned types = 0;
    for (size_t i = 1; i < instruction.parts.size(); ++i) {
      const std::string &part = instruction.parts[i];
      bool isType = typeFromName(part) != Type::None;
      types += isType;
      // add.f32.f16: a second type that is among the words follows f32.
      if (isType ? types > row.types &&
                       !(contains(row.words, part) && instruction.has("f32"))
                 : !contains(row.words, part))
        return "." + part;
    }
  }
  return "";
}

} // namespace blockscale::sim
