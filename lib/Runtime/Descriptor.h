//===-- Descriptor.h - How arrays are passed to compiled code ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A memref descriptor: allocated, aligned, offset, sizes[rank], strides[rank];
// every field has 8 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_DESCRIPTOR_H
#define BLOCKSCALE_LIB_RUNTIME_DESCRIPTOR_H

#include "blockscale/Runtime/Manifest.h"
#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

struct Descriptor {
  void *allocated, *aligned;
  int64_t offset;
  std::vector<int64_t> sizes, strides;

  Descriptor(const int64_t *fields, size_t rank);
  bool isRowMajor() const;
  /// The first element, of `type`.
  uint8_t *first(DataType type) const {
    return static_cast<uint8_t *>(aligned) + offset * size(type);
  }
};

/// The arguments of one call: what `void **args` of an entry points to, and
/// room for the results.
class Arguments {
public:
  Arguments(const Entry &entry, const std::vector<TensorView> &inputs);
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;

  void **pointers() { return args.data(); }
  /// What the entry has written, one per result.
  std::vector<Descriptor> results() const;

private:
  const Entry &entry;
  std::vector<int64_t> resultFields, inputFields;
  std::vector<void *> args;
};

/// Checks an array that a caller passes for `type`; the error is what is said
/// after the array's name.
bool checkArray(const TensorType &type, const TensorView &array,
                std::string &error);

/// Checks what an entry says result `index` is.
bool checkResult(const Entry &entry, size_t index, const Descriptor &result,
                 std::string &error);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_DESCRIPTOR_H
