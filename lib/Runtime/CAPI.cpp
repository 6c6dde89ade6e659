//===-- CAPI.cpp - C API: run compiled libraries ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale-c/Runtime.h"
#include "blockscale/Runtime/Library.h"

using namespace blockscale::runtime;

struct BlockscaleLibrary {
  std::unique_ptr<Library> library;
  std::string manifest; ///< Ends with a zero byte.
};

struct BlockscaleResults {
  std::vector<Tensor> tensors;
};

static std::string &lastError() {
  static thread_local std::string error;
  return error;
}

const char *blockscaleRuntimeLastError(void) { return lastError().c_str(); }

BlockscaleLibrary *blockscaleLibraryOpen(const char *path, const char *device) {
  std::unique_ptr<Device> where = Device::create(device, lastError());
  if (!where)
    return nullptr;
  std::unique_ptr<Library> library =
      Library::open(path, std::move(where), lastError());
  if (!library)
    return nullptr;
  std::string manifest(library->manifestText());
  return new BlockscaleLibrary{std::move(library), std::move(manifest)};
}

void blockscaleLibraryDestroy(BlockscaleLibrary *library) { delete library; }

const char *blockscaleLibraryGetManifest(BlockscaleLibrary *library) {
  return library->manifest.c_str();
}

BlockscaleResults *blockscaleLibraryCall(BlockscaleLibrary *library,
                                         const char *entry, int64_t numInputs,
                                         const BlockscaleArray *inputs) {
  const Entry *found = library->library->manifest().find(entry, lastError());
  if (!found)
    return nullptr;
  std::vector<TensorView> views;
  for (int64_t i = 0; i < numInputs; ++i) {
    std::optional<DataType> type = dataTypeFromName(inputs[i].dtype);
    if (!type) {
      lastError() = "input " + std::to_string(i) +
                    " has a dtype that is none: '" + inputs[i].dtype + "'";
      return nullptr;
    }
    TensorView &view = views.emplace_back();
    view.type = *type;
    if (inputs[i].rank > 0)
      view.shape.assign(inputs[i].shape, inputs[i].shape + inputs[i].rank);
    view.data = inputs[i].data;
  }
  std::optional<std::vector<Tensor>> tensors =
      library->library->call(*found, views, lastError());
  if (!tensors)
    return nullptr;
  return new BlockscaleResults{std::move(*tensors)};
}

int64_t blockscaleResultsGetNum(const BlockscaleResults *results) {
  return static_cast<int64_t>(results->tensors.size());
}

BlockscaleArray blockscaleResultsGet(BlockscaleResults *results,
                                     int64_t index) {
  if (index < 0 || index >= blockscaleResultsGetNum(results))
    return {nullptr, 0, nullptr, nullptr};
  Tensor &tensor = results->tensors[static_cast<size_t>(index)];
  // The names are literals, so they end with a zero byte.
  return {name(tensor.type()).data(),
          static_cast<int64_t>(tensor.shape().size()), tensor.shape().data(),
          tensor.data()};
}

void blockscaleResultsDestroy(BlockscaleResults *results) { delete results; }
