//===-- AtomicFile.h - Files that are there whole or not at all -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_ATOMICFILE_H
#define BLOCKSCALE_RUNTIME_ATOMICFILE_H

#include <optional>
#include <string>
#include <string_view>

namespace blockscale::runtime {

/// A file that appears under its name when commit() is called. Until then its
/// bytes are in a file beside it, which the destructor removes. A device or a
/// pipe (/dev/stdout) is written directly.
class AtomicFile {
public:
  /// Errors name the file and say what the system said.
  static std::optional<AtomicFile> create(const std::string &path,
                                          std::string &error);
  /// Whether create() would succeed; leaves nothing behind, and does not open
  /// devices and pipes.
  static bool check(const std::string &path, std::string &error);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  bool write(std::string_view bytes, std::string &error);
  /// Closes the temporary file; an error here (a full disk) leaves any older
  /// file of that name as it was.
  bool close(std::string &error);
  /// close(), then takes the name.
  bool commit(std::string &error);

private:
  AtomicFile() = default;
  bool fail(const char *what, std::string &error);

  int descriptor = -1;
  std::string shownPath;     ///< As the caller named it.
  std::string finalPath;     ///< Symbolic links followed.
  std::string temporaryPath; ///< Empty where written directly.
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_ATOMICFILE_H
