//===-- Codegen.h - From the LLVM dialect to a shared library ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CPU_CODEGEN_H
#define BLOCKSCALE_TARGET_CPU_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace blockscale::cpu {

/// A processor as code generation sees it.
class Processor {
public:
  /// `name` is `native`, or a name that LLVM knows (`x86-64-v3`, `znver4`).
  static llvm::Expected<Processor> fromName(llvm::StringRef name);

  /// Width of the vectors to use: 512 with AVX-512, else 256.
  unsigned vectorBits() const;
  bool hasFMA() const;
  llvm::TargetMachine &getMachine() const { return *machine; }

private:
  std::shared_ptr<llvm::TargetMachine> machine;
};

/// Translates a module of the LLVM dialect and optimizes it for `processor`.
/// Errors are diagnostics on `module`; then the result is null.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module,
                                        llvm::LLVMContext &context,
                                        const Processor &processor);

/// The object file of `module`, position independent.
llvm::Expected<std::string> emitObject(llvm::Module &module,
                                       const Processor &processor);

/// The shared library that an object file and an archive of the runtime
/// (libblockscale_cpu.a, libblockscale_gpu.a) make. `toolPath` is the running
/// program: the archive lies in its ../lib, or where BLOCKSCALE_LIBRARY_DIR
/// says.
llvm::Expected<std::string> linkShared(llvm::StringRef object,
                                       llvm::StringRef archive,
                                       llvm::StringRef toolPath);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_TARGET_CPU_CODEGEN_H
