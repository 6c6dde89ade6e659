//===-- CUDADevice.h - A GPU, through the CUDA driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_CUDA_CUDADEVICE_H
#define BLOCKSCALE_LIB_RUNTIME_CUDA_CUDADEVICE_H

#include "Driver.h"
#include "blockscale/Runtime/GPU/GPUDevice.h"

#include <mutex>

namespace blockscale::runtime::cuda {

class CUDADevice final : public GPUDevice {
public:
  explicit CUDADevice(int index)
      : index(index), shownName("cuda:" + std::to_string(index)) {}
  ~CUDADevice() override;

  std::string_view name() const override { return shownName; }
  bool prepare(std::string_view target, std::string &error) override;
  std::string model() const override { return deviceName; }
  Stream ownStream() override { return stream; }
  bool sharesPointers() const override { return true; }
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
  int64_t residentBlocks(GPUModule &module, const char *kernel, int32_t block,
                         int32_t sharedBytes, std::string &error) override;
  bool tensorMap(const TensorMapRequest &request, std::string &error) override;
  bool synchronize(Stream stream, std::string &error) override;
  uint64_t cacheBytes() const override;
  std::optional<double> time(const std::function<bool()> &work,
                             std::string &error) override;

private:
  friend class CUDAModule;
  bool open(std::string &error);
  void close();
  bool makeClock(std::string &error);
  void destroyClock();
  void reportMemory(uint64_t bytes, std::string &error) const;
  /// False, with "cuda:0: cannot <what>: <words>", unless it succeeded.
  bool check(Result result, const std::string &what, std::string &error) const;
  int attribute(DeviceAttribute which) const;

  const int index;
  const std::string shownName;
  std::string deviceName;
  std::unique_ptr<Driver> driver;
  DeviceHandle device = 0;
  Context context = nullptr;
  StreamHandle stream = nullptr;
  Pool pool = nullptr; ///< Null on a device without them.
  int major = 0, minor = 0, maxSharedBytes = 0;
  /// For time(); made when first needed.
  struct {
    std::mutex mutex;
    void *host = nullptr;
    Pointer spacer = 0;
    Event start = nullptr, end = nullptr;
  } clock;
};

/// Makes a device's context the thread's own for a while.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, Context context) : driver(driver) {
    Context before = nullptr;
    driver.ctxGetCurrent(&before);
    isPushed = before != context && driver.ctxPushCurrent(context) == Success;
  }
  ~CurrentContext() {
    Context mine;
    if (isPushed)
      driver.ctxPopCurrent(&mine);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

private:
  const Driver &driver;
  bool isPushed;
};

} // namespace blockscale::runtime::cuda

#endif // BLOCKSCALE_LIB_RUNTIME_CUDA_CUDADEVICE_H
