//===-- DeviceTensor.cpp - An array in a GPU's memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/GPU/DeviceTensor.h"

using namespace blockscale::runtime;

std::optional<DeviceTensor>
DeviceTensor::allocate(std::shared_ptr<GPUDevice> device, DataType type,
                       std::vector<int64_t> shape, Stream stream,
                       std::string &error) {
  std::optional<int64_t> count = elementCount(shape, size(type));
  if (!count) {
    error = arrayText(type, shape) + " does not fit in memory";
    return std::nullopt;
  }
  void *memory = device->allocate(static_cast<uint64_t>(*count) * size(type),
                                  stream, error);
  if (!memory)
    return std::nullopt;
  return adopt(std::move(device), type, std::move(shape), memory, memory,
               stream);
}

std::optional<DeviceTensor>
DeviceTensor::upload(std::shared_ptr<GPUDevice> device, const TensorView &host,
                     Stream stream, std::string &error) {
  std::optional<DeviceTensor> tensor =
      allocate(device, host.type, host.shape, stream, error);
  if (tensor && !device->copyIn(tensor->data(), host.data, tensor->bytes(),
                                stream, error))
    return std::nullopt;
  return tensor;
}

DeviceTensor DeviceTensor::adopt(std::shared_ptr<GPUDevice> device,
                                 DataType type, std::vector<int64_t> shape,
                                 void *memory, void *data, Stream stream) {
  DeviceTensor tensor = borrow(device, type, std::move(shape), data, stream);
  tensor.memory = std::shared_ptr<void>(
      memory, [device, stream](void *memory) { device->free(memory, stream); });
  return tensor;
}

DeviceTensor DeviceTensor::borrow(std::shared_ptr<GPUDevice> device,
                                  DataType type, std::vector<int64_t> shape,
                                  void *data, Stream stream) {
  DeviceTensor tensor;
  tensor.device = std::move(device);
  tensor.elementType = type;
  tensor.extents = std::move(shape);
  tensor.first = data;
  tensor.order = stream;
  return tensor;
}

uint64_t DeviceTensor::bytes() const {
  return static_cast<uint64_t>(
             elementCount(extents, size(elementType)).value_or(0)) *
         size(elementType);
}

TensorView DeviceTensor::view() const {
  TensorView view;
  view.type = elementType;
  view.shape = extents;
  view.data = first;
  return view;
}

std::optional<Tensor> DeviceTensor::download(std::string &error) const {
  std::optional<Tensor> tensor = Tensor::allocate(elementType, extents, error);
  if (!tensor ||
      !device->copyOut(tensor->data(), first, bytes(), order, error) ||
      !device->synchronize(order, error))
    return std::nullopt;
  return tensor;
}
