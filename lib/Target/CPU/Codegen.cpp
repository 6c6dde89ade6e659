//===-- Codegen.cpp - From the LLVM dialect to a shared library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/CPU/Codegen.h"
#include "blockscale/Target/Codegen/ExternalTool.h"
#include "blockscale/Target/Codegen/LLVMCodegen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace blockscale;
using namespace blockscale::cpu;

//===----------------------------------------------------------------------===//
// Processor
//===----------------------------------------------------------------------===//

Expected<Processor> Processor::fromName(StringRef name) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getDefaultTargetTriple());
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return codegenError(error);

  std::string cpu = name.str(), features;
  if (name == "native") {
    cpu = sys::getHostCPUName().str();
    // What the processor's name implies may be switched off on this machine.
    for (const auto &feature : sys::getHostCPUFeatures())
      features += (feature.second ? "+" : "-") + feature.first().str() + ",";
  } else {
    std::unique_ptr<MCSubtargetInfo> info(
        target->createMCSubtargetInfo(triple, "", ""));
    if (!info->isCPUStringValid(cpu))
      return codegenError("unknown processor '" + name +
                          "': expects 'native' or a "
                          "name such as 'x86-64-v3', 'x86-64-v4', 'znver4'");
  }
  Processor processor;
  processor.machine.reset(target->createTargetMachine(
      triple, cpu, features, TargetOptions(), Reloc::PIC_, std::nullopt,
      CodeGenOptLevel::Aggressive));
  return processor;
}

unsigned Processor::vectorBits() const {
  return machine->getMCSubtargetInfo()->checkFeatures("+avx512f") ? 512 : 256;
}

bool Processor::hasFMA() const {
  return !machine->getTargetTriple().isX86() ||
         machine->getMCSubtargetInfo()->checkFeatures("+fma");
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

std::unique_ptr<Module> blockscale::cpu::translate(mlir::ModuleOp module,
                                                   LLVMContext &context,
                                                   const Processor &processor) {
  std::unique_ptr<Module> result =
      mlir::translateModuleToLLVMIR(module, context, "blockscale");
  if (!result)
    return nullptr;
  TargetMachine &machine = processor.getMachine();
  setTarget(*result, machine);
  for (Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (processor.vectorBits() == 512)
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimize(*result, machine);
  return result;
}

Expected<std::string> blockscale::cpu::emitObject(Module &module,
                                                  const Processor &processor) {
  return emit(module, processor.getMachine(), CodeGenFileType::ObjectFile);
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static Expected<std::string> findArchive(StringRef name, StringRef toolPath) {
  SmallString<128> path;
  if (std::optional<std::string> directory =
          sys::Process::GetEnv("BLOCKSCALE_LIBRARY_DIR")) {
    path = *directory;
  } else {
    path = sys::path::parent_path(sys::path::parent_path(toolPath));
    sys::path::append(path, "lib");
  }
  sys::path::append(path, name);
  if (!sys::fs::exists(path))
    return codegenError("can't find '" + path +
                        "', which compiled libraries "
                        "contain: set BLOCKSCALE_LIBRARY_DIR to its directory");
  return std::string(path);
}

static Expected<std::string> findLinker() {
  for (StringRef name : {"ld.lld-22", "ld.lld", "ld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return codegenError(
      "can't find a linker: expects ld.lld-22, ld.lld or ld in PATH "
      "(Debian: apt install lld-22), or use --emit=object");
}

Expected<std::string> blockscale::cpu::linkShared(StringRef object,
                                                  StringRef archiveName,
                                                  StringRef toolPath) {
  Expected<std::string> archive = findArchive(archiveName, toolPath);
  if (!archive)
    return archive.takeError();
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  ExternalTool tool{*linker, "linking", "o", "so"};
  return tool.run(object, [&](StringRef input, StringRef output) {
    return SmallVector<StringRef>{
        "-shared", "-o",           output, input, "--undefined=blockscale_call",
        *archive,  "--gc-sections"};
  });
}
