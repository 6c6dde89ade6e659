//===-- SimDevice.cpp - The PTX simulator as a device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SimDevice.h"
#include "blockscale/Runtime/GPU/Chip.h"
#include "blockscale/Sim/TensorMap.h"

#include <cstring>

using namespace blockscale;
using namespace blockscale::runtime;

using Lock = std::lock_guard<std::mutex>;

static uint64_t address(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

bool SimDevice::prepare(std::string_view target, std::string &error) {
  // What an instruction needs is the simulator's to say, when it meets it.
  if (Chip::parse(target))
    return true;
  error = "it was compiled for '" + std::string(target) +
          "', which device 'sim' does not run; choose device '" +
          std::string(Device::defaultFor(target)) + "'";
  return false;
}

std::unique_ptr<GPUModule> SimDevice::load(const char *ptx,
                                           const std::vector<Kernel> &kernels,
                                           std::string &error) {
  Lock lock(mutex);
  std::string why;
  if (!device.load(ptx, why)) {
    error = "sim: cannot load the kernels: " + why;
    return nullptr;
  }
  entries = device.entries();
  for (const Kernel &kernel : kernels)
    if (!device.prepare(kernel.name, why)) {
      error = "sim: cannot load kernel '" + kernel.name + "': " + why;
      return nullptr;
    }
  return std::make_unique<GPUModule>();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *SimDevice::allocate(uint64_t bytes, Stream, std::string &error) {
  // Host memory is all there is; the simulator ends the program without it.
  constexpr uint64_t limit = uint64_t(1) << 40;
  if (bytes > limit) {
    error = "sim: " + std::to_string(bytes) + " bytes do not fit in its memory";
    return nullptr;
  }
  Lock lock(mutex);
  return reinterpret_cast<void *>(
      static_cast<uintptr_t>(device.allocate(bytes ? bytes : 1)));
}

void SimDevice::free(void *memory, Stream) {
  Lock lock(mutex);
  device.release(address(memory));
}

bool SimDevice::holds(const void *memory, uint64_t bytes) {
  Lock lock(mutex);
  return device.contains(address(memory), bytes);
}

static bool outside(const void *memory, uint64_t bytes, std::string &error) {
  char text[96];
  std::snprintf(text, sizeof text,
                "sim: expects %llu bytes of one allocation at 0x%llx",
                static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(address(memory)));
  error = text;
  return false;
}

bool SimDevice::copyIn(void *to, const void *fromHost, uint64_t bytes, Stream,
                       std::string &error) {
  Lock lock(mutex);
  return bytes == 0 || device.write(address(to), fromHost, bytes) ||
         outside(to, bytes, error);
}

bool SimDevice::copyOut(void *toHost, const void *from, uint64_t bytes, Stream,
                        std::string &error) {
  Lock lock(mutex);
  if (bytes == 0)
    return true;
  if (!device.read(address(from), toHost, bytes))
    return outside(from, bytes, error);
  if (device.isInitialized(address(from), bytes))
    return true;
  uint64_t first = 0;
  while (device.isInitialized(address(from) + first, 1))
    ++first;
  error = "sim: byte " + std::to_string(first) + " of " +
          std::to_string(bytes) + " of a result was never written";
  return false;
}

bool SimDevice::copy(void *to, const void *from, uint64_t bytes, Stream stream,
                     std::string &error) {
  std::vector<uint8_t> between(bytes);
  return copyOut(between.data(), from, bytes, stream, error) &&
         copyIn(to, between.data(), bytes, stream, error);
}

bool SimDevice::fill(void *to, uint8_t byte, uint64_t bytes, Stream,
                     std::string &error) {
  Lock lock(mutex);
  return bytes == 0 || device.fill(address(to), byte, bytes) ||
         outside(to, bytes, error);
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

bool SimDevice::launch(GPUModule &, const KernelLaunch &launch, Stream,
                       std::string &error) {
  Lock lock(mutex);
  const std::string start =
      "sim: kernel '" + std::string(launch.kernel) + "': ";
  const sim::EntryInfo *entry = nullptr;
  for (const sim::EntryInfo &each : entries)
    if (each.name == launch.kernel)
      entry = &each;
  if (!entry) {
    error =
        "sim: the library has no kernel '" + std::string(launch.kernel) + "'";
    return false;
  }
  if (launch.numParams != static_cast<int64_t>(entry->params.size())) {
    error = start + "expects " + std::to_string(entry->params.size()) +
            " parameters, but got " + std::to_string(launch.numParams);
    return false;
  }
  for (int64_t extent : launch.grid)
    if (extent < 0 || extent > UINT32_MAX) {
      error = start + "expects a grid of at most 2147483647 blocks, but got " +
              std::to_string(extent);
      return false;
    }
  sim::Launch request;
  request.entry = launch.kernel;
  request.grid = {static_cast<uint32_t>(launch.grid[0]),
                  static_cast<uint32_t>(launch.grid[1]),
                  static_cast<uint32_t>(launch.grid[2])};
  request.block.x = static_cast<uint32_t>(launch.block);
  if (launch.cluster > 1)
    request.cluster.x = static_cast<uint32_t>(launch.cluster);
  request.sharedBytes = static_cast<uint32_t>(launch.sharedBytes);
  for (size_t i = 0; i < entry->params.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(launch.params[i]);
    request.params.emplace_back(bytes, bytes + entry->params[i].bytes);
  }
  request.options.profile = isProfiling;
  request.options.seed = seed;
  sim::Result result = device.launch(request);
  if (!result) {
    error = start + result.text();
    return false;
  }
  if (isProfiling)
    profile += "kernel '" + request.entry + "': " + result.profile.text();
  return true;
}

bool SimDevice::tensorMap(const TensorMapRequest &request, std::string &error) {
  using Type = sim::TensorMapType;
  // In the order of CUtensorMapDataType; types that flush denormals are not
  // simulated.
  static constexpr std::optional<Type> types[] = {
      Type::U8,     Type::U16,      Type::U32,       Type::S32,
      Type::U64,    Type::S64,      Type::F16,       Type::F32,
      Type::F64,    Type::BF16,     std::nullopt,    Type::TF32,
      std::nullopt, Type::U4Align8, Type::U4Align16, Type::U6Align16};
  const bool isKnown =
      request.elementType >= 0 &&
      static_cast<size_t>(request.elementType) < std::size(types) &&
      types[request.elementType];
  if (!isKnown || request.rank < 1 || request.rank > 5 || request.swizzle < 0 ||
      request.swizzle > 3) {
    error = "sim: a tensor map of element type " +
            std::to_string(request.elementType) + ", rank " +
            std::to_string(request.rank) + " and swizzle " +
            std::to_string(request.swizzle) + " is not simulated";
    return false;
  }
  sim::TensorMapShape shape;
  shape.type = *types[request.elementType];
  shape.rank = static_cast<unsigned>(request.rank);
  shape.address = request.base;
  shape.swizzle = static_cast<sim::TensorMapSwizzle>(request.swizzle);
  for (int i = 0; i < request.rank; ++i) {
    shape.size[i] = static_cast<uint64_t>(request.sizes[i]);
    shape.box[i] = static_cast<uint32_t>(request.box[i]);
    if (i)
      shape.stride[i] = static_cast<uint64_t>(request.strideBytes[i - 1]);
  }
  std::string why;
  std::optional<sim::TensorMap> map = sim::makeTensorMap(shape, why);
  if (!map) {
    error = "sim: cannot make a tensor map: " + why;
    return false;
  }
  std::memcpy(request.map, map->bytes.data(), map->bytes.size());
  return true;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

std::optional<double> SimDevice::time(const std::function<bool()> &,
                                      std::string &error) {
  error = "device 'sim' has no clock: it shows what a GPU computes, not how "
          "fast; --profile counts its instructions";
  return std::nullopt;
}

bool SimDevice::enableProfile() {
  Lock lock(mutex);
  isProfiling = true;
  return true;
}

std::string SimDevice::takeProfile() {
  Lock lock(mutex);
  return std::move(profile);
}
