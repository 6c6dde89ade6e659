//===-- Codegen.cpp - From a gpu.module to PTX ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Codegen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace blockscale::nvidia;

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static Expected<std::unique_ptr<TargetMachine>> makeMachine(const Chip &chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return ::error("this LLVM has no NVPTX back end: " + message);
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
    return ::error("translating the kernels to LLVM IR failed");
  translated->setTargetTriple((*machine)->getTargetTriple());
  translated->setDataLayout((*machine)->createDataLayout());

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine->get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(*translated, modules);

  SmallString<0> ptx;
  raw_svector_ostream stream(ptx);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return ::error("the NVPTX back end can't write PTX");
  passes.run(*translated);
  return std::string(ptx);
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
  return ::error("can't find ptxas, which --emit=cubin needs: install the CUDA "
                 "toolkit and put its bin into PATH or set CUDA_HOME, or use "
                 "--emit=ptx, which needs neither");
}

Expected<std::string> blockscale::nvidia::assemble(StringRef ptx,
                                                   const Chip &chip) {
  Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  SmallString<128> input, output, log;
  int descriptor;
  std::error_code code =
      sys::fs::createTemporaryFile("blockscale", "ptx", descriptor, input);
  if (!code)
    code = sys::fs::createTemporaryFile("blockscale", "cubin", output);
  if (!code)
    code = sys::fs::createTemporaryFile("blockscale", "log", log);
  if (code)
    return ::error("can't make a temporary file: " + code.message());
  auto cleanUp = scope_exit([&] {
    for (StringRef path : {input.str(), output.str(), log.str()})
      sys::fs::remove(path);
  });
  {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << ptx;
  }
  std::string arch = "-arch=" + chip.name.str(), message;
  StringRef args[] = {*ptxas, arch, input, "-o", output};
  std::optional<StringRef> redirects[] = {StringRef(""), log.str(), log.str()};
  int status = sys::ExecuteAndWait(*ptxas, args, std::nullopt, redirects, 0, 0,
                                   &message);
  if (status != 0) {
    if (auto text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().trim();
    return ::error("ptxas failed: " + message);
  }
  auto cubin = MemoryBuffer::getFile(output);
  if (!cubin)
    return ::error("ptxas wrote nothing: " + cubin.getError().message());
  return (*cubin)->getBuffer().str();
}
