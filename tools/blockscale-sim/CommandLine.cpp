//===-- CommandLine.cpp - Options of blockscale-sim -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CLI11 reports by exceptions, so this file is compiled with them; none leaves
// it.
//
//===----------------------------------------------------------------------===//
#include "CommandLine.h"
#include "../NumberOption.h"

#include <iostream>

using namespace blockscale;
using namespace blockscale::sim;

static const char *const description =
    "Executes an entry of a .ptx file on the CPU and reports what hardware\n"
    "leaves undefined: uninitialised reads, accesses out of bounds, races on\n"
    "shared memory, deadlocks.\n";

static const char *const footer =
    "Arguments, one per parameter of the entry\n"
    "  in:x.npy               the address of a copy of an array\n"
    "  out:y.npy:f32:4x64     the address of memory without values, which is\n"
    "                         written to the file afterwards\n"
    "  inout:x.npy:y.npy      both\n"
    "  i32:5 u64:7 f32:1.5    a number: i8 to u64, f32, f64\n"
    "  null                   the address 0\n"
    "  map-in:x.npy:TYPE:SHAPE:BOX[:SWIZZLE]\n"
    "                         a tensor map, by value; shape and box as NumPy\n"
    "                         has them, the innermost last; types u8 u16 u32\n"
    "                         f16 bf16 f32 u4 u4x16 u6x16; swizzles 32 64 128\n"
    "  map-out:y.npy:f32:16x64:BOX[:SWIZZLE]\n"
    "\n"
    "Example\n"
    "  blockscale-sim saxpy.ptx --grid 4 --block 256 f32:2.0 in:x.npy \\\n"
    "      inout:y.npy:z.npy u32:1000\n"
    "\n"
    "The exit code is 0 if the kernel ran, 1 after an error and 2 after a "
    "fault\n"
    "of the kernel; stderr explains.";

/// `4`, `4x2`, `4,2,1`
static Dim3 parseDim(const std::string &option, const std::string &text) {
  Dim3 dim;
  uint32_t *extents[] = {&dim.x, &dim.y, &dim.z};
  size_t begin = 0;
  for (unsigned i = 0; i < 3 && begin <= text.size(); ++i) {
    size_t end = std::min(text.find_first_of("x,", begin), text.size());
    if (!CLI::detail::lexical_cast(text.substr(begin, end - begin),
                                   *extents[i]) ||
        *extents[i] == 0)
      throw CLI::ValidationError(option, "expects 1 to 3 sizes such as 4x2, "
                                         "but got " +
                                             text);
    begin = end + 1;
  }
  if (begin <= text.size())
    throw CLI::ValidationError(option,
                               "expects at most 3 sizes, but got " + text);
  return dim;
}

std::optional<CommandLine>
blockscale::sim::parseCommandLine(int argc, char **argv, std::string &error) {
  CommandLine line;
  Options &options = line.launch.options;
  std::string grid = "1", block = "1", cluster = "1";
  std::vector<std::string> unchecked;
  CLI::App app(description, "blockscale-sim");
  app.footer(footer);
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("Positionals", "Argument");
  app.set_version_flag("--version", "blockscale-sim " BLOCKSCALE_VERSION,
                       "Print the version");
  app.add_option("FILE", line.file, "The .ptx file")
      ->required()
      ->option_text(" ");
  app.add_option("ARGUMENT", line.arguments, "What the entry is given")
      ->option_text("...");
  app.add_flag("--list", line.list, "Print its entries and stop");
  app.add_option("--entry", line.launch.entry,
                 "The entry to run; may be left out if there is\nonly one")
      ->option_text("NAME");
  app.add_option("--grid", grid, "CTAs, such as 8x4 [1]")->option_text("SIZES");
  app.add_option("--block", block, "Threads of a CTA [1]")
      ->option_text("SIZES");
  app.add_option("--cluster", cluster,
                 "CTAs of a cluster [what the entry asks for]")
      ->option_text("SIZES");
  app.add_flag("--non-portable-cluster", line.launch.nonPortableCluster,
               "Allow clusters of up to 16 CTAs instead of 8");
  app.add_option("--shared", line.launch.sharedBytes,
                 "Bytes of dynamic shared memory [0]")
      ->option_text("N")
      ->check(wholeNumber(0, UINT32_MAX));
  app.add_flag("--profile", options.profile,
               "Print executed instructions, bank conflicts and\nsectors");
  app.add_option("--no-check", unchecked,
                 "Leave out a check: registers, memory, races or\nwarp-races")
      ->option_text("NAME")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"registers", "memory", "races", "warp-races"}));
  app.add_option("--threads", options.threads, "Threads of the host [all]")
      ->option_text("N")
      ->check(wholeNumber(1, 1024));
  app.add_option("--quantum", options.quantum,
                 "Instructions after which warps change turns [64]")
      ->option_text("N")
      ->check(wholeNumber(1, UINT32_MAX));
  app.add_option("--seed", options.seed,
                 "Choose the order in which warps run and how late\n"
                 "asynchronous copies land; 0: in turns, at once [1]")
      ->option_text("N")
      ->check(wholeNumber(0, UINT64_MAX));
  app.add_option("--max-instructions", options.maxInstructions,
                 "Stop a warp after so many [no limit]")
      ->option_text("N")
      ->check(wholeNumber(1, UINT64_MAX));
  try {
    app.parse(argc, argv);
    if (line.list && !line.arguments.empty())
      throw CLI::ValidationError("--list", "expects no ARGUMENT, but got " +
                                               line.arguments.front());
    line.launch.grid = parseDim("--grid", grid);
    line.launch.block = parseDim("--block", block);
    line.launch.cluster = parseDim("--cluster", cluster);
  } catch (const CLI::ParseError &parseError) {
    if (parseError.get_exit_code() == 0) {
      app.exit(parseError, std::cout, std::cout);
      return std::nullopt;
    }
    error = std::string(parseError.what()) + "; blockscale-sim --help explains";
    return std::nullopt;
  }
  for (const std::string &name : unchecked) {
    options.checkRegisters &= name != "registers";
    options.checkMemory &= name != "memory";
    options.checkRaces &= name != "races";
    options.checkWarpRaces &= name != "warp-races";
  }
  return line;
}
