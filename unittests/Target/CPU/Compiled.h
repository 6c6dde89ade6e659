//===-- Compiled.h - MLIR text to a function, in process --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_UNITTESTS_TARGET_CPU_COMPILED_H
#define BLOCKSCALE_UNITTESTS_TARGET_CPU_COMPILED_H

#include "blockscale/Runtime/Library.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>
#include <vector>

namespace blockscale::test {

/// A context with every dialect, shared by the tests of a process.
mlir::MLIRContext &sharedContext();

/// A module compiled for the CPU of this machine.
class Compiled {
public:
  /// Fails the running test and holds nothing if `text` does not compile.
  explicit Compiled(const std::string &text);

  explicit operator bool() const { return library != nullptr; }
  /// Calls the one function of the module; empty, and the test fails, if it
  /// does not accept `inputs`.
  std::vector<runtime::Tensor>
  operator()(const std::vector<runtime::TensorView> &inputs) const;

private:
  void compile(const std::string &text);

  std::unique_ptr<runtime::Library> library;
};

/// A view of values in memory.
runtime::TensorView view(const std::vector<float> &values,
                         std::vector<int64_t> shape);
runtime::TensorView view(runtime::DataType type, const void *data,
                         std::vector<int64_t> shape);

/// The codes in a result: unpacked from nibbles if `width` is 4 and the
/// storage says so, 16 and 32-bit values as their bits.
std::vector<uint32_t> codesOf(const runtime::Tensor &tensor, unsigned width);

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_TARGET_CPU_COMPILED_H
