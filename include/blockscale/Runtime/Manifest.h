//===-- Manifest.h - What a compiled shared library offers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled library describes itself in JSON; docs/Runtime.md has the schema.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_MANIFEST_H
#define BLOCKSCALE_RUNTIME_MANIFEST_H

#include "blockscale/Runtime/DataType.h"

#include <array>

namespace blockscale::runtime {

/// An argument or result of an entry. Sizes below 0 are dynamic.
struct TensorType {
  std::string type;  ///< As MLIR writes it: `tensor<?x4096xf4E2M1FN>`.
  std::string dtype; ///< What the numbers are: `f4E2M1FN`.
  std::vector<int64_t> shape;
  DataType storageType = DataType::U8; ///< What memory holds.
  std::vector<int64_t> storageShape;
  std::string layout; ///< `linear` or `tiled_128x4`.

  bool isTiled() const { return layout == "tiled_128x4"; }
  bool isDynamic() const;
  /// `tensor<?x4096xf4E2M1FN>`, and `, stored as u8[?x2048]` where memory
  /// looks different.
  std::string text() const;
  /// The storage shape of a tensor of this type and of the given (logical)
  /// sizes, or nullopt if they do not fit the type.
  std::optional<std::vector<int64_t>>
  storageFor(const std::vector<int64_t> &sizes, std::string &error) const;
  /// Whether an array of `type` and `shape` may be this tensor's memory. The
  /// error names both and the dimension.
  bool accepts(DataType type, const std::vector<int64_t> &shape,
               std::string &error) const;
};

struct Entry {
  std::string name;
  std::vector<TensorType> inputs;
  std::vector<TensorType> results;
};

/// A kernel of a GPU library, as its code launches it.
struct Kernel {
  std::string name;
  std::array<int64_t, 3> block = {1, 1, 1}, cluster = {1, 1, 1};
  int64_t sharedBytes = 0; ///< Dynamic, the most of any launch.
};

struct Manifest {
  static constexpr int currentVersion = 3;
  std::string target; ///< `cpu`, or a chip: `sm_90a`.
  std::vector<Entry> entries;
  std::vector<Kernel> kernels; ///< None on the CPU.

  /// Nullopt if `json` is no manifest of this version; the error says where.
  static std::optional<Manifest> parse(std::string_view json,
                                       std::string &error);
  /// Null if there is none; the error lists those that there are.
  const Entry *find(std::string_view name, std::string &error) const;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_MANIFEST_H
