//===-- LLVMCodegen.cpp - From an LLVM module to text or object code ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/Codegen/LLVMCodegen.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

Error blockscale::codegenError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

void blockscale::setTarget(Module &module, const TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

void blockscale::optimize(Module &module, TargetMachine &machine) {
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
      .run(module, modules);
}

Expected<std::string> blockscale::emit(Module &module, TargetMachine &machine,
                                       CodeGenFileType type) {
  SmallString<0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return codegenError(
        "the back end for " + machine.getTargetTriple().str() +
        " can't write " +
        (type == CodeGenFileType::ObjectFile ? "object files" : "assembly"));
  passes.run(module);
  return std::string(code);
}
