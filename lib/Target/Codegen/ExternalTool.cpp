//===-- ExternalTool.cpp - Files through a program ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/Codegen/ExternalTool.h"
#include "blockscale/Target/Codegen/LLVMCodegen.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace blockscale;

Expected<std::string>
ExternalTool::run(StringRef input,
                  function_ref<SmallVector<StringRef>(StringRef, StringRef)>
                      arguments) const {
  SmallString<128> inputPath, outputPath, log;
  auto cleanUp = scope_exit([&] {
    for (StringRef file : {inputPath.str(), outputPath.str(), log.str()})
      if (!file.empty())
        sys::fs::remove(file);
  });
  int descriptor;
  std::error_code code = sys::fs::createTemporaryFile("blockscale", inputSuffix,
                                                      descriptor, inputPath);
  if (code)
    return codegenError("can't make a temporary file: " + code.message());
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << input;
  stream.close();
  if (stream.has_error()) {
    stream.clear_error();
    return codegenError("can't write '" + inputPath + "': disk full?");
  }
  code = sys::fs::createTemporaryFile("blockscale", outputSuffix, outputPath);
  if (!code)
    code = sys::fs::createTemporaryFile("blockscale", "log", log);
  if (code)
    return codegenError("can't make a temporary file: " + code.message());

  SmallVector<StringRef> words = arguments(inputPath, outputPath);
  words.insert(words.begin(), path);
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(""), log.str(), log.str()};
  if (sys::ExecuteAndWait(path, words, std::nullopt, redirects, 0, 0,
                          &message)) {
    if (auto text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().trim();
    return codegenError(job + " failed: " + message);
  }
  auto output = MemoryBuffer::getFile(outputPath);
  if (!output)
    return codegenError(job + " wrote nothing: " + output.getError().message());
  return (*output)->getBuffer().str();
}
