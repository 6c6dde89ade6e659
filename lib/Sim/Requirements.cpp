//===-- Requirements.cpp - Targets and versions of instructions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the "PTX ISA Notes" and "Target ISA Notes" of each instruction. What
// every target from sm_75 on has since PTX 6.3 is not in the table.
//
//===----------------------------------------------------------------------===//
#include "Requirements.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
struct Target {
  std::string_view name;
  unsigned version;     ///< The first PTX version that has it.
  unsigned sharedBytes; ///< Of a CTA at most.
};
constexpr Target targets[] = {
    {"sm_50", 40, 48 << 10},    {"sm_52", 41, 48 << 10},
    {"sm_53", 42, 48 << 10},    {"sm_60", 50, 48 << 10},
    {"sm_61", 50, 48 << 10},    {"sm_62", 50, 48 << 10},
    {"sm_70", 60, 96 << 10},    {"sm_72", 61, 96 << 10},
    {"sm_75", 63, 64 << 10},    {"sm_80", 70, 163 << 10},
    {"sm_86", 71, 99 << 10},    {"sm_87", 74, 163 << 10},
    {"sm_88", 90, 99 << 10},    {"sm_89", 78, 99 << 10},
    {"sm_90", 78, 227 << 10},   {"sm_90a", 80, 227 << 10},
    {"sm_100", 86, 227 << 10},  {"sm_100a", 86, 227 << 10},
    {"sm_100f", 88, 227 << 10}, {"sm_103", 88, 227 << 10},
    {"sm_103a", 88, 227 << 10}, {"sm_103f", 88, 227 << 10},
    {"sm_110", 90, 227 << 10},  {"sm_110a", 90, 227 << 10},
    {"sm_110f", 90, 227 << 10}, {"sm_120", 87, 99 << 10},
    {"sm_120a", 87, 99 << 10},  {"sm_120f", 88, 99 << 10},
    {"sm_121", 88, 99 << 10},   {"sm_121a", 88, 99 << 10},
    {"sm_121f", 88, 99 << 10},
};

/// Words, all of which must hold of the opcode's text: one of `a|b` is a part
/// of it; `.a.b` stands in it as it is; `#4` is the number of operands; `!a`
/// must not be a part; `_` is operand 0. `needs` lists targets with the PTX
/// version since which they have it: sm_90 is it or any later one, sm_90a only
/// that, sm_100f one of its family with a suffix.
struct Requirement {
  std::string_view opcodes, words, needs;
};
constexpr std::string_view families = "sm_100f@8.6 sm_110f@8.6 sm_120f@8.6";
constexpr Requirement requirements[] = {
    // Any instruction.
    {"", "shared::cta", "sm_30@7.8"},
    {"", "shared::cluster", "sm_90@7.8"},
    {"ld|st|atom|red|fence", "cluster", "sm_90@7.8"},
    {"ld|st|atom|red|cp|createpolicy", "L2::cache_hint", "sm_80@7.4"},
    {"ld|st|atom|red|cp", "L2::64B|L2::128B", "sm_75@7.4"},
    {"ld|st|cp", "L2::256B", "sm_80@7.4"},
    {"ld|st",
     "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|"
     "L1::no_allocate",
     "sm_70@7.4"},

    // Arithmetic.
    {"add|sub|mul|fma", "f32x2", "sm_100@8.6"},
    {"add|sub|fma", "f32 f16|bf16", "sm_100@8.6"},
    {"add|sub|mul", "bf16|bf16x2", "sm_90@7.8"},
    {"add", "u16x2|s16x2", "sm_90@8.0"},
    {"fma|neg|abs", "bf16|bf16x2", "sm_80@7.0"},
    {"abs", "f16|f16x2", "sm_53@6.5"},
    {"fma", "relu", "sm_80@7.0"},
    {"min|max", "f16|f16x2|bf16|bf16x2", "sm_80@7.0"},
    {"min|max", "NaN", "sm_80@7.0"},
    {"min|max", "xorsign", "sm_86@7.2"},
    {"min|max", "u16x2|s16x2", "sm_90@8.0"},
    {"min|max", "relu", "sm_90@8.0"},
    {"min|max", "f32 #4", "sm_100@8.8"},
    {"tanh", "", "sm_75@7.0"},
    {"tanh|ex2|set|setp", "bf16|bf16x2", "sm_90@7.8"},
    {"ex2", "f16|f16x2", "sm_75@7.0"},
    {"set", "u32|s32 f16|f16x2", "sm_53@6.5"},
    {"bmsk|szext", "", "sm_70@7.6"},

    // cvt
    {"cvt", "pack", "sm_72@6.5"},
    {"cvt", "bf16|bf16x2|tf32|f16x2|relu", "sm_80@7.0"},
    {"cvt", ".f32.bf16", "sm_80@7.1"},
    {"cvt", "satfinite f16|f16x2|bf16|bf16x2|tf32 !e4m3x2 !e5m2x2",
     "sm_30@8.1"},
    {"cvt", "bf16 f16|f64|u8|u16|u32|u64|s8|s16|s32|s64", "sm_90@7.8"},
    {"cvt", "tf32 rn|rz", "sm_90@7.8"},
    {"cvt", "tf32 rn|rz satfinite", "sm_100@8.6"},
    {"cvt", "e4m3x2|e5m2x2", "sm_90@7.8 sm_89@8.1"},
    {"cvt", "e2m3x2|e3m2x2|e2m1x2|ue8m0x2", families},
    {"cvt", "rs", "sm_100a@8.7 sm_103a@8.7"},

    // Memory.
    {"mov|ld|st", "b128", "sm_70@8.3"},
    {"ld|st", "v8", "sm_100@8.8"},
    {"ld|st", "v4 b64|u64|s64|f64", "sm_100@8.8"},
    {"ld|st", "mmio", "sm_70@8.2"},
    {"ld|st", "param::entry|param::func", "sm_30@8.3"},
    {"atom|red", "bf16|bf16x2", "sm_90@7.8"},
    {"atom|red", "v2|v4|v8", "sm_90@8.1"},
    {"atom", "b128", "sm_90@8.3"},
    {"mapa|getctarank", "", "sm_90@7.8"},
    {"cvta", "param", "sm_70@7.7"},
    {"createpolicy|discard|applypriority", "", "sm_80@7.4"},
    {"prefetch", "L2::evict_last|L2::evict_normal", "sm_80@7.4"},
    {"prefetch", "tensormap", "sm_90@8.0"},

    // Warps, order.
    {"redux", "", "sm_80@7.0"},
    {"redux", "f32", "sm_100f@8.6"},
    {"elect", "", "sm_90@8.0"},
    {"griddepcontrol", "", "sm_90@7.8"},
    {"setmaxnreg", "", "sm_90a@8.0 sm_100f@8.6 sm_110f@8.6 sm_120f@8.6"},
    {"barrier", "cta", "sm_30@7.8"},
    {"barrier", "cluster", "sm_90@7.8"},
    {"barrier", "cluster relaxed|release|acquire", "sm_90@8.0"},
    {"fence", "proxy", "sm_70@7.5"},
    {"fence", "mbarrier_init", "sm_90@8.0"},
    {"fence", "async", "sm_90@8.0"},
    {"fence", "tensormap::generic", "sm_90@8.3"},
    {"fence", "async::generic", "sm_90@8.6"},
    {"mbarrier", "", "sm_80@7.0"},
    {"mbarrier", "parity", "sm_80@7.1"},
    {"mbarrier", "arrive _", "sm_80@7.1"},
    {"mbarrier", "release|acquire", "sm_80@8.0"},
    {"mbarrier", "arrive !noComplete !expect_tx #3", "sm_90@7.8"},
    {"mbarrier", "try_wait", "sm_90@7.8"},
    {"mbarrier", "expect_tx|complete_tx", "sm_90@8.0"},
    {"mbarrier", "shared::cluster", "sm_90@8.0"},
    {"mbarrier", "arrive|arrive_drop|test_wait|try_wait relaxed", "sm_90@8.6"},

    // Copies.
    {"cp", "async", "sm_80@7.0"},
    {"cp", "bulk", "sm_90@8.0"},
    {"cp", "bulk .shared::cta.global", "sm_90@8.6"},

    // Matrices.
    {"ldmatrix", "", "sm_75@6.5"},
    {"stmatrix", "", "sm_90@7.8"},
    {"movmatrix", "", "sm_75@7.8"},
    {"ldmatrix|stmatrix", "b8|b8x16", families},
    {"mma", "block_scale", "sm_120f@8.7"},
    {"mma", "", "sm_75@6.5"},
    {"mma", "m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256",
     "sm_80@7.0"},
    {"mma", "bf16|tf32|f64", "sm_80@7.0"},
    {"mma", "b1", "sm_75@7.0"},
    {"mma", "b1 and", "sm_80@7.1"},
    {"mma", "f64 m16n8k4|m16n8k8|m16n8k16", "sm_90@7.8"},
    {"mma", "e4m3|e5m2", "sm_89@8.4"},
    {"mma", "e4m3|e5m2 m16n8k16|f16", "sm_89@8.7"},
    {"mma", "kind::f8f6f4", families},
    {"mma", "e2m3|e3m2|e2m1", "sm_120f@8.7"},
    {"wmma", "", "sm_70@6.0"},
    {"wmma", "m32n8k16|m8n32k16", "sm_70@6.1"},
    {"wmma", "s8|u8", "sm_72@6.3"},
    {"wmma", "bf16|tf32|f64", "sm_80@7.0"},
    {"wgmma", "", "sm_90a@8.0"},
};

/// Special registers and directives whose names start so.
constexpr std::pair<std::string_view, std::string_view> names[] = {
    {"%cluster", "sm_90@7.8"},
    {"%ncluster", "sm_90@7.8"},
    {"%is_explicit_cluster", "sm_90@7.8"},
    {"%aggr_smem_size", "sm_90@8.1"},
    {".reqnctapercluster", "sm_90@7.8"},
    {".maxclusterrank", "sm_90@7.8"},
};

/// The next of `text`'s pieces, which `at` separates.
std::string_view take(std::string_view &text, char at) {
  size_t end = std::min(text.find(at), text.size());
  std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

/// `8.7` as 87, `sm_120a` without its sm_ as 120.
unsigned digits(std::string_view text) {
  unsigned value = 0;
  for (char c : text)
    if (c >= '0' && c <= '9')
      value = 10 * value + (c - '0');
  return value;
}

char suffixOf(std::string_view name) {
  return name.back() == 'a' || name.back() == 'f' ? name.back() : 0;
}

bool has(const ModuleTarget &target, std::string_view name) {
  unsigned number = digits(name);
  switch (suffixOf(name)) {
  case 'a':
    return target.number == number && target.suffix == 'a';
  case 'f':
    return target.number / 10 == number / 10 && target.number >= number &&
           target.suffix;
  default:
    return target.number >= number;
  }
}

bool holds(std::string_view word, const Instruction &instruction) {
  if (word[0] == '#')
    return instruction.operands.size() == digits(word);
  if (word[0] == '!')
    return !instruction.has(word.substr(1));
  if (word == "_")
    return !instruction.operands.empty() &&
           instruction.operands.front().kind == Operand::Sink;
  if (word[0] == '.')
    return instruction.text.find(word) != std::string::npos;
  while (!word.empty())
    if (instruction.has(take(word, '|')))
      return true;
  return false;
}

bool applies(const Requirement &row, const Instruction &instruction) {
  bool isOpcode = row.opcodes.empty();
  for (std::string_view opcodes = row.opcodes; !opcodes.empty() && !isOpcode;)
    isOpcode = take(opcodes, '|') == instruction.opcode();
  if (!isOpcode)
    return false;
  for (std::string_view words = row.words; !words.empty();)
    if (!holds(take(words, ' '), instruction))
      return false;
  return true;
}

std::string spelled(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

std::string spelled(const ModuleTarget &target) {
  std::string text = "sm_" + std::to_string(target.number);
  if (target.suffix)
    text += target.suffix;
  return text;
}

/// All targets that `needs` allows, or the first one.
std::string allowed(std::string_view needs) {
  std::string text;
  while (!needs.empty()) {
    std::string_view need = take(needs, ' ');
    std::string_view name = need.substr(0, need.find('@'));
    if (!suffixOf(name))
      return std::string(name) + " or later";
    for (const Target &target : targets)
      if (has({digits(target.name), suffixOf(target.name), 0}, name))
        text += (text.empty() ? "" : ", ") + std::string(target.name);
  }
  size_t last = text.rfind(", ");
  return last == std::string::npos ? text : text.replace(last, 2, " or ");
}

std::string missing(std::string_view needs, const std::string &what,
                    const ModuleTarget &target) {
  unsigned version = 0;
  for (std::string_view rest = needs; !rest.empty();) {
    std::string_view need = take(rest, ' ');
    std::string_view name = take(need, '@');
    if (!has(target, name))
      continue;
    if (target.version >= digits(need))
      return "";
    if (!version || digits(need) < version)
      version = digits(need);
  }
  if (version)
    return what + " needs PTX " + spelled(version) +
           " or later; this module's .version is " + spelled(target.version);
  // Several minimums: the lowest is the last.
  size_t last = needs.rfind(' ');
  bool minimums = !suffixOf(needs.substr(0, needs.find('@')));
  if (minimums && last != std::string_view::npos)
    needs.remove_prefix(last + 1);
  return what + " needs .target " + allowed(needs) + "; this module's is " +
         spelled(target);
}
} // namespace

uint32_t ModuleTarget::maxSharedBytes() const {
  for (const Target &target : targets)
    if (digits(target.name) == number)
      return target.sharedBytes;
  return 0;
}

std::optional<ModuleTarget> moduleTarget(const Syntax &syntax,
                                         std::string &error) {
  error = "line " + std::to_string(syntax.targetLine) + ": ";
  size_t dot = syntax.version.find('.');
  if (dot == std::string::npos || dot + 2 != syntax.version.size()) {
    error += "expects '.version' with a number such as 8.7 before '.target', "
             "but got '" +
             syntax.version + "'";
    return std::nullopt;
  }
  ModuleTarget result;
  result.version = digits(syntax.version);
  for (const Target &target : targets)
    if (target.name == syntax.target) {
      result.number = digits(target.name);
      result.suffix = suffixOf(target.name);
      if (result.version >= target.version)
        return result;
      error += ".target " + syntax.target + " needs PTX " +
               spelled(target.version) +
               " or later; this module's .version "
               "is " +
               syntax.version;
      return std::nullopt;
    }
  error += "expects '.target' with a chip of ";
  for (const Target &target : targets)
    error += (&target == targets ? "" : ", ") + std::string(target.name);
  error += ", but got '" + syntax.target + "'";
  return std::nullopt;
}

std::string missingFor(const Instruction &instruction,
                       const ModuleTarget &target) {
  for (const Requirement &row : requirements) {
    if (!applies(row, instruction))
      continue;
    std::string what = instruction.opcode();
    for (std::string_view words = row.words; !words.empty();) {
      std::string_view word = take(words, ' ');
      if (word[0] == '.')
        what += word;
      // Of several words, the one that is there.
      while (word[0] != '.' && !word.empty())
        if (std::string_view one = take(word, '|'); instruction.has(one))
          what += "." + std::string(one);
    }
    std::string problem = missing(row.needs, what, target);
    if (!problem.empty())
      return problem;
  }
  return "";
}

std::string missingForName(std::string_view name, const ModuleTarget &target) {
  for (auto [start, needs] : names)
    if (name.substr(0, start.size()) == start)
      return missing(needs, std::string(name), target);
  return "";
}

} // namespace blockscale::sim
