//===-- Codegen.cpp - From a gpu.module to PTX ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Codegen.h"
#include "blockscale/Target/Codegen/ExternalTool.h"
#include "blockscale/Target/Codegen/LLVMCodegen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace blockscale;
using namespace blockscale::nvidia;

static Expected<std::unique_ptr<TargetMachine>> makeMachine(const Chip &chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return codegenError("this LLVM has no NVPTX back end: " + message);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, chip.name, chip.ptx, TargetOptions(), std::nullopt, std::nullopt,
      CodeGenOptLevel::Aggressive));
}

Expected<std::string> blockscale::nvidia::emitPTX(mlir::gpu::GPUModuleOp module,
                                                  const Chip &chip) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeMachine(chip);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  std::unique_ptr<Module> translated =
      mlir::translateModuleToLLVMIR(module, context, "blockscale");
  if (!translated)
    return codegenError("translating the kernels to LLVM IR failed");
  setTarget(*translated, **machine);
  optimize(*translated, **machine);
  return emit(*translated, **machine, CodeGenFileType::AssemblyFile);
}

static Expected<std::string> findPtxas() {
  if (ErrorOr<std::string> path = sys::findProgramByName("ptxas"))
    return *path;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    std::optional<std::string> root = sys::Process::GetEnv(variable);
    if (!root)
      continue;
    SmallString<128> directory(*root);
    sys::path::append(directory, "bin");
    if (ErrorOr<std::string> path =
            sys::findProgramByName("ptxas", {directory.str()}))
      return *path;
  }
  if (ErrorOr<std::string> path =
          sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *path;
  return codegenError(
      "can't find ptxas, which --emit=cubin needs: install the CUDA "
      "toolkit and put its bin into PATH or set CUDA_HOME, or use "
      "--emit=ptx, which needs neither");
}

Expected<std::string> blockscale::nvidia::assemble(StringRef ptx,
                                                   const Chip &chip) {
  Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  std::string arch = "-arch=" + chip.name.str();
  ExternalTool tool{*ptxas, "ptxas", "ptx", "cubin"};
  return tool.run(ptx, [&](StringRef input, StringRef output) {
    return SmallVector<StringRef>{arch, input, "-o", output};
  });
}
