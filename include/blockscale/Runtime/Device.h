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

/// A place to run. The host code of a compiled library is always called the
/// same way, with host memory; a device supplies what that code calls.
class Device {
public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Whether it runs libraries compiled for `target` (the manifest's).
  virtual bool runs(std::string_view target) const = 0;
  /// Called once before a library is loaded, so that the functions its host
  /// code calls are found.
  virtual bool prepare(std::string &error) = 0;
  /// Waits until everything that was launched is done; reports its errors.
  virtual bool synchronize(std::string &error) = 0;

  /// The device of that name. Null if this build has none; the error says
  /// which there are.
  static std::unique_ptr<Device> create(std::string_view name,
                                        std::string &error);
  /// The names create() accepts in this build.
  static std::vector<std::string_view> available();
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_DEVICE_H
