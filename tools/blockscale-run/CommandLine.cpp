//===-- CommandLine.cpp - Options of blockscale-run -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CLI11 reports by exceptions, so this file is compiled with them; none leaves
// it.
//
//===----------------------------------------------------------------------===//
#include "CommandLine.h"
#include "../NumberOption.h"
#include "blockscale/Runtime/Device.h"

#include <iostream>

using namespace blockscale;
using namespace blockscale::run;

static const char *const description =
    "Runs a function of a shared library made by\n"
    "`blockscale-compile in.mlir --emit=shared -o lib.so`, with arrays from\n"
    "and to .npy files (NumPy's numpy.save and numpy.load).\n";

static const char *const footer =
    "Arrays\n"
    "  Memory holds what --list shows. bf16 files are '<V2' (as ml_dtypes\n"
    "  writes them) or uint16; tensors of 4-bit elements are uint8 with two\n"
    "  elements per byte, the even one in the low bits; scales in 8 bits are\n"
    "  uint8. Sizes shown as ? may be any.\n"
    "\n"
    "Examples\n"
    "  What is in a library:\n"
    "    blockscale-run linear.so --list\n"
    "  Run it on two arrays, f32 files rounded to what it expects:\n"
    "    blockscale-run linear.so --input x.npy --input w.npy \\\n"
    "        --output y.npy --convert-inputs --f32-outputs\n"
    "  How fast is it, with 128 rows of made-up numbers:\n"
    "    blockscale-run linear.so --random-inputs=1 --shape 0=128x4096 \\\n"
    "        --benchmark\n"
    "  Check a GPU library without a GPU:\n"
    "    blockscale-run linear.so --device=sim --random-inputs=1 \\\n"
    "        --shape 0=128x4096\n"
    "\n"
    "The exit code is 0 if the function ran, and 1 after an error, which one\n"
    "line on stderr explains. Output files are written whole or not at all.";

/// Parses `0=128x4096`; a rank-0 input's shape is `0=`.
static bool parseShape(const std::string &text, Options &options) {
  size_t equals = text.find('=');
  uint32_t index = 0;
  if (equals == std::string::npos ||
      !CLI::detail::lexical_cast(text.substr(0, equals), index))
    return false;
  std::vector<int64_t> sizes;
  for (size_t begin = equals + 1; begin < text.size();) {
    size_t end = std::min(text.find('x', begin), text.size());
    uint64_t size;
    std::string digits = text.substr(begin, end - begin);
    if (digits.find_first_not_of("0123456789") != std::string::npos ||
        !CLI::detail::lexical_cast(digits, size) ||
        size > static_cast<uint64_t>(INT64_MAX) || end + 1 == text.size())
      return false;
    sizes.push_back(static_cast<int64_t>(size));
    begin = end + 1;
  }
  return options.shapes.emplace(index, std::move(sizes)).second;
}

std::optional<Options> blockscale::run::parseCommandLine(int argc, char **argv,
                                                         std::string &error) {
  Options options;
  std::vector<std::string> shapes;
  std::string benchmark;
  CLI::App app(description, "blockscale-run");
  app.footer(footer);
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("Positionals", "Argument");
  app.set_version_flag("--version", "blockscale-run " BLOCKSCALE_VERSION,
                       "Print the version");

  // Line breaks in descriptions keep the help within 80 columns.
  app.add_option("LIBRARY", options.library, "The shared library")
      ->required()
      ->option_text(" ");
  app.add_flag("--list", options.list,
               "Print its entries and their types, and stop");
  app.add_option("--entry", options.entry,
                 "The function to run; may be left out if there\n"
                 "is only one")
      ->option_text("NAME");
  std::string devices = "Where to run:";
  for (std::string_view name : runtime::Device::available())
    devices += " " + std::string(name);
  app.add_option("--device", options.device,
                 devices + ",\ncuda:1 for the second GPU, sim:7 for another "
                           "order\nof warps and copies than sim's [what the "
                           "library\nwas compiled for]")
      ->option_text("NAME");
  app.add_option("--threads", options.threads,
                 "Threads on the CPU [BLOCKSCALE_NUM_THREADS, or\n"
                 "all processors]")
      ->option_text("N")
      ->check(wholeNumber(1, 1024));

  const char *arrays = "Inputs and outputs";
  app.add_option("-i,--input", options.inputs,
                 "A .npy file; once per input, in order")
      ->option_text("FILE")
      ->allow_extra_args(false)
      ->group(arrays);
  app.add_option("-o,--output", options.outputs,
                 "A .npy file to write; once per result, in order.\n"
                 "Without any, the first values are printed")
      ->option_text("FILE")
      ->allow_extra_args(false)
      ->group(arrays);
  app.add_flag("--convert-inputs", options.convertInputs,
               "Round float files of another width to the type\n"
               "that is expected, to nearest even")
      ->group(arrays);
  app.add_flag("--f32-outputs", options.f32Outputs,
               "Write bf16 and f16 results as f32")
      ->group(arrays);
  app.add_option("--random-inputs", options.randomSeed,
                 "Make inputs up; the same seed gives the same\n"
                 "numbers")
      ->option_text("SEED")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group(arrays);
  app.add_option("--shape", shapes,
                 "Sizes of made-up input N, such as 0=128x4096;\n"
                 "needed where --list shows ?")
      ->option_text("N=SIZES")
      ->allow_extra_args(false)
      ->group(arrays);

  const char *measuring = "Measuring";
  app.add_flag("--benchmark", benchmark,
               "Time N calls, or as many as a second holds")
      ->option_text("[=N]")
      ->group(measuring);
  app.add_option("--input-sets", options.inputSets,
                 "On a GPU, go round N copies of the inputs\n"
                 "[as many as empty its cache]")
      ->option_text("N")
      ->check(wholeNumber(1, 4096))
      ->group(measuring);
  app.add_flag("--profile", options.profile,
               "Count what the simulator executes (--device=sim)")
      ->group(measuring);
  app.add_flag("--json", options.json, "Print --list or --benchmark as JSON")
      ->group(measuring);

  try {
    app.parse(argc, argv);
    options.benchmark = !benchmark.empty();
    if (options.benchmark && benchmark != "true") {
      std::string wrong = checkNumber(benchmark, 1, UINT32_MAX);
      if (!wrong.empty())
        throw CLI::ValidationError("--benchmark", wrong);
      CLI::detail::lexical_cast(benchmark, options.repetitions);
    }
    for (const std::string &shape : shapes)
      if (!parseShape(shape, options))
        throw CLI::ValidationError(
            "--shape", "expects N=SIZES such as 0=128x4096, once per input, " +
                           std::string(shape.find('?') == std::string::npos
                                           ? ""
                                           : "with a number for each ?, ") +
                           "but got " + shape);
    if (options.randomSeed && !options.inputs.empty())
      throw CLI::ValidationError("--random-inputs",
                                 "excludes --input: give all or make up all");
    if (!shapes.empty() && !options.randomSeed)
      throw CLI::ValidationError("--shape", "expects --random-inputs too");
    if (options.inputSets && !options.benchmark)
      throw CLI::ValidationError("--input-sets", "expects --benchmark too");
    if (options.json && !options.list && !options.benchmark)
      throw CLI::ValidationError("--json", "expects --list or --benchmark");
  } catch (const CLI::ParseError &parseError) {
    if (parseError.get_exit_code() == 0) {
      app.exit(parseError, std::cout, std::cout);
      return std::nullopt;
    }
    error = std::string(parseError.what()) + "; blockscale-run --help explains";
    return std::nullopt;
  }
  return options;
}
