//===-- blockscale-sim.cpp - Run a PTX kernel on the CPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "CommandLine.h"
#include "blockscale/Runtime/AtomicFile.h"
#include "blockscale/Runtime/Npy.h"

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace blockscale;
using namespace blockscale::sim;

static int fail(const std::string &error) {
  std::fprintf(stderr, "error: %s\n", error.c_str());
  return 1;
}

static void list(const Device &device) {
  for (const EntryInfo &entry : device.entries()) {
    std::printf("%s", entry.name.c_str());
    if (entry.requiredBlock)
      std::printf(" --block %ux%ux%u", entry.requiredBlock->x,
                  entry.requiredBlock->y, entry.requiredBlock->z);
    if (entry.cluster)
      std::printf(" --cluster %ux%ux%u", entry.cluster->x, entry.cluster->y,
                  entry.cluster->z);
    std::printf("\n");
    for (const ParamInfo &param : entry.params)
      std::printf("  %s: %llu bytes\n", param.name.c_str(),
                  static_cast<unsigned long long>(param.bytes));
  }
}

static bool writeOutput(const Device &device, OutputArray &output,
                        std::string &error) {
  uint64_t bytes = output.tensor.bytes();
  device.read(output.address, output.tensor.data(), bytes);
  if (!device.isInitialized(output.address, bytes))
    std::fprintf(stderr,
                 "warning: '%s' has bytes that the kernel did not write\n",
                 output.path.c_str());
  std::optional<runtime::AtomicFile> file =
      runtime::AtomicFile::create(output.path, error);
  std::string_view data(reinterpret_cast<const char *>(output.tensor.data()),
                        bytes);
  return file && file->write(runtime::npyHeader(output.tensor), error) &&
         file->write(data, error) && file->commit(error);
}

int main(int argc, char **argv) {
  std::string error;
  std::optional<CommandLine> line = parseCommandLine(argc, argv, error);
  if (!line)
    return error.empty() ? 0 : fail(error);
  std::ifstream file(line->file, std::ios::binary);
  if (!file)
    return fail("'" + line->file + "' cannot be read");
  std::stringstream text;
  text << file.rdbuf();

  Device device;
  if (!device.load(text.str(), error))
    return fail("'" + line->file + "' " + error);
  if (line->list) {
    list(device);
    return 0;
  }
  std::vector<EntryInfo> entries = device.entries();
  if (line->launch.entry.empty()) {
    if (entries.size() != 1) {
      error = "'" + line->file + "' has " + std::to_string(entries.size()) +
              " entries; choose with --entry:";
      for (const EntryInfo &entry : entries)
        error += " " + entry.name;
      return fail(error);
    }
    line->launch.entry = entries.front().name;
  }
  std::vector<OutputArray> outputs;
  for (const std::string &argument : line->arguments)
    if (!addArgument(argument, device, line->launch, outputs, error))
      return fail(error);

  Result result = device.launch(line->launch);
  if (line->launch.options.profile)
    std::printf("%s", result.profile.text().c_str());
  if (!result) {
    std::fprintf(stderr, "error: '%s' %s\n", line->file.c_str(),
                 result.text().c_str());
    return result.report.fault == Fault::BadLaunch ? 1 : 2;
  }
  for (OutputArray &output : outputs)
    if (!writeOutput(device, output, error))
      return fail(error);
  return 0;
}
