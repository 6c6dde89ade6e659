//===-- AtomicFile.cpp - Files that are whole or not at all -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/AtomicFile.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace blockscale::runtime;

bool AtomicFile::fail(const char *what, std::string &error) {
  error = std::string("cannot ") + what + " '" + shownPath +
          "': " + std::strerror(errno);
  return false;
}

std::optional<AtomicFile> AtomicFile::create(const std::string &path,
                                             std::string &error) {
  AtomicFile file;
  file.shownPath = file.finalPath = path;
  if (path.empty()) {
    errno = ENOENT;
    file.fail("write", error);
    return std::nullopt;
  }
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      errno = EISDIR;
      file.fail("write", error);
      return std::nullopt;
    }
    if (!S_ISREG(status.st_mode)) {
      // To rename something over /dev/null would replace the device.
      file.descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (file.descriptor < 0) {
        file.fail("write", error);
        return std::nullopt;
      }
      return file;
    }
    // A symbolic link stays one; the file it names is replaced.
    if (char *resolved = realpath(path.c_str(), nullptr)) {
      file.finalPath = resolved;
      std::free(resolved);
    }
  }
  static std::atomic<unsigned> counter{0};
  do {
    file.temporaryPath = file.finalPath + ".tmp." + std::to_string(getpid()) +
                         "." + std::to_string(counter++);
    // Not mkstemp(): the file should get the permissions the umask says.
    file.descriptor = open(file.temporaryPath.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file.descriptor < 0 && errno == EEXIST);
  if (file.descriptor < 0) {
    file.temporaryPath.clear();
    file.fail("write", error);
    return std::nullopt;
  }
  return file;
}

bool AtomicFile::check(const std::string &path, std::string &error) {
  struct stat status;
  bool isOther = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
                 !S_ISDIR(status.st_mode);
  return isOther || create(path, error);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept {
  *this = std::move(other);
}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(shownPath, other.shownPath);
  std::swap(finalPath, other.finalPath);
  std::swap(temporaryPath, other.temporaryPath);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporaryPath.empty())
    unlink(temporaryPath.c_str());
}

bool AtomicFile::write(std::string_view bytes, std::string &error) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return fail("write", error);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool AtomicFile::close(std::string &error) {
  int closing = std::exchange(descriptor, -1);
  if (closing >= 0 && ::close(closing) != 0)
    return fail("write", error);
  return true;
}

bool AtomicFile::commit(std::string &error) {
  if (!close(error))
    return false;
  if (temporaryPath.empty())
    return true;
  if (rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    return fail("write", error);
  temporaryPath.clear();
  return true;
}
