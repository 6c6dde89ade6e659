//===-- Device.h - Where compiled functions run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_DEVICE_H
#define BLOCKSCALE_RUNTIME_DEVICE_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

class GPUDevice;

/// A place to run: the processor, or a GPU (GPU/GPUDevice.h).
class Device {
public:
  virtual ~Device() = default;
  /// `cpu`, `cuda:0`.
  virtual std::string_view name() const = 0;
  /// Makes it ready for libraries compiled for `target` (the manifest's).
  /// False if it does not run them or cannot be used; the error says why, and
  /// what would.
  virtual bool prepare(std::string_view target, std::string &error) = 0;
  /// Itself, or null where compiled code runs on the host.
  virtual GPUDevice *asGPU() { return nullptr; }

  /// The device of that name: `cpu`, `cuda`, `cuda:1`, `sim`, `sim:7` with that
  /// seed (Simulator.md). Null if this build has none; the error says which
  /// there are.
  static std::unique_ptr<Device> create(std::string_view name,
                                        std::string &error);
  /// The names create() accepts in this build.
  static std::vector<std::string_view> available();
  /// The device for `target` where the caller names none: `cpu` or `cuda`.
  static std::string_view defaultFor(std::string_view target);
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_DEVICE_H
