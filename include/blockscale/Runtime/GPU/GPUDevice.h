//===-- GPUDevice.h - A device with memory of its own -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the driver and the simulator have in common: streams of work, memory
// that is allocated and freed in their order, kernels.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_GPU_GPUDEVICE_H
#define BLOCKSCALE_RUNTIME_GPU_GPUDEVICE_H

#include "blockscale/Runtime/Device.h"
#include "blockscale/Runtime/Manifest.h"

#include <functional>

namespace blockscale::runtime {

/// A queue of work, the driver API's CUstream. Null is the default stream,
/// which waits for the others and they for it.
using Stream = void *;

/// One library's kernels, loaded on a device.
class GPUModule {
public:
  virtual ~GPUModule() = default;
};

struct KernelLaunch {
  const char *kernel;
  std::array<int64_t, 3> grid;
  int32_t block, cluster, sharedBytes;
  /// It may start before the kernel before it has ended, and waits itself.
  bool overlaps;
  void **params; ///< Each points to the value of a parameter.
  int64_t numParams;
};

struct TensorMapRequest {
  void *map; ///< 128 bytes, aligned to 64.
  uint64_t base;
  int32_t elementType, rank;  ///< The driver API's number; 1 to 5.
  const int64_t *sizes;       ///< Innermost first.
  const int64_t *strideBytes; ///< Of the dimensions from 1 on.
  const int32_t *box;
  int32_t swizzle; ///< The driver API's number.
};

/// Methods that return bool fail with an error in words. Any thread may call
/// any of them at any time, once prepare() has returned true.
class GPUDevice : public Device {
public:
  GPUDevice *asGPU() final { return this; }

  /// For people: `NVIDIA H200`.
  virtual std::string model() const = 0;
  /// The stream of calls that name none.
  virtual Stream ownStream() = 0;
  /// Whether pointers mean something to other programs of the device.
  virtual bool sharesPointers() const = 0;

  virtual std::unique_ptr<GPUModule> load(const char *ptx,
                                          const std::vector<Kernel> &kernels,
                                          std::string &error) = 0;
  /// Aligned to 256 bytes. Null, with an error, if there is no room.
  virtual void *allocate(uint64_t bytes, Stream stream, std::string &error) = 0;
  virtual void free(void *memory, Stream stream) = 0;
  /// Whether these bytes are memory of this device.
  virtual bool holds(const void *memory, uint64_t bytes) = 0;

  // What these read and write on the host must live until synchronize().
  virtual bool copyIn(void *to, const void *fromHost, uint64_t bytes,
                      Stream stream, std::string &error) = 0;
  virtual bool copyOut(void *toHost, const void *from, uint64_t bytes,
                       Stream stream, std::string &error) = 0;
  virtual bool copy(void *to, const void *from, uint64_t bytes, Stream stream,
                    std::string &error) = 0;
  virtual bool fill(void *to, uint8_t byte, uint64_t bytes, Stream stream,
                    std::string &error) = 0;
  virtual bool launch(GPUModule &module, const KernelLaunch &launch,
                      Stream stream, std::string &error) = 0;
  /// Blocks of `block` threads that all multiprocessors together run at a time;
  /// 0, with an error, if it cannot be told.
  virtual int64_t residentBlocks(GPUModule &module, const char *kernel,
                                 int32_t block, int32_t sharedBytes,
                                 std::string &error) = 0;
  virtual bool tensorMap(const TensorMapRequest &request,
                         std::string &error) = 0;
  /// Waits until everything on `stream` is done; reports its errors.
  virtual bool synchronize(Stream stream, std::string &error) = 0;

  /// Bytes of the cache that all of the device shares; 0 if unknown.
  virtual uint64_t cacheBytes() const = 0;
  /// Seconds that what `work` enqueues on ownStream() takes there, its first
  /// call to the device hidden. Nullopt if `work` returns false or the device
  /// has no clock.
  virtual std::optional<double> time(const std::function<bool()> &work,
                                     std::string &error) = 0;
  /// What launches since the last call did, where the device counts it: lines
  /// for people.
  virtual std::string takeProfile() { return ""; }
  /// Asks it to count. False if it does not.
  virtual bool enableProfile() { return false; }
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_GPU_GPUDEVICE_H
