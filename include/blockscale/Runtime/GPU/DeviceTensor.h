//===-- DeviceTensor.h - An array in a GPU's memory -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_GPU_DEVICETENSOR_H
#define BLOCKSCALE_RUNTIME_GPU_DEVICETENSOR_H

#include "blockscale/Runtime/GPU/GPUDevice.h"
#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

/// A row-major array on a device, which it keeps open. Its memory, its own or
/// borrowed, is written and freed in the order of its stream.
class DeviceTensor {
public:
  /// Room for an array, its contents unspecified.
  static std::optional<DeviceTensor>
  allocate(std::shared_ptr<GPUDevice> device, DataType type,
           std::vector<int64_t> shape, Stream stream, std::string &error);
  /// A copy of `host`, which must live until the stream has done it.
  static std::optional<DeviceTensor> upload(std::shared_ptr<GPUDevice> device,
                                            const TensorView &host,
                                            Stream stream, std::string &error);
  /// Takes over `memory` from device->allocate().
  static DeviceTensor adopt(std::shared_ptr<GPUDevice> device, DataType type,
                            std::vector<int64_t> shape, void *memory,
                            void *data, Stream stream);
  /// An array in memory of others, who keep it as long as it is used.
  static DeviceTensor borrow(std::shared_ptr<GPUDevice> device, DataType type,
                             std::vector<int64_t> shape, void *data,
                             Stream stream);

  DataType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }
  uint64_t bytes() const;
  /// A pointer of the device.
  void *data() const { return first; }
  Stream stream() const { return order; }
  TensorView view() const;

  /// A copy on the host; waits for the stream.
  std::optional<Tensor> download(std::string &error) const;

private:
  std::shared_ptr<GPUDevice> device;
  std::shared_ptr<void> memory; ///< Null where it is borrowed.
  DataType elementType = DataType::U8;
  std::vector<int64_t> extents = {0};
  void *first = nullptr;
  Stream order = nullptr;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_GPU_DEVICETENSOR_H
