//===-- ExternalTool.h - Files through a program --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CODEGEN_EXTERNALTOOL_H
#define BLOCKSCALE_TARGET_CODEGEN_EXTERNALTOOL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace blockscale {

/// A program that turns one file into another, such as a linker.
struct ExternalTool {
  std::string path;
  /// What it does, for "<job> failed: what the program wrote".
  llvm::StringRef job;
  /// Suffixes of the two files.
  llvm::StringRef inputSuffix, outputSuffix;

  /// What the program makes of `input`. `arguments` gives its arguments, the
  /// program's name not among them, for the paths of the two files. Both are
  /// temporary and gone afterwards, whatever happens.
  llvm::Expected<std::string>
  run(llvm::StringRef input,
      llvm::function_ref<llvm::SmallVector<llvm::StringRef>(
          llvm::StringRef inputPath, llvm::StringRef outputPath)>
          arguments) const;
};

} // namespace blockscale

#endif // BLOCKSCALE_TARGET_CODEGEN_EXTERNALTOOL_H
