//===-- ElfCheck.cpp - Whether a file can be loaded safely ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ElfCheck.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <link.h>
#include <sys/stat.h>

#if defined(__x86_64__)
constexpr int hostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int hostMachine = EM_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr int hostMachine = EM_RISCV;
#else
#error "add this machine's e_machine"
#endif

static bool fail(const std::string &path, const std::string &why,
                 std::string &error) {
  error = "cannot load '" + path + "': " + why;
  return false;
}

bool blockscale::runtime::checkSharedLibrary(const std::string &path,
                                             std::string &error) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return fail(path, std::strerror(errno), error);
  if (!S_ISREG(status.st_mode))
    return fail(path, "it is not a file", error);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(path, std::strerror(errno), error);
  const uint64_t fileSize = static_cast<uint64_t>(status.st_size);

  ElfW(Ehdr) header = {};
  file.read(reinterpret_cast<char *>(&header), sizeof header);
  if (file.gcount() < SELFMAG ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail(path, "it is not a shared library", error);
  if (file.gcount() < static_cast<std::streamsize>(sizeof header))
    return fail(path, "it is truncated", error);
  if (header.e_ident[EI_CLASS] !=
          (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != hostMachine)
    return fail(path, "it was compiled for another kind of machine", error);
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(ElfW(Phdr)))
    return fail(path, "it is not a shared library", error);

  auto isInside = [fileSize](uint64_t offset, uint64_t size) {
    return offset <= fileSize && size <= fileSize - offset;
  };
  if (!isInside(header.e_phoff,
                uint64_t(header.e_phnum) * sizeof(ElfW(Phdr))) ||
      !isInside(header.e_shoff, uint64_t(header.e_shnum) * header.e_shentsize))
    return fail(path, "it is truncated", error);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment = {};
    if (!file.read(reinterpret_cast<char *>(&segment), sizeof segment) ||
        !isInside(segment.p_offset, segment.p_filesz))
      return fail(path, "it is truncated", error);
  }
  return true;
}
