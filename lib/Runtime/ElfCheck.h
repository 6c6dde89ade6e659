//===-- ElfCheck.h - Whether a file can be loaded safely --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_ELFCHECK_H
#define BLOCKSCALE_LIB_RUNTIME_ELFCHECK_H

#include <string>

namespace blockscale::runtime {

/// Whether the file at `path` is a whole ELF shared library of this machine.
/// dlopen() maps what the headers claim, so that a truncated file would kill
/// the process instead of giving an error.
bool checkSharedLibrary(const std::string &path, std::string &error);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_ELFCHECK_H
