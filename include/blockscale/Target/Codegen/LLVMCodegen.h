//===-- LLVMCodegen.h - From an LLVM module to text or object code -*- C++ -*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CODEGEN_LLVMCODEGEN_H
#define BLOCKSCALE_TARGET_CODEGEN_LLVMCODEGEN_H

#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace blockscale {

/// An error that is only a message.
llvm::Error codegenError(const llvm::Twine &message);

/// Makes `module` one of the machine's: its triple and data layout.
void setTarget(llvm::Module &module, const llvm::TargetMachine &machine);

/// LLVM's default pipeline at -O3.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// The module as assembly or object code; an error where the back end of
/// `machine` cannot write that. Changes the module.
llvm::Expected<std::string> emit(llvm::Module &module,
                                 llvm::TargetMachine &machine,
                                 llvm::CodeGenFileType type);

} // namespace blockscale

#endif // BLOCKSCALE_TARGET_CODEGEN_LLVMCODEGEN_H
