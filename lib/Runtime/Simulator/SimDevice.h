//===-- SimDevice.h - The PTX simulator as a device -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_SIMULATOR_SIMDEVICE_H
#define BLOCKSCALE_LIB_RUNTIME_SIMULATOR_SIMDEVICE_H

#include "blockscale/Runtime/GPU/GPUDevice.h"
#include "blockscale/Sim/Simulator.h"

#include <mutex>

namespace blockscale::runtime {

/// Everything is done when it is asked for, so there is one stream.
class SimDevice final : public GPUDevice {
public:
  /// The seed is that of sim::Options.
  explicit SimDevice(uint64_t seed) : seed(seed) {}
  std::string_view name() const override { return "sim"; }
  bool prepare(std::string_view target, std::string &error) override;
  std::string model() const override { return "PTX simulator"; }
  Stream ownStream() override { return nullptr; }
  bool sharesPointers() const override { return false; }
  std::unique_ptr<GPUModule> load(const char *ptx,
                                  const std::vector<Kernel> &kernels,
                                  std::string &error) override;
  void *allocate(uint64_t bytes, Stream stream, std::string &error) override;
  void free(void *memory, Stream stream) override;
  bool holds(const void *memory, uint64_t bytes) override;
  bool copyIn(void *to, const void *fromHost, uint64_t bytes, Stream stream,
              std::string &error) override;
  bool copyOut(void *toHost, const void *from, uint64_t bytes, Stream stream,
               std::string &error) override;
  bool copy(void *to, const void *from, uint64_t bytes, Stream stream,
            std::string &error) override;
  bool fill(void *to, uint8_t byte, uint64_t bytes, Stream stream,
            std::string &error) override;
  bool launch(GPUModule &module, const KernelLaunch &launch, Stream stream,
              std::string &error) override;
  /// As few as make loops over the work loops.
  int64_t residentBlocks(GPUModule &, const char *, int32_t, int32_t,
                         std::string &) override {
    return 3;
  }
  bool tensorMap(const TensorMapRequest &request, std::string &error) override;
  bool synchronize(Stream, std::string &) override { return true; }
  uint64_t cacheBytes() const override { return 0; }
  std::optional<double> time(const std::function<bool()> &work,
                             std::string &error) override;
  std::string takeProfile() override;
  bool enableProfile() override;

private:
  const uint64_t seed;
  std::mutex mutex; ///< The simulator serves one thread at a time.
  sim::Device device;
  std::vector<sim::EntryInfo> entries;
  bool isProfiling = false;
  std::string profile;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_SIMULATOR_SIMDEVICE_H
