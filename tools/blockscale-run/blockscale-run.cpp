//===-- blockscale-run.cpp - Run a compiled shared library ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#define JSON_NOEXCEPTION
#include "Benchmark.h"
#include "CommandLine.h"
#include "blockscale/Runtime/AtomicFile.h"
#include "blockscale/Runtime/Convert.h"
#include "blockscale/Runtime/Npy.h"
#include "blockscale/Runtime/Random.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

using namespace blockscale::run;
using namespace blockscale::runtime;

static void list(const Library &library, const Options &options) {
  if (options.json) {
    std::printf("%s\n", std::string(library.manifestText()).c_str());
    return;
  }
  std::printf("%s: compiled for %s\n", options.library.c_str(),
              library.manifest().target.c_str());
  for (const Entry &entry : library.manifest().entries) {
    std::printf("  %s\n", entry.name.c_str());
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      std::printf("    input %zu: %s\n", i, entry.inputs[i].text().c_str());
    for (size_t i = 0; i < entry.results.size(); ++i)
      std::printf("    result %zu: %s\n", i, entry.results[i].text().c_str());
  }
}

static const Entry *chooseEntry(const Manifest &manifest,
                                const Options &options, std::string &error) {
  if (options.entry.empty() && manifest.entries.size() == 1)
    return &manifest.entries.front();
  if (!options.entry.empty() || manifest.entries.empty())
    return manifest.find(options.entry, error);
  error = "'" + options.library + "' has several entries; choose with --entry:";
  for (const Entry &entry : manifest.entries)
    error += " " + entry.name;
  return nullptr;
}

/// One input, from its file or made up.
static std::optional<Tensor> makeInput(const Entry &entry, size_t index,
                                       const Options &options,
                                       std::string &error) {
  const TensorType &type = entry.inputs[index];
  std::optional<Tensor> tensor;
  if (!options.randomSeed) {
    tensor = loadNpyAs(options.inputs[index], type.storageType,
                       options.convertInputs, error);
  } else {
    auto shape = options.shapes.find(index);
    if (shape == options.shapes.end() && type.isDynamic()) {
      // Any number will do for a size that is not known.
      std::vector<int64_t> example = type.shape;
      std::replace_if(
          example.begin(), example.end(), [](int64_t n) { return n < 0; }, 128);
      error = "expects sizes of " + type.type +
              "; give them, such as --shape " + std::to_string(index) + "=" +
              shapeText(example);
    } else {
      // A seed per input, so that two alike inputs differ.
      tensor = randomInput(
          type, shape == options.shapes.end() ? type.shape : shape->second,
          *options.randomSeed * 1000003 + index, error);
    }
  }
  if (!tensor)
    error =
        "input " + std::to_string(index) + " of '" + entry.name + "': " + error;
  return tensor;
}

static std::optional<std::vector<Tensor>>
makeInputs(const Entry &entry, const Options &options, std::string &error) {
  const size_t count = entry.inputs.size();
  if (!options.randomSeed && options.inputs.size() != count) {
    error = "'" + entry.name + "' expects " + std::to_string(count) +
            " inputs, but got " + std::to_string(options.inputs.size()) +
            "; give each with --input, or make them up with --random-inputs";
    return std::nullopt;
  }
  for (const auto &[index, sizes] : options.shapes)
    if (index >= count) {
      error = "--shape names input " + std::to_string(index) + ", but '" +
              entry.name + "' has " + std::to_string(count);
      return std::nullopt;
    }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    std::optional<Tensor> tensor = makeInput(entry, i, options, error);
    if (!tensor)
      return std::nullopt;
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

static bool checkOutputs(const Entry &entry, const Options &options,
                         std::string &error) {
  if (!options.outputs.empty() &&
      options.outputs.size() != entry.results.size()) {
    error = "'" + entry.name + "' has " + std::to_string(entry.results.size()) +
            " results, but got " + std::to_string(options.outputs.size()) +
            " times --output";
    return false;
  }
  std::set<std::string> seen;
  for (const std::string &path : options.outputs)
    if (path.rfind("/dev/", 0) != 0 && !seen.insert(path).second) {
      error = "'" + path + "' is given as --output twice";
      return false;
    }
  // Before the function runs, so that it does not run in vain.
  for (const std::string &path : options.outputs)
    if (!AtomicFile::check(path, error))
      return false;
  return true;
}

/// All files are complete before the first takes its name.
static bool writeOutputs(const std::vector<Tensor> &results,
                         const Options &options, std::string &error) {
  std::vector<AtomicFile> files;
  for (size_t i = 0; i < options.outputs.size(); ++i) {
    const Tensor &tensor = results[i];
    std::string_view bytes(reinterpret_cast<const char *>(tensor.data()),
                           tensor.bytes());
    std::optional<AtomicFile> file =
        AtomicFile::create(options.outputs[i], error);
    if (!file || !file->write(npyHeader(tensor), error) ||
        !file->write(bytes, error) || !file->close(error))
      return false;
    files.push_back(std::move(*file));
  }
  for (AtomicFile &file : files)
    if (!file.commit(error))
      return false;
  return true;
}

static void print(const std::vector<Tensor> &results, const Options &options) {
  constexpr int64_t shown = 8;
  for (size_t i = 0; i < results.size(); ++i) {
    std::printf("result %zu: %s", i, results[i].text().c_str());
    if (!options.outputs.empty()) {
      std::printf(" -> %s\n", options.outputs[i].c_str());
      continue;
    }
    for (int64_t j = 0; j < std::min(results[i].count(), shown); ++j)
      std::printf(" %g", valueAt(results[i], j));
    std::printf("%s\n", results[i].count() > shown ? " ..." : "");
  }
}

static void print(const Timing &timing, const Entry &entry,
                  const Options &options, Library &library) {
  if (!options.json) {
    std::printf("%s: %s\n", entry.name.c_str(), timing.text().c_str());
    return;
  }
  nlohmann::ordered_json json = {{"library", options.library},
                                 {"entry", entry.name},
                                 {"device", library.device().name()},
                                 {"median_s", timing.median},
                                 {"min_s", timing.min},
                                 {"max_s", timing.max},
                                 {"repetitions", timing.repetitions},
                                 {"warm_up", timing.warmUp},
                                 {"input_sets", timing.inputSets},
                                 {"bytes", timing.bytes},
                                 {"bytes_per_s", timing.bytesPerSecond()}};
  if (auto gpu = library.gpu())
    json["model"] = gpu->model();
  // A file name need not be UTF-8.
  std::printf(
      "%s\n",
      json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
          .c_str());
}

static bool runEntry(const Options &options, std::string &error) {
  if (options.threads)
    setenv("BLOCKSCALE_NUM_THREADS", std::to_string(*options.threads).c_str(),
           /*overwrite=*/1);
  if (options.list) {
    // Needs no device: anyone may ask what is in a library.
    std::unique_ptr<Library> library = Library::open(options.library, error);
    if (library)
      list(*library, options);
    return library != nullptr;
  }
  std::unique_ptr<Library> library =
      Library::openFor(options.library, options.device, error);
  if (!library)
    return false;
  const std::string name(library->device().name());
  if (options.profile &&
      (!library->gpu() || !library->gpu()->enableProfile())) {
    error = "--profile expects --device=sim, but got '" + name + "'";
    return false;
  }
  if (options.inputSets && !library->gpu()) {
    error = "--input-sets expects a GPU, but got '" + name + "'";
    return false;
  }
  const Entry *entry = chooseEntry(library->manifest(), options, error);
  if (!entry || !checkOutputs(*entry, options, error))
    return false;
  std::optional<std::vector<Tensor>> inputs =
      makeInputs(*entry, options, error);
  if (!inputs)
    return false;
  std::vector<TensorView> views(inputs->begin(), inputs->end());
  std::optional<Timing> timing;
  if (options.benchmark) {
    timing = measure(*library, *entry, views, options.repetitions,
                     options.inputSets, error);
    if (!timing)
      return false;
  }
  std::optional<std::vector<Tensor>> results =
      library->call(*entry, views, error);
  if (!results)
    return false;
  if (options.f32Outputs)
    for (Tensor &tensor : *results)
      if (tensor.type() == DataType::BF16 || tensor.type() == DataType::F16) {
        std::optional<Tensor> wide =
            convertFloats(tensor, DataType::F32, error);
        if (!wide)
          return false;
        tensor = std::move(*wide);
      }
  if (!writeOutputs(*results, options, error))
    return false;
  if (timing)
    print(*timing, *entry, options, *library);
  else
    print(*results, options);
  if (options.profile)
    std::fputs(library->gpu()->takeProfile().c_str(), stdout);
  return true;
}

int main(int argc, char **argv) {
  std::string error;
  std::optional<Options> options = parseCommandLine(argc, argv, error);
  if (options ? runEntry(*options, error) : error.empty())
    return 0;
  std::fprintf(stderr, "error: %s\n", error.c_str());
  return 1;
}
