//===-- Driver.h - The CUDA driver, loaded at run time ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few types and functions of the driver API that the runtime uses, written
// down here so that building needs no CUDA.
// unittests/Runtime/CUDA/DriverABITest.cpp compares them with cuda.h where
// there is one.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_CUDA_DRIVER_H
#define BLOCKSCALE_LIB_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace blockscale::runtime::cuda {

using Result = int; ///< CUresult
using DeviceHandle = int;
using Pointer = unsigned long long; ///< CUdeviceptr
using Context = struct ContextRecord *;
using Module = struct ModuleRecord *;
using Function = struct FunctionRecord *;
using StreamHandle = struct StreamRecord *;
using Event = struct EventRecord *;
using Pool = struct PoolRecord *;

constexpr Result Success = 0, OutOfMemory = 2, StubLibrary = 34, NoDevice = 100,
                 NoBinaryForGPU = 209, InvalidPTX = 218,
                 UnsupportedPTXVersion = 222, NotFound = 500;

/// CUdevice_attribute
enum DeviceAttribute : int {
  MultiprocessorCount = 16,
  L2CacheSize = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
  MemoryPoolsSupported = 115,
};
/// CUpointer_attribute
enum PointerAttribute : int { DeviceOrdinal = 9 };
/// CUfunction_attribute
enum FunctionAttribute : int {
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};
/// CUjit_option
enum JITOption : int { ErrorLogBuffer = 5, ErrorLogBufferSizeBytes = 6 };
/// CUmemPool_attribute
enum PoolAttribute : int { ReleaseThreshold = 4 };

/// CUmemPoolProps
struct PoolProperties {
  int allocationType = 1; ///< CU_MEM_ALLOCATION_TYPE_PINNED, the only one.
  int handleTypes = 0;
  int locationType = 1; ///< CU_MEM_LOCATION_TYPE_DEVICE
  int locationId = 0;
  void *securityAttributes = nullptr;
  size_t maxSize = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(PoolProperties) == 88);

/// CUlaunchAttribute
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } clusterDim;
    int allowed; ///< programmaticStreamSerializationAllowed
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);
constexpr int ClusterDimension = 4; ///< CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
constexpr int ProgrammaticStreamSerialization = 6;

/// CUlaunchConfig
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56);

// X(member, symbol, parameters): every driver has these, from CUDA 11.2 on.
#define BLOCKSCALE_DRIVER_FUNCTIONS(X)                                         \
  X(init, cuInit, (unsigned))                                                  \
  X(driverGetVersion, cuDriverGetVersion, (int *))                             \
  X(getErrorName, cuGetErrorName, (Result, const char **))                     \
  X(getErrorString, cuGetErrorString, (Result, const char **))                 \
  X(deviceGet, cuDeviceGet, (DeviceHandle *, int))                             \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGetName, cuDeviceGetName, (char *, int, DeviceHandle))               \
  X(deviceGetAttribute, cuDeviceGetAttribute,                                  \
    (int *, DeviceAttribute, DeviceHandle))                                    \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, (Context *, DeviceHandle))     \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceHandle))           \
  X(ctxGetCurrent, cuCtxGetCurrent, (Context *))                               \
  X(ctxPushCurrent, cuCtxPushCurrent_v2, (Context))                            \
  X(ctxPopCurrent, cuCtxPopCurrent_v2, (Context *))                            \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (Module *, const void *, unsigned, JITOption *, void **))                  \
  X(moduleUnload, cuModuleUnload, (Module))                                    \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (Function *, Module, const char *))                                        \
  X(funcSetAttribute, cuFuncSetAttribute, (Function, FunctionAttribute, int))  \
  X(occupancyMaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,     \
    (int *, Function, int, size_t))                                            \
  X(memGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                         \
  X(memAlloc, cuMemAlloc_v2, (Pointer *, size_t))                              \
  X(memFree, cuMemFree_v2, (Pointer))                                          \
  X(pointerGetAttribute, cuPointerGetAttribute,                                \
    (void *, PointerAttribute, Pointer))                                       \
  X(memAllocHost, cuMemAllocHost_v2, (void **, size_t))                        \
  X(memFreeHost, cuMemFreeHost, (void *))                                      \
  X(memPoolCreate, cuMemPoolCreate, (Pool *, const PoolProperties *))          \
  X(memPoolDestroy, cuMemPoolDestroy, (Pool))                                  \
  X(memPoolSetAttribute, cuMemPoolSetAttribute, (Pool, PoolAttribute, void *)) \
  X(memAllocFromPoolAsync, cuMemAllocFromPoolAsync,                            \
    (Pointer *, size_t, Pool, StreamHandle))                                   \
  X(memFreeAsync, cuMemFreeAsync, (Pointer, StreamHandle))                     \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                     \
    (Pointer, const void *, size_t, StreamHandle))                             \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                     \
    (void *, Pointer, size_t, StreamHandle))                                   \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                     \
    (Pointer, Pointer, size_t, StreamHandle))                                  \
  X(memsetD8Async, cuMemsetD8Async,                                            \
    (Pointer, unsigned char, size_t, StreamHandle))                            \
  X(streamCreate, cuStreamCreate, (StreamHandle *, unsigned))                  \
  X(streamDestroy, cuStreamDestroy_v2, (StreamHandle))                         \
  X(streamSynchronize, cuStreamSynchronize, (StreamHandle))                    \
  X(eventCreate, cuEventCreate, (Event *, unsigned))                           \
  X(eventDestroy, cuEventDestroy_v2, (Event))                                  \
  X(eventRecord, cuEventRecord, (Event, StreamHandle))                         \
  X(eventSynchronize, cuEventSynchronize, (Event))                             \
  X(eventElapsedTime, cuEventElapsedTime, (float *, Event, Event))             \
  X(launchKernel, cuLaunchKernel,                                              \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
     unsigned, StreamHandle, void **, void **))

// These came with CUDA 11.8 and 12.0; null where the driver is older.
#define BLOCKSCALE_NEWER_DRIVER_FUNCTIONS(X)                                   \
  X(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *, Function, void **, void **))                        \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (void *, int type, unsigned rank, void *address, const uint64_t *sizes,    \
     const uint64_t *strides, const uint32_t *box,                             \
     const uint32_t *elementStrides, int interleave, int swizzle,              \
     int promotion, int outOfBoundsFill))

class Driver {
public:
  /// Loads libcuda.so.1, or what BLOCKSCALE_LIBCUDA names, and initialises it.
  /// Null if there is no driver or it has no device; the error says which.
  static std::unique_ptr<Driver> load(std::string &error);
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  /// `12.4`, the newest CUDA that the driver knows.
  std::string version() const;
  /// The driver's words for an error.
  std::string text(Result result) const;

#define X(member, symbol, parameters) Result(*member) parameters = nullptr;
  BLOCKSCALE_DRIVER_FUNCTIONS(X)
  BLOCKSCALE_NEWER_DRIVER_FUNCTIONS(X)
#undef X

private:
  Driver() = default;
  void *handle = nullptr;
};

} // namespace blockscale::runtime::cuda

#endif // BLOCKSCALE_LIB_RUNTIME_CUDA_DRIVER_H
