//===-- Call.cpp - Calling a compiled library -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Descriptor.h"
#include "GPU/GPUCall.h"
#include "blockscale/Runtime/Library.h"

#include <cstdio>

using namespace blockscale::runtime;

/// What MLIR's lowering gives as the allocation of a constant's descriptor.
static void *const constantMarker = reinterpret_cast<void *>(0xdeadbeef);

namespace {

/// The results of one call, each allocation freed exactly once.
class Results {
public:
  Results(const Entry &entry, const std::vector<TensorView> &inputs,
          std::vector<Descriptor> descriptors)
      : entry(entry), inputs(inputs), descriptors(std::move(descriptors)) {}
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
      if (!checkResult(entry, i, result, error))
        return std::nullopt;
      uint8_t *first = result.first(type.storageType);
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

} // namespace

const Entry *Library::prepareCall(const Entry &entry,
                                  const std::vector<TensorView> &inputs,
                                  std::string &error) const {
  const Entry *own = description.find(entry.name, error);
  return own && check(*own, inputs, error) ? own : nullptr;
}

bool Library::invoke(const Entry &entry, void **args,
                     std::string &error) const {
  Function function = functions[&entry - description.entries.data()];
  if (!callGuarded) {
    function(args);
    return true;
  }
  const char *message = callGuarded(function, args);
  if (message)
    error = "'" + entry.name + "': " + message;
  return !message;
}

std::optional<std::vector<Tensor>>
Library::call(const Entry &entry, const std::vector<TensorView> &inputs,
              std::string &error) {
  const Entry *own = prepareCall(entry, inputs, error);
  if (!own)
    return std::nullopt;
  if (onGPU)
    return callByCopying(*own, inputs, error);
  Arguments arguments(*own, inputs);
  if (!invoke(*own, arguments.pointers(), error))
    return std::nullopt;
  return Results(*own, inputs, arguments.results()).take(error);
}

//===----------------------------------------------------------------------===//
// On a GPU
//===----------------------------------------------------------------------===//

std::optional<std::vector<Tensor>>
Library::callByCopying(const Entry &entry,
                       const std::vector<TensorView> &inputs,
                       std::string &error) {
  const Stream stream = onGPU->ownStream();
  std::vector<DeviceTensor> uploaded;
  std::vector<TensorView> views;
  auto run = [&]() -> std::optional<std::vector<Tensor>> {
    for (const TensorView &input : inputs) {
      std::optional<DeviceTensor> tensor =
          DeviceTensor::upload(onGPU, input, stream, error);
      if (!tensor)
        return std::nullopt;
      views.push_back(tensor->view());
      uploaded.push_back(std::move(*tensor));
    }
    std::optional<std::vector<DeviceTensor>> results =
        callOnDevice(entry, views, stream, error);
    if (!results)
      return std::nullopt;
    std::vector<Tensor> tensors;
    for (const DeviceTensor &result : *results) {
      std::optional<Tensor> tensor = result.download(error);
      if (!tensor)
        return std::nullopt;
      tensors.push_back(std::move(*tensor));
    }
    return tensors;
  };
  std::optional<std::vector<Tensor>> tensors = run();
  // Whatever happened, nobody reads the inputs any more.
  std::string late;
  if (!onGPU->synchronize(stream, late) && tensors) {
    error = late;
    return std::nullopt;
  }
  return tensors;
}

namespace {
/// A part of memory.
struct Range {
  uintptr_t begin;
  uint64_t bytes;

  explicit Range(const TensorView &array)
      : begin(reinterpret_cast<uintptr_t>(array.data)),
        bytes(static_cast<uint64_t>(
                  elementCount(array.shape, size(array.type)).value_or(0)) *
              size(array.type)) {}
  bool overlaps(const Range &other) const {
    return bytes && other.bytes && begin < other.begin + other.bytes &&
           other.begin < begin + bytes;
  }
};
} // namespace

static std::string addressText(const void *memory) {
  char text[32];
  std::snprintf(
      text, sizeof text, "0x%llx",
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(memory)));
  return text;
}

static std::string alignmentText(uint64_t expected, const void *memory) {
  return "expects memory aligned to " + std::to_string(expected) +
         " bytes, but got " + addressText(memory);
}

/// A kernel that finds out ends all that the process does on the GPU.
bool Library::checkAligned(const Entry &entry,
                           const std::vector<TensorView> &inputs,
                           std::string &error) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Range memory(inputs[i]);
    const uint64_t element = size(inputs[i].type);
    const uint64_t expected = memory.bytes > element ? arrayAlignment : element;
    if (!memory.bytes || memory.begin % expected == 0)
      continue;
    error = "input " + std::to_string(i) + " of '" + entry.name + "' " +
            alignmentText(expected, inputs[i].data) + "; copy it first";
    return false;
  }
  return true;
}

bool Library::checkInto(const Entry &entry,
                        const std::vector<TensorView> &inputs,
                        const std::vector<std::optional<DeviceTensor>> &into,
                        std::string &error) const {
  if (into.empty())
    return true;
  if (into.size() != entry.results.size()) {
    error = "'" + entry.name + "' expects memory for " +
            std::to_string(entry.results.size()) + " results, but got it for " +
            std::to_string(into.size());
    return false;
  }
  auto sharedWith = [&](size_t index, const Range &memory) -> std::string {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (memory.overlaps(Range(inputs[i])))
        return "input " + std::to_string(i);
    for (size_t i = 0; i < index; ++i)
      if (into[i] && memory.overlaps(Range(into[i]->view())))
        return "result " + std::to_string(i);
    return "";
  };
  for (size_t i = 0; i < into.size(); ++i) {
    if (!into[i])
      continue;
    const TensorView array = into[i]->view();
    std::string why;
    if (checkArray(entry.results[i], array, why)) {
      const Range memory(array);
      if (memory.bytes && memory.begin % arrayAlignment)
        why = alignmentText(arrayAlignment, array.data);
      else if (memory.bytes && !onGPU->holds(array.data, memory.bytes))
        why = "expects memory of device '" + std::string(where->name()) +
              "', but got " + addressText(array.data) + ", which is none of it";
      else if (std::string other = sharedWith(i, memory); !other.empty())
        why = "expects memory of its own, but got some of " + other;
      else
        continue;
    }
    error = "result " + std::to_string(i) + " of '" + entry.name + "' " + why;
    return false;
  }
  return true;
}

std::optional<std::vector<DeviceTensor>>
Library::callOnDevice(const Entry &entry, const std::vector<TensorView> &inputs,
                      Stream stream, std::string &error,
                      const std::vector<std::optional<DeviceTensor>> &into) {
  if (!onGPU) {
    error = "device '" + std::string(where->name()) +
            "' has no memory of its own; call with arrays on the host";
    return std::nullopt;
  }
  const Entry *own = prepareCall(entry, inputs, error);
  if (!own || !checkAligned(*own, inputs, error) ||
      !checkInto(*own, inputs, into, error))
    return std::nullopt;
  Arguments arguments(*own, inputs);
  GPUCall call(*onGPU, *module, stream, into);
  setDevice(&call.functions());
  bool ok = invoke(*own, arguments.pointers(), error);
  setDevice(nullptr);
  if (!ok) {
    if (!call.error().empty())
      error = "'" + own->name + "': " + call.error();
    return std::nullopt;
  }

  std::vector<DeviceTensor> tensors;
  std::vector<Descriptor> results = arguments.results();
  for (size_t i = 0; i < results.size(); ++i) {
    Descriptor &result = results[i];
    const DataType type = own->results[i].storageType;
    if (!checkResult(*own, i, result, error))
      return std::nullopt;
    if (!result.isRowMajor()) {
      error = "result " + std::to_string(i) + " of '" + own->name +
              "' is not row-major; the library is faulty";
      return std::nullopt;
    }
    if (!into.empty() && into[i]) {
      const DeviceTensor &given = *into[i];
      if (result.sizes != given.shape()) {
        error = "result " + std::to_string(i) + " of '" + own->name + "' is " +
                arrayText(type, result.sizes) + ", but memory was given for " +
                arrayText(given.type(), given.shape());
        return std::nullopt;
      }
      // What compiled code did not put there.
      if (result.first(type) != given.data() &&
          !onGPU->copy(given.data(), result.first(type), given.bytes(), stream,
                       error))
        return std::nullopt;
      tensors.push_back(DeviceTensor::borrow(onGPU, type, result.sizes,
                                             given.data(), stream));
      continue;
    }
    if (call.take(result.allocated)) {
      tensors.push_back(DeviceTensor::adopt(onGPU, type, result.sizes,
                                            result.allocated,
                                            result.first(type), stream));
      continue;
    }
    // An input, a constant or an earlier result is not to be freed twice.
    std::optional<DeviceTensor> copy =
        DeviceTensor::allocate(onGPU, type, result.sizes, stream, error);
    if (!copy || !onGPU->copy(copy->data(), result.first(type), copy->bytes(),
                              stream, error))
      return std::nullopt;
    tensors.push_back(std::move(*copy));
  }
  return tensors;
}
