//===-- Chips.cpp - NVIDIA chips as data ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Chips.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace blockscale::nvidia;
using llvm::StringRef;

// PTX 8.8 is the first with every Blackwell chip of this table; older chips
// take the oldest that has their instructions, for older drivers.
static constexpr Chip kChips[] = {
    {"sm_80", "+ptx78", 163 * 1024, 108, false, false, false, false},
    {"sm_86", "+ptx78", 99 * 1024, 84, false, false, false, false},
    {"sm_89", "+ptx81", 99 * 1024, 128, false, false, true, false},
    {"sm_90", "+ptx80", 227 * 1024, 132, false, false, true, false},
    {"sm_90a", "+ptx80", 227 * 1024, 132, false, true, true, false},
    {"sm_120a", "+ptx88", 101376, 188, true, false, true, true},
    {"sm_120f", "+ptx88", 101376, 188, true, false, true, true},
    {"sm_121a", "+ptx88", 101376, 48, true, false, true, true},
};

std::string Chip::whyNoRoom(int64_t bytes) const {
  if (bytes <= sharedBytes)
    return "";
  return "expects at most " + std::to_string(sharedBytes) +
         " bytes of shared memory, but it needs " + std::to_string(bytes);
}

llvm::ArrayRef<Chip> blockscale::nvidia::chips() { return kChips; }

bool blockscale::nvidia::looksLikeChip(StringRef name) {
  return name.starts_with("sm_") || name.starts_with("sm") ||
         name.starts_with("compute_");
}

const Chip *blockscale::nvidia::findChip(StringRef name, std::string &error) {
  for (const Chip &chip : kChips)
    if (chip.name == name)
      return &chip;
  std::string known = llvm::join(
      llvm::map_range(kChips, [](const Chip &chip) { return chip.name.str(); }),
      ", ");
  error = "unknown chip '" + name.str() + "'";
  // sm_120 and sm_120af are near sm_120a: the same number.
  StringRef number = name;
  number.consume_front("compute_") || number.consume_front("sm_") ||
      number.consume_front("sm");
  number = number.take_while(llvm::isDigit);
  for (const Chip &chip : kChips)
    if (chip.name.drop_front(3).take_while(llvm::isDigit) == number) {
      error += ": use '" + chip.name.str() + "'";
      if (name == ("sm_" + number).str())
        error += ", whose block-scaled instructions the plain name leaves out";
      error += "; ";
      break;
    }
  if (error.back() == '\'') {
    // PTX of a chip without suffix runs on every later one.
    const Chip *earlier = nullptr;
    int wanted = 0;
    if (!number.getAsInteger(10, wanted))
      for (const Chip &chip : kChips)
        if (int its;
            !chip.name.drop_front(3).getAsInteger(10, its) && its <= wanted)
          earlier = &chip;
    error += earlier  ? ": use '" + earlier->name.str() +
                            "', whose code runs there as well; "
             : wanted ? ": the oldest that can be compiled for is 'sm_80'; "
                      : ": ";
  }
  error += "expects one of " + known;
  return nullptr;
}
