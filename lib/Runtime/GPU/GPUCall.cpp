//===-- GPUCall.cpp - What one call does on a device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GPUCall.h"

#include <algorithm>

using namespace blockscale::runtime;

GPUCall::GPUCall(GPUDevice &device, GPUModule &module, Stream stream,
                 const std::vector<std::optional<DeviceTensor>> &into)
    : device(device), module(module), stream(stream), into(into) {
  table.context = this;
  table.alloc = [](void *context, uint64_t bytes) -> void * {
    return of(context).allocate(bytes);
  };
  table.free = [](void *context, void *pointer) {
    // Anything else is an input or a result given back before: not ours.
    if (of(context).take(pointer))
      of(context).device.free(pointer, of(context).stream);
  };
  table.fill = [](void *context, uint64_t pointer, int32_t byte,
                  uint64_t bytes) {
    GPUCall &call = of(context);
    return call.report(call.device.fill(
        reinterpret_cast<void *>(static_cast<uintptr_t>(pointer)),
        static_cast<uint8_t>(byte), bytes, call.stream, call.lastError));
  };
  table.launch = [](void *context, const char *kernel, const int64_t grid[3],
                    int32_t blockX, int32_t clusterX, int32_t sharedBytes,
                    int32_t overlaps, void **params, int64_t numParams) {
    GPUCall &call = of(context);
    KernelLaunch launch = {kernel,      {grid[0], grid[1], grid[2]},
                           blockX,      clusterX,
                           sharedBytes, overlaps != 0,
                           params,      numParams};
    return call.report(
        call.device.launch(call.module, launch, call.stream, call.lastError));
  };
  table.residentBlocks = [](void *context, const char *kernel, int32_t blockX,
                            int32_t sharedBytes, int64_t *blocks) {
    GPUCall &call = of(context);
    *blocks = call.device.residentBlocks(call.module, kernel, blockX,
                                         sharedBytes, call.lastError);
    return call.report(*blocks > 0);
  };
  table.tensorMap = [](void *context, void *map, uint64_t base,
                       int32_t elementType, int32_t rank, const int64_t *sizes,
                       const int64_t *strideBytes, const int32_t *box,
                       int32_t swizzle) {
    GPUCall &call = of(context);
    TensorMapRequest request = {map,   base,        elementType, rank,
                                sizes, strideBytes, box,         swizzle};
    return call.report(call.device.tensorMap(request, call.lastError));
  };
  table.result = [](void *context, int32_t index, uint64_t bytes,
                    void **memory) {
    GPUCall &call = of(context);
    *memory = call.result(static_cast<size_t>(index), bytes);
    return call.report(*memory != nullptr);
  };
}

GPUCall::~GPUCall() {
  for (void *memory : live)
    device.free(memory, stream);
}

void *GPUCall::allocate(uint64_t bytes) {
  void *memory = device.allocate(bytes, stream, lastError);
  if (memory)
    live.push_back(memory);
  return memory;
}

void *GPUCall::result(size_t index, uint64_t bytes) {
  const DeviceTensor *given =
      index < into.size() && into[index] ? &*into[index] : nullptr;
  if (given && given->bytes() != bytes) {
    lastError = "result " + std::to_string(index) + " takes " +
                std::to_string(bytes) + " bytes, but the memory given for " +
                arrayText(given->type(), given->shape()) + " has " +
                std::to_string(given->bytes());
    return nullptr;
  }
  // An empty array may be nowhere, which no tensor map describes.
  return given && bytes ? given->data() : allocate(bytes);
}

bool GPUCall::take(void *memory) {
  auto found = std::find(live.begin(), live.end(), memory);
  if (found == live.end())
    return false;
  live.erase(found);
  return true;
}
