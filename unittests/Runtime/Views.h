//===-- Views.h - What calls of the tests are given -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_UNITTESTS_RUNTIME_VIEWS_H
#define BLOCKSCALE_UNITTESTS_RUNTIME_VIEWS_H

#include "blockscale/Runtime/Library.h"

namespace blockscale::test {

template <typename T>
runtime::TensorView view(runtime::DataType type, std::vector<int64_t> shape,
                         const T *data) {
  runtime::TensorView view;
  view.type = type;
  view.shape = std::move(shape);
  view.data = data;
  return view;
}
inline runtime::TensorView view(std::vector<int64_t> shape, const float *data) {
  return view(runtime::DataType::F32, std::move(shape), data);
}

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_RUNTIME_VIEWS_H
