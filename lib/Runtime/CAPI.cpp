//===-- CAPI.cpp - C API: run compiled libraries ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale-c/Runtime.h"
#include "blockscale/Runtime/Library.h"

using namespace blockscale::runtime;

struct BlockscaleLibrary {
  std::unique_ptr<Library> library;
  std::string manifest, device; ///< They end with a zero byte.
};

/// Arrays on the host or on a device; the other list is empty.
struct BlockscaleResults {
  std::vector<Tensor> tensors;
  std::vector<DeviceTensor> deviceTensors;
};

static std::string &lastError() {
  static thread_local std::string error;
  return error;
}

const char *blockscaleRuntimeLastError(void) { return lastError().c_str(); }

BlockscaleLibrary *blockscaleLibraryOpen(const char *path, const char *device) {
  std::unique_ptr<Library> library =
      Library::openFor(path, device ? device : "", lastError());
  if (!library)
    return nullptr;
  std::string manifest(library->manifestText());
  std::string name(library->device().name());
  return new BlockscaleLibrary{std::move(library), std::move(manifest),
                               std::move(name)};
}

void blockscaleLibraryDestroy(BlockscaleLibrary *library) { delete library; }

const char *blockscaleLibraryGetManifest(BlockscaleLibrary *library) {
  return library->manifest.c_str();
}

const char *blockscaleLibraryGetDevice(BlockscaleLibrary *library) {
  return library->device.c_str();
}

/// `array` as the runtime sees it. Nullopt if it has no known dtype.
static std::optional<TensorView> viewOf(const BlockscaleArray &array,
                                        const char *what, int64_t index) {
  std::optional<DataType> type = dataTypeFromName(array.dtype);
  if (!type) {
    lastError() = std::string(what) + " " + std::to_string(index) +
                  " has a dtype that is none: '" + array.dtype + "'";
    return std::nullopt;
  }
  TensorView view;
  view.type = *type;
  if (array.rank > 0)
    view.shape.assign(array.shape, array.shape + array.rank);
  view.data = array.data;
  return view;
}

static std::optional<std::vector<TensorView>>
viewsOf(int64_t count, const BlockscaleArray *arrays) {
  std::vector<TensorView> views;
  for (int64_t i = 0; i < count; ++i) {
    std::optional<TensorView> view = viewOf(arrays[i], "input", i);
    if (!view)
      return std::nullopt;
    views.push_back(std::move(*view));
  }
  return views;
}

BlockscaleResults *blockscaleLibraryCall(BlockscaleLibrary *library,
                                         const char *entry, int64_t numInputs,
                                         const BlockscaleArray *inputs) {
  const Entry *found = library->library->manifest().find(entry, lastError());
  if (!found)
    return nullptr;
  std::optional<std::vector<TensorView>> views = viewsOf(numInputs, inputs);
  if (!views)
    return nullptr;
  std::optional<std::vector<Tensor>> tensors =
      library->library->call(*found, *views, lastError());
  if (!tensors)
    return nullptr;
  return new BlockscaleResults{std::move(*tensors), {}};
}

BlockscaleResults *blockscaleLibraryCallDevice(BlockscaleLibrary *library,
                                               const char *entry,
                                               int64_t numInputs,
                                               const BlockscaleArray *inputs,
                                               void *stream) {
  return blockscaleLibraryCallDeviceInto(library, entry, numInputs, inputs, 0,
                                         nullptr, stream);
}

BlockscaleResults *blockscaleLibraryCallDeviceInto(
    BlockscaleLibrary *library, const char *entry, int64_t numInputs,
    const BlockscaleArray *inputs, int64_t numResults,
    const BlockscaleArray *results, void *stream) {
  const Entry *found = library->library->manifest().find(entry, lastError());
  if (!found)
    return nullptr;
  std::optional<std::vector<TensorView>> views = viewsOf(numInputs, inputs);
  if (!views)
    return nullptr;
  std::vector<std::optional<DeviceTensor>> into;
  for (int64_t i = 0; i < numResults; ++i) {
    std::optional<DeviceTensor> &memory = into.emplace_back();
    if (!results[i].dtype)
      continue;
    std::optional<TensorView> view = viewOf(results[i], "result", i);
    if (!view)
      return nullptr;
    memory =
        DeviceTensor::borrow(library->library->gpu(), view->type,
                             std::move(view->shape), results[i].data, stream);
  }
  std::optional<std::vector<DeviceTensor>> tensors =
      library->library->callOnDevice(*found, *views, stream, lastError(), into);
  if (!tensors)
    return nullptr;
  return new BlockscaleResults{{}, std::move(*tensors)};
}

/// The library's GPU, or null with an error.
static std::shared_ptr<GPUDevice> gpuOf(BlockscaleLibrary *library) {
  std::shared_ptr<GPUDevice> gpu = library->library->gpu();
  if (!gpu)
    lastError() = "device '" + library->device + "' has no memory of its own";
  return gpu;
}

BlockscaleResults *blockscaleLibraryUpload(BlockscaleLibrary *library,
                                           int64_t numArrays,
                                           const BlockscaleArray *arrays,
                                           void *stream) {
  std::shared_ptr<GPUDevice> gpu = gpuOf(library);
  std::optional<std::vector<TensorView>> views = viewsOf(numArrays, arrays);
  if (!gpu || !views)
    return nullptr;
  std::vector<DeviceTensor> tensors;
  bool ok = true;
  for (const TensorView &view : *views) {
    std::optional<DeviceTensor> tensor =
        DeviceTensor::upload(gpu, view, stream, lastError());
    if (!(ok = tensor.has_value()))
      break;
    tensors.push_back(std::move(*tensor));
  }
  // The host's arrays are read until then, whatever happened.
  std::string late;
  if (!gpu->synchronize(stream, late) && ok) {
    lastError() = late;
    ok = false;
  }
  return ok ? new BlockscaleResults{{}, std::move(tensors)} : nullptr;
}

int blockscaleLibrarySynchronize(BlockscaleLibrary *library, void *stream) {
  std::shared_ptr<GPUDevice> gpu = library->library->gpu();
  return !gpu || gpu->synchronize(stream, lastError()) ? 0 : -1;
}

BlockscaleResults *blockscaleResultsDownload(const BlockscaleResults *results) {
  if (!results->tensors.empty()) {
    lastError() = "the results are on the host already";
    return nullptr;
  }
  std::vector<Tensor> tensors;
  for (const DeviceTensor &result : results->deviceTensors) {
    std::optional<Tensor> tensor = result.download(lastError());
    if (!tensor)
      return nullptr;
    tensors.push_back(std::move(*tensor));
  }
  return new BlockscaleResults{std::move(tensors), {}};
}

int64_t blockscaleResultsGetNum(const BlockscaleResults *results) {
  return static_cast<int64_t>(results->tensors.size() +
                              results->deviceTensors.size());
}

template <typename T>
static BlockscaleArray describe(const T &tensor, void *data) {
  // The names are literals, so they end with a zero byte.
  return {name(tensor.type()).data(),
          static_cast<int64_t>(tensor.shape().size()), tensor.shape().data(),
          data};
}

BlockscaleArray blockscaleResultsGet(BlockscaleResults *results,
                                     int64_t index) {
  if (index < 0 || index >= blockscaleResultsGetNum(results))
    return {nullptr, 0, nullptr, nullptr};
  const auto i = static_cast<size_t>(index);
  if (results->tensors.empty())
    return describe(results->deviceTensors[i],
                    results->deviceTensors[i].data());
  return describe(results->tensors[i], results->tensors[i].data());
}

void blockscaleResultsDestroy(BlockscaleResults *results) { delete results; }
