//===-- Codegen.cpp - From the LLVM dialect to a shared library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/CPU/Codegen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace blockscale::cpu;

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

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
    return ::error(error);

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
      return ::error("unknown processor '" + name +
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
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  for (Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (processor.vectorBits() == 512)
      function.addFnAttr("prefer-vector-width", "512");
  }

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(*result, modules);
  return result;
}

Expected<std::string> blockscale::cpu::emitObject(Module &module,
                                                  const Processor &processor) {
  SmallString<0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (processor.getMachine().addPassesToEmitFile(passes, stream, nullptr,
                                                 CodeGenFileType::ObjectFile))
    return ::error("the code generator can't write object files for " +
                   module.getTargetTriple().str());
  passes.run(module);
  return std::string(object);
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
    return ::error("can't find '" + path +
                   "', which compiled libraries "
                   "contain: set BLOCKSCALE_LIBRARY_DIR to its directory");
  return std::string(path);
}

static Expected<std::string> findLinker() {
  for (StringRef name : {"ld.lld-22", "ld.lld", "ld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return ::error("can't find a linker: expects ld.lld-22, ld.lld or ld in PATH "
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

  SmallString<128> objectPath, log, linked;
  int descriptor;
  if (std::error_code code = sys::fs::createTemporaryFile(
          "blockscale", "o", descriptor, objectPath))
    return ::error("can't make a temporary file: " + code.message());
  auto removeObject = scope_exit([&] { sys::fs::remove(objectPath); });
  {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << object;
    stream.close();
    if (stream.has_error()) {
      stream.clear_error();
      return ::error("can't write '" + objectPath + "': disk full?");
    }
  }
  if (std::error_code code =
          sys::fs::createTemporaryFile("blockscale", "log", log))
    return ::error("can't make a temporary file: " + code.message());
  auto removeLog = scope_exit([&] { sys::fs::remove(log); });
  if (std::error_code code =
          sys::fs::createTemporaryFile("blockscale", "so", linked))
    return ::error("can't make a temporary file: " + code.message());
  auto removeLinked = scope_exit([&] { sys::fs::remove(linked); });

  std::string message;
  StringRef args[] = {*linker,  "-shared",      "-o",
                      linked,   objectPath,     "--undefined=blockscale_call",
                      *archive, "--gc-sections"};
  std::optional<StringRef> redirects[] = {StringRef(""), log.str(), log.str()};
  int status = sys::ExecuteAndWait(*linker, args, std::nullopt, redirects, 0, 0,
                                   &message);
  if (status != 0) {
    if (auto text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().trim();
    return ::error("linking failed: " + message);
  }
  auto library = MemoryBuffer::getFile(linked);
  if (!library)
    return ::error("the linker wrote nothing: " + library.getError().message());
  return (*library)->getBuffer().str();
}
