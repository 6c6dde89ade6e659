//===-- Library.cpp - A compiled shared library, loaded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // dladdr1
#endif
#include "blockscale/Runtime/Library.h"
#include "ElfCheck.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

using namespace blockscale::runtime;

/// What MLIR's lowering gives as the allocation of a constant's descriptor.
static void *const constantMarker = reinterpret_cast<void *>(0xdeadbeef);

namespace {

/// A memref descriptor: allocated, aligned, offset, sizes[rank],
/// strides[rank]; every field has 8 bytes.
static_assert(sizeof(void *) == sizeof(int64_t), "a 64-bit machine");
constexpr size_t descriptorFields(size_t rank) { return 3 + 2 * rank; }

void writeDescriptor(const TensorView &view, int64_t *fields) {
  const size_t rank = view.shape.size();
  std::memcpy(&fields[0], &view.data, sizeof(void *));
  std::memcpy(&fields[1], &view.data, sizeof(void *));
  fields[2] = 0;
  std::vector<int64_t> strides = rowMajorStrides(view.shape);
  for (size_t i = 0; i < rank; ++i) {
    fields[3 + i] = view.shape[i];
    fields[3 + rank + i] = strides[i];
  }
}

struct Descriptor {
  void *allocated, *aligned;
  int64_t offset;
  std::vector<int64_t> sizes, strides;

  Descriptor(const int64_t *fields, size_t rank)
      : offset(fields[2]), sizes(fields + 3, fields + 3 + rank),
        strides(fields + 3 + rank, fields + 3 + 2 * rank) {
    std::memcpy(&allocated, &fields[0], sizeof(void *));
    std::memcpy(&aligned, &fields[1], sizeof(void *));
  }
  bool isRowMajor() const {
    std::vector<int64_t> expected = rowMajorStrides(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0)
        return true;
      if (sizes[i] != 1 && strides[i] != expected[i])
        return false;
    }
    return true;
  }
};

/// The results of one call, each allocation freed exactly once.
class Results {
public:
  Results(const Entry &entry, const std::vector<TensorView> &inputs,
          const std::vector<int64_t> &fields)
      : entry(entry), inputs(inputs) {
    size_t position = 0;
    for (const TensorType &type : entry.results) {
      const size_t rank = type.storageShape.size();
      descriptors.emplace_back(&fields[position], rank);
      position += descriptorFields(rank);
    }
  }
  ~Results() {
    for (size_t i = 0; i < descriptors.size(); ++i)
      if (isOurs(i))
        std::free(descriptors[i].allocated);
  }

  std::optional<std::vector<Tensor>> take(std::string &error) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < descriptors.size(); ++i) {
      Descriptor &result = descriptors[i];
      const TensorType &type = entry.results[i];
      std::string why;
      std::optional<int64_t> count =
          elementCount(result.sizes, size(type.storageType));
      if (!count || (!result.aligned && *count > 0) ||
          !type.accepts(type.storageType, result.sizes, why)) {
        error = "result " + std::to_string(i) + " of '" + entry.name + "' " +
                (why.empty() ? "has no data" : why) + "; the library is faulty";
        return std::nullopt;
      }
      auto *first = static_cast<uint8_t *>(result.aligned) +
                    result.offset * size(type.storageType);
      if (isOurs(i) && !isSharedWithLater(i) && result.isRowMajor()) {
        tensors.push_back(Tensor::adopt(type.storageType, result.sizes,
                                        result.allocated, first));
        result.allocated = nullptr;
        continue;
      }
      std::optional<Tensor> copy =
          Tensor::allocate(type.storageType, result.sizes, error);
      if (!copy)
        return std::nullopt;
      copyStrided(copy->data(), first, size(type.storageType), result.sizes,
                  result.strides);
      tensors.push_back(std::move(*copy));
    }
    return tensors;
  }

private:
  /// Whether result `i` owns its memory: compiled code should return fresh
  /// memory only, but an input, a constant or an earlier result must not be
  /// freed in its place.
  bool isOurs(size_t i) const {
    void *memory = descriptors[i].allocated;
    if (!memory || memory == constantMarker)
      return false;
    for (const TensorView &input : inputs)
      if (input.data == memory)
        return false;
    for (size_t j = 0; j < i; ++j)
      if (descriptors[j].allocated == memory)
        return false;
    return true;
  }
  bool isSharedWithLater(size_t i) const {
    for (size_t j = i + 1; j < descriptors.size(); ++j)
      if (descriptors[j].allocated == descriptors[i].allocated)
        return true;
    return false;
  }

  const Entry &entry;
  const std::vector<TensorView> &inputs;
  std::vector<Descriptor> descriptors;
};

/// The manifest's characters, or nullopt if no zero byte ends them inside the
/// symbol.
std::optional<std::string_view> manifestOf(const void *symbol) {
  Dl_info info;
  const ElfW(Sym) *entry = nullptr;
  const char *text = static_cast<const char *>(symbol);
  if (!dladdr1(symbol, &info,
               reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&entry)),
               RTLD_DL_SYMENT) ||
      !entry || entry->st_size == 0)
    return std::string_view(text);
  size_t length = strnlen(text, entry->st_size);
  if (length == entry->st_size)
    return std::nullopt;
  return std::string_view(text, length);
}

} // namespace

std::unique_ptr<Library> Library::open(const std::string &path,
                                       std::unique_ptr<Device> device,
                                       std::string &error) {
  if (!checkSharedLibrary(path, error) || !device->prepare(error))
    return nullptr;
  std::unique_ptr<Library> library(new Library);
  library->path = path;
  library->where = std::move(device);
  // A bare name would be searched for in the system's folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  library->handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) {
    std::string why = dlerror();
    if (why.rfind(file + ": ", 0) == 0)
      why.erase(0, file.size() + 2);
    error = "cannot load '" + path + "': " + why;
    return nullptr;
  }
  const std::string start = "cannot use '" + path + "': ";
  const void *symbol = dlsym(library->handle, "blockscale_manifest");
  if (!symbol) {
    error = start + "it exports no 'blockscale_manifest'; libraries are made "
                    "by blockscale-compile --emit=shared";
    return nullptr;
  }
  std::optional<std::string_view> text = manifestOf(symbol);
  std::optional<Manifest> manifest;
  if (!text)
    error = "malformed manifest: its text does not end";
  else
    manifest = Manifest::parse(*text, error);
  if (!manifest) {
    error = start + error;
    return nullptr;
  }
  library->text = *text;
  library->description = std::move(*manifest);
  if (!library->where->runs(library->description.target)) {
    error = start + "it was compiled for '" + library->description.target +
            "', which device '" + std::string(library->where->name()) +
            "' does not run";
    return nullptr;
  }
  for (const Entry &entry : library->description.entries) {
    std::string name = "blockscale_entry_" + entry.name;
    void *function = dlsym(library->handle, name.c_str());
    if (!function) {
      error = start + "its manifest names '" + entry.name +
              "', but it exports no '" + name + "'";
      return nullptr;
    }
    library->functions.push_back(reinterpret_cast<Function>(function));
  }
  library->callGuarded = reinterpret_cast<decltype(library->callGuarded)>(
      dlsym(library->handle, "blockscale_call"));
  return library;
}

Library::~Library() {
  if (handle)
    dlclose(handle);
}

bool Library::check(const Entry &entry, const std::vector<TensorView> &inputs,
                    std::string &error) {
  if (inputs.size() != entry.inputs.size()) {
    error = "'" + entry.name + "' expects " +
            std::to_string(entry.inputs.size()) + " inputs, but got " +
            std::to_string(inputs.size());
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string why;
    std::optional<int64_t> count =
        elementCount(inputs[i].shape, size(inputs[i].type));
    if (!count)
      why = "has impossible sizes " + shapeText(inputs[i].shape);
    else if (!inputs[i].data && *count > 0)
      why = "has no data";
    else if (entry.inputs[i].accepts(inputs[i].type, inputs[i].shape, why))
      continue;
    error = "input " + std::to_string(i) + " of '" + entry.name + "' " + why;
    return false;
  }
  return true;
}

std::optional<std::vector<Tensor>>
Library::call(const Entry &entry, const std::vector<TensorView> &inputs,
              std::string &error) {
  const Entry *own = description.find(entry.name, error);
  if (!own || !check(*own, inputs, error))
    return std::nullopt;
  Function function = functions[own - description.entries.data()];
  // Addresses of fields are taken, so they are all made before.
  size_t resultFields = 1, inputFields = 0;
  for (const TensorType &type : own->results)
    resultFields += descriptorFields(type.storageShape.size());
  for (const TensorView &input : inputs)
    inputFields += descriptorFields(input.shape.size());
  std::vector<int64_t> results(resultFields), arguments(inputFields);
  std::vector<void *> args = {results.data()};
  int64_t *next = arguments.data();
  for (const TensorView &input : inputs) {
    writeDescriptor(input, next);
    args.push_back(next);
    next += descriptorFields(input.shape.size());
  }

  const char *message = nullptr;
  if (callGuarded)
    message = callGuarded(function, args.data());
  else
    function(args.data());
  if (message) {
    error = "'" + entry.name + "': " + message;
    return std::nullopt;
  }
  Results returned(*own, inputs, results);
  if (!where->synchronize(error))
    return std::nullopt;
  return returned.take(error);
}
