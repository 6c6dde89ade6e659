//===-- Library.h - A compiled shared library, loaded -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The binary interface of compiled libraries is in docs/Runtime.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_LIBRARY_H
#define BLOCKSCALE_RUNTIME_LIBRARY_H

#include "blockscale/Runtime/GPU/DeviceTensor.h"
#include "blockscale/Runtime/Manifest.h"
#include "blockscale/Runtime/Tensor.h"

struct blockscaleDevice;

namespace blockscale::runtime {

class Library {
public:
  /// Loads the library at `path`, for its manifest. Null if it cannot be
  /// loaded or is no compiled library; the error names the file.
  static std::unique_ptr<Library> open(const std::string &path,
                                       std::string &error);
  /// Loads it and binds it to `device`.
  static std::unique_ptr<Library> open(const std::string &path,
                                       std::unique_ptr<Device> device,
                                       std::string &error);
  /// Loads it for the device of that name, or, if that is empty, for the one
  /// that it was compiled for.
  static std::unique_ptr<Library> openFor(const std::string &path,
                                          std::string_view deviceName,
                                          std::string &error);
  /// Says where calls run, once. False if that device cannot run it.
  bool bind(std::unique_ptr<Device> device, std::string &error);

  /// Unloads it. Results stay valid: their memory is the caller's.
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const Manifest &manifest() const { return description; }
  /// The JSON text, as compiled into the library.
  std::string_view manifestText() const { return text; }
  /// Where calls run; only after bind().
  Device &device() { return *where; }
  /// The same, or null if it is the host.
  std::shared_ptr<GPUDevice> gpu() { return onGPU; }

  /// Checks `inputs`, arrays on the host, against the types of `entry` (one of
  /// manifest()), calls it and waits. Nullopt if an input does not fit or the
  /// function reports an error. Any thread may call at any time.
  std::optional<std::vector<Tensor>> call(const Entry &entry,
                                          const std::vector<TensorView> &inputs,
                                          std::string &error);
  /// The same on a GPU, with arrays in its memory and without waiting: the
  /// work is enqueued on `stream`, and so must be what follows. The inputs must
  /// stay until it is done, and begin at a multiple of arrayAlignment, those of
  /// one element at one of their size.
  ///
  /// `into` is empty, or has for each result the array that it shall be written
  /// to, or nullopt: then it is allocated. The result is that array again,
  /// borrowed. It must have the result's type and sizes, lie in the device's
  /// memory at a multiple of arrayAlignment, and share none with an input or
  /// another result. All this is checked before anything is enqueued, save
  /// for dynamic sizes of as many bytes, or of results that are copied there.
  std::optional<std::vector<DeviceTensor>>
  callOnDevice(const Entry &entry, const std::vector<TensorView> &inputs,
               Stream stream, std::string &error,
               const std::vector<std::optional<DeviceTensor>> &into = {});
  /// What kernels, which move 16 bytes at once, ask of memory.
  static constexpr uint64_t arrayAlignment = 16;

  /// The checks of call() alone.
  static bool check(const Entry &entry, const std::vector<TensorView> &inputs,
                    std::string &error);

private:
  Library() = default;
  using Function = void (*)(void **args);

  bool readManifest(std::string &error);
  bool loadKernels(std::string &error);
  const void *symbol(const std::string &name) const;
  /// `entry` as the manifest has it, if `inputs` fit. Null otherwise.
  const Entry *prepareCall(const Entry &entry,
                           const std::vector<TensorView> &inputs,
                           std::string &error) const;
  /// Runs the compiled function; false with its message if it failed.
  bool invoke(const Entry &entry, void **args, std::string &error) const;
  /// The checks of callOnDevice() on where arrays lie.
  bool checkAligned(const Entry &entry, const std::vector<TensorView> &inputs,
                    std::string &error) const;
  /// The same on `into`.
  bool checkInto(const Entry &entry, const std::vector<TensorView> &inputs,
                 const std::vector<std::optional<DeviceTensor>> &into,
                 std::string &error) const;
  std::optional<std::vector<Tensor>>
  callByCopying(const Entry &entry, const std::vector<TensorView> &inputs,
                std::string &error);

  std::string path;
  std::shared_ptr<Device> where;
  std::shared_ptr<GPUDevice> onGPU; ///< `where`, if it is one.
  void *handle = nullptr;
  std::string_view text;
  Manifest description;
  std::vector<Function> functions; ///< In the order of the entries.
  /// The library's blockscale_call, which returns errors; null if it has none.
  const char *(*callGuarded)(Function function, void **args) = nullptr;
  void (*setDevice)(const blockscaleDevice *device) = nullptr;
  std::unique_ptr<GPUModule> module;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_LIBRARY_H
