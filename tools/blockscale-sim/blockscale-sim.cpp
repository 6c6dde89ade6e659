//===-- blockscale-sim.cpp - Run a PTX kernel on the CPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "CommandLine.h"
#include "blockscale/Runtime/AtomicFile.h"
#include "blockscale/Runtime/Npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

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

/// Before the kernel runs, so that it does not run in vain.
static bool checkOutputs(const std::vector<OutputArray> &outputs,
                         std::string &error) {
  std::set<std::string> seen;
  for (const OutputArray &output : outputs) {
    if (output.path.rfind("/dev/", 0) != 0 &&
        !seen.insert(output.path).second) {
      error = "'" + output.path + "' is given as an output twice";
      return false;
    }
    if (!runtime::AtomicFile::check(output.path, error))
      return false;
  }
  return true;
}

/// All files are complete before the first takes its name.
static bool writeOutputs(const Device &device,
                         std::vector<OutputArray> &outputs,
                         std::string &error) {
  std::vector<runtime::AtomicFile> files;
  for (OutputArray &output : outputs) {
    uint64_t bytes = output.tensor.bytes();
    device.read(output.address, output.tensor.data(), bytes);
    if (!device.isInitialized(output.address, bytes))
      std::fprintf(stderr,
                   "warning: '%s' has bytes that the kernel did not write\n",
                   output.path.c_str());
    std::string_view data(reinterpret_cast<const char *>(output.tensor.data()),
                          bytes);
    std::optional<runtime::AtomicFile> file =
        runtime::AtomicFile::create(output.path, error);
    if (!file || !file->write(runtime::npyHeader(output.tensor), error) ||
        !file->write(data, error) || !file->close(error))
      return false;
    files.push_back(std::move(*file));
  }
  for (runtime::AtomicFile &file : files)
    if (!file.commit(error))
      return false;
  return true;
}

/// Nullopt and an error that says why.
static std::optional<std::string> readText(const std::string &path,
                                           std::string &error) {
  error = "cannot read '" + path + "': ";
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    error += std::strerror(errno);
    return std::nullopt;
  }
  std::string text;
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, count);
  bool good = !std::ferror(file);
  if (!good)
    error += std::strerror(errno);
  std::fclose(file);
  return good ? std::optional<std::string>(std::move(text)) : std::nullopt;
}

static bool chooseEntry(const Device &device, CommandLine &line,
                        std::string &error) {
  std::vector<EntryInfo> entries = device.entries();
  std::string names;
  for (const EntryInfo &entry : entries) {
    if (entry.name == line.launch.entry)
      return true;
    names += " " + entry.name;
  }
  if (entries.empty())
    error = "'" + line.file + "' has no entry";
  else if (!line.launch.entry.empty())
    error = "'" + line.file + "' has no entry '" + line.launch.entry +
            "'; expects one of" + names;
  else if (entries.size() > 1)
    error = "'" + line.file + "' has " + std::to_string(entries.size()) +
            " entries; choose with --entry:" + names;
  else
    line.launch.entry = entries.front().name;
  return error.empty();
}

int main(int argc, char **argv) {
  std::string error;
  std::optional<CommandLine> line = parseCommandLine(argc, argv, error);
  if (!line)
    return error.empty() ? 0 : fail(error);
  std::optional<std::string> text = readText(line->file, error);
  if (!text)
    return fail(error);

  Device device;
  if (!device.load(*text, error))
    return fail("'" + line->file + "' " + error);
  if (line->list) {
    list(device);
    return 0;
  }
  error.clear();
  if (!chooseEntry(device, *line, error))
    return fail(error);
  std::vector<OutputArray> outputs;
  for (const std::string &argument : line->arguments)
    if (!addArgument(argument, device, line->launch, outputs, error))
      return fail(error);

  if (!checkOutputs(outputs, error))
    return fail(error);

  Result result = device.launch(line->launch);
  if (line->launch.options.profile)
    std::printf("%s", result.profile.text().c_str());
  if (!result) {
    std::fprintf(stderr, "error: '%s' %s\n", line->file.c_str(),
                 result.text().c_str());
    return result.report.fault == Fault::BadLaunch ? 1 : 2;
  }
  return writeOutputs(device, outputs, error) ? 0 : fail(error);
}
