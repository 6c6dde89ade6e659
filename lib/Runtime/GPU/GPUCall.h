//===-- GPUCall.h - What one call does on a device --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_GPU_GPUCALL_H
#define BLOCKSCALE_LIB_RUNTIME_GPU_GPUCALL_H

#include "blockscale/Runtime/GPU/DeviceTensor.h"
#include "blockscale/Runtime/GPU/Launch.h"

namespace blockscale::runtime {

/// Serves the host code of one call. Frees what that code allocated and
/// neither freed nor returned, whichever way it ended.
class GPUCall {
public:
  /// `into`: as in Library::callOnDevice.
  GPUCall(GPUDevice &device, GPUModule &module, Stream stream,
          const std::vector<std::optional<DeviceTensor>> &into);
  ~GPUCall();
  GPUCall(const GPUCall &) = delete;
  GPUCall &operator=(const GPUCall &) = delete;

  const blockscaleDevice &functions() const { return table; }
  /// The device's last error: more than the host code could say.
  const std::string &error() const { return lastError; }
  /// Hands over memory of this call. False if it is none, or none any more.
  bool take(void *memory);

private:
  static GPUCall &of(void *context) { return *static_cast<GPUCall *>(context); }
  const char *report(bool ok) const { return ok ? nullptr : lastError.c_str(); }
  void *allocate(uint64_t bytes);
  /// The memory of result `index`; null with an error.
  void *result(size_t index, uint64_t bytes);

  GPUDevice &device;
  GPUModule &module;
  const Stream stream;
  const std::vector<std::optional<DeviceTensor>> &into;
  std::vector<void *> live; ///< Few at a time.
  std::string lastError;
  blockscaleDevice table = {};
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_GPU_GPUCALL_H
