//===-- CUDAModule.cpp - Kernels on a GPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CUDADevice.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace blockscale::runtime;
using namespace blockscale::runtime::cuda;

namespace blockscale::runtime::cuda {

/// A library's module; the device outlives it.
class CUDAModule final : public GPUModule {
public:
  CUDAModule(CUDADevice &device, Module module)
      : device(device), module(module) {}
  ~CUDAModule() override {
    CurrentContext current(*device.driver, device.context);
    // Any stream may still run its kernels.
    device.driver->ctxSynchronize();
    device.driver->moduleUnload(module);
  }

  /// The function, allowed to use what a launch asks for. Null on failure.
  Function function(const char *kernel, int32_t sharedBytes, int32_t cluster,
                    std::string &error);

  /// As GPUDevice::residentBlocks.
  int64_t residentBlocks(const char *kernel, int32_t block, int32_t sharedBytes,
                         std::string &error);

private:
  struct Known {
    Function function = nullptr;
    int32_t sharedBytes = 48 * 1024; ///< What every kernel may use.
    int32_t cluster = 8;             ///< Portable to every device.
    /// Of the whole device, for a block and its shared memory; 0: not asked
    /// yet.
    int64_t residentBlocks = 0;
    int32_t residentBlock = 0, residentShared = 0;
  };

  CUDADevice &device;
  const Module module;
  std::mutex mutex;
  std::map<std::string, Known, std::less<>> functions; ///< By the mutex.
};

} // namespace blockscale::runtime::cuda

Function CUDAModule::function(const char *kernel, int32_t sharedBytes,
                              int32_t cluster, std::string &error) {
  const Driver &driver = *device.driver;
  const std::string quoted = "'" + std::string(kernel) + "'";
  if (sharedBytes > device.maxSharedBytes) {
    error = device.shownName + ": kernel " + quoted + " needs " +
            std::to_string(sharedBytes) +
            " bytes of shared memory per block, but the device has " +
            std::to_string(device.maxSharedBytes);
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(mutex);
  auto found = functions.find(std::string_view(kernel));
  if (found == functions.end()) {
    Known known;
    Result result = driver.moduleGetFunction(&known.function, module, kernel);
    if (result == NotFound) {
      error = device.shownName + ": the library has no kernel " + quoted;
      return nullptr;
    }
    if (!device.check(result, "get kernel " + quoted, error))
      return nullptr;
    found = functions.emplace(kernel, known).first;
  }
  Known &known = found->second;
  if (sharedBytes > known.sharedBytes) {
    if (!device.check(
            driver.funcSetAttribute(known.function, MaxDynamicSharedSizeBytes,
                                    sharedBytes),
            "give kernel " + quoted + " " + std::to_string(sharedBytes) +
                " bytes of shared memory",
            error))
      return nullptr;
    known.sharedBytes = sharedBytes;
  }
  if (cluster > known.cluster) {
    if (!device.check(driver.funcSetAttribute(known.function,
                                              NonPortableClusterSizeAllowed, 1),
                      "give kernel " + quoted + " clusters of " +
                          std::to_string(cluster),
                      error))
      return nullptr;
    known.cluster = cluster;
  }
  return known.function;
}

int64_t CUDAModule::residentBlocks(const char *kernel, int32_t block,
                                   int32_t sharedBytes, std::string &error) {
  if (!function(kernel, sharedBytes, 1, error))
    return 0;
  std::lock_guard<std::mutex> lock(mutex);
  Known &known = functions.find(std::string_view(kernel))->second;
  if (known.residentBlocks && known.residentBlock == block &&
      known.residentShared == sharedBytes)
    return known.residentBlocks;
  int perMultiprocessor = 0;
  if (!device.check(device.driver->occupancyMaxActiveBlocks(
                        &perMultiprocessor, known.function, block,
                        static_cast<size_t>(sharedBytes)),
                    "ask for the occupancy of kernel '" + std::string(kernel) +
                        "'",
                    error))
    return 0;
  // 0: it does not fit, which its launch will report.
  known.residentBlocks = int64_t(std::max(perMultiprocessor, 1)) *
                         device.attribute(MultiprocessorCount);
  known.residentBlock = block;
  known.residentShared = sharedBytes;
  return known.residentBlocks;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The operand of the first `.version` directive, or empty.
static std::string ptxVersion(const char *ptx) {
  static constexpr char directive[] = ".version";
  const char *at = std::strstr(ptx, directive);
  if (!at)
    return "";
  at += sizeof directive - 1;
  at += std::strspn(at, " \t");
  return std::string(at, std::strspn(at, "0123456789."));
}

/// The log without its surrounding white space, on one line.
static std::string oneLine(const char *log) {
  std::string text;
  for (const char *at = log; *at; ++at) {
    bool isSpace = std::strchr(" \t\r\n", *at);
    if (!isSpace)
      text += *at;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

std::unique_ptr<GPUModule> CUDADevice::load(const char *ptx,
                                            const std::vector<Kernel> &kernels,
                                            std::string &error) {
  CurrentContext current(*driver, context);
  std::vector<char> log(4096);
  JITOption options[] = {ErrorLogBuffer, ErrorLogBufferSizeBytes};
  // Numbers are passed as pointers.
  void *values[] = {log.data(),
                    reinterpret_cast<void *>(uintptr_t(log.size() - 1))};
  Module module = nullptr;
  Result result = driver->moduleLoadDataEx(&module, ptx, 2, options, values);
  if (result == UnsupportedPTXVersion) {
    error = shownName + ": its PTX has version " + ptxVersion(ptx) +
            ", which is newer than the driver (CUDA " + driver->version() +
            "); update the driver, or compile for an older PTX version";
    return nullptr;
  }
  if (!check(result, "load the kernels", error)) {
    if (std::string text = oneLine(log.data()); !text.empty())
      error += ": " + text;
    return nullptr;
  }
  auto loaded = std::make_unique<CUDAModule>(*this, module);
  // What does not fit is an error now, not at some call.
  for (const Kernel &kernel : kernels)
    if (!loaded->function(kernel.name.c_str(),
                          static_cast<int32_t>(kernel.sharedBytes),
                          static_cast<int32_t>(kernel.cluster[0]), error))
      return nullptr;
  return loaded;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

bool CUDADevice::launch(GPUModule &module, const KernelLaunch &launch,
                        Stream on, std::string &error) {
  const std::array<int64_t, 3> limit = {INT32_MAX, UINT16_MAX, UINT16_MAX};
  for (size_t i = 0; i < 3; ++i)
    if (launch.grid[i] < 1 || launch.grid[i] > limit[i]) {
      error = shownName + ": kernel '" + launch.kernel + "' expects 1 to " +
              std::to_string(limit[i]) + " blocks along " + "xyz"[i] +
              ", but got " + std::to_string(launch.grid[i]);
      return false;
    }
  CurrentContext current(*driver, context);
  Function function = static_cast<CUDAModule &>(module).function(
      launch.kernel, launch.sharedBytes, launch.cluster, error);
  if (!function)
    return false;
  auto *stream = static_cast<StreamHandle>(on);
  const auto gridX = static_cast<unsigned>(launch.grid[0]),
             gridY = static_cast<unsigned>(launch.grid[1]),
             gridZ = static_cast<unsigned>(launch.grid[2]),
             block = static_cast<unsigned>(launch.block),
             sharedBytes = static_cast<unsigned>(launch.sharedBytes);
  const std::string what = "launch kernel '" + std::string(launch.kernel) + "'";
  std::array<LaunchAttribute, 2> attributes = {};
  unsigned count = 0;
  if (launch.cluster > 1) {
    if (!driver->launchKernelEx) {
      error = shownName + ": cannot " + what +
              " in clusters: the driver (CUDA " + driver->version() +
              ") is too old; update it to CUDA 11.8";
      return false;
    }
    attributes[count].id = ClusterDimension;
    attributes[count++].value.clusterDim = {
        static_cast<unsigned>(launch.cluster), 1, 1};
  }
  // An old driver ends the kernel before first, which is as right.
  if (launch.overlaps && driver->launchKernelEx) {
    attributes[count].id = ProgrammaticStreamSerialization;
    attributes[count++].value.allowed = 1;
  }
  if (!count)
    return check(driver->launchKernel(function, gridX, gridY, gridZ, block, 1,
                                      1, sharedBytes, stream, launch.params,
                                      /*extra=*/nullptr),
                 what, error);
  const LaunchConfig config = {
      gridX, gridY, gridZ, block, 1, 1, sharedBytes, stream, attributes.data(),
      count};
  return check(driver->launchKernelEx(&config, function, launch.params,
                                      /*extra=*/nullptr),
               what, error);
}

int64_t CUDADevice::residentBlocks(GPUModule &module, const char *kernel,
                                   int32_t block, int32_t sharedBytes,
                                   std::string &error) {
  CurrentContext current(*driver, context);
  return static_cast<CUDAModule &>(module).residentBlocks(kernel, block,
                                                          sharedBytes, error);
}

bool CUDADevice::tensorMap(const TensorMapRequest &request,
                           std::string &error) {
  if (!driver->tensorMapEncodeTiled) {
    error = shownName + ": cannot make a tensor map: the driver (CUDA " +
            driver->version() + ") is too old; update it to CUDA 12.0";
    return false;
  }
  constexpr int maxRank = 5;
  const int rank = request.rank;
  if (rank < 1 || rank > maxRank) {
    error = shownName + ": a tensor map expects rank 1 to 5, but got " +
            std::to_string(rank);
    return false;
  }
  uint64_t sizes[maxRank], strides[maxRank] = {};
  uint32_t box[maxRank], ones[maxRank] = {1, 1, 1, 1, 1};
  std::string shown;
  for (int i = 0; i < rank; ++i) {
    sizes[i] = static_cast<uint64_t>(request.sizes[i]);
    box[i] = static_cast<uint32_t>(request.box[i]);
    if (i)
      strides[i - 1] = static_cast<uint64_t>(request.strideBytes[i - 1]);
    shown += (i ? "x" : "") + std::to_string(request.sizes[i]);
  }
  CurrentContext current(*driver, context);
  constexpr int noInterleave = 0, promotion256 = 3, zeroFill = 0;
  Result result = driver->tensorMapEncodeTiled(
      request.map, request.elementType, static_cast<unsigned>(rank),
      reinterpret_cast<void *>(static_cast<uintptr_t>(request.base)), sizes,
      strides, box, ones, noInterleave, request.swizzle, promotion256,
      zeroFill);
  return check(result, "make a tensor map of " + shown, error);
}
