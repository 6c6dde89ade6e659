//===-- TemporaryFolder.h - Files of one test -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H
#define BLOCKSCALE_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::test {

/// A new folder that goes away with the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "blockscale-XXXXXX").string();
    folder = mkdtemp(name.data()) ? name : "";
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string write(const std::string &name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  size_t numFiles() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto &file :
         std::filesystem::directory_iterator(folder))
      ++count;
    return count;
  }

private:
  std::string folder;
};

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H
