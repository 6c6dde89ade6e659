//===-- Library.h - A compiled shared library, loaded -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The binary interface of compiled libraries is in docs/Runtime.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_LIBRARY_H
#define BLOCKSCALE_RUNTIME_LIBRARY_H

#include "blockscale/Runtime/Device.h"
#include "blockscale/Runtime/Manifest.h"
#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

class Library {
public:
  /// Loads the library at `path` for `device` (not null). Null if it cannot be
  /// loaded, is no compiled library, or was compiled for another device; the
  /// error names the file.
  static std::unique_ptr<Library> open(const std::string &path,
                                       std::unique_ptr<Device> device,
                                       std::string &error);
  /// Unloads it. Results stay valid: they are the caller's memory.
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const Manifest &manifest() const { return description; }
  /// The JSON text, as compiled into the library.
  std::string_view manifestText() const { return text; }
  Device &device() { return *where; }

  /// Checks `inputs` against the types of `entry` (one of manifest()), calls
  /// it and waits. Nullopt if an input does not fit or the function reports an
  /// error. Any thread may call at any time.
  std::optional<std::vector<Tensor>> call(const Entry &entry,
                                          const std::vector<TensorView> &inputs,
                                          std::string &error);

  /// The checks of call() alone.
  static bool check(const Entry &entry, const std::vector<TensorView> &inputs,
                    std::string &error);

private:
  Library() = default;
  using Function = void (*)(void **args);

  std::string path;
  std::unique_ptr<Device> where;
  void *handle = nullptr;
  std::string_view text;
  Manifest description;
  std::vector<Function> functions; ///< In the order of the entries.
  /// The library's blockscale_call, which returns errors; null if it has none.
  const char *(*callGuarded)(Function function, void **args) = nullptr;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_LIBRARY_H
