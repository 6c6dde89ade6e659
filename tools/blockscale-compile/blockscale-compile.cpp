//===-- blockscale-compile.cpp - MLIR to running code ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Pipeline/GPUCompiler.h"
#include "blockscale/Pipeline/Pipeline.h"
#include "blockscale/Pipeline/Registration.h"
#include "blockscale/Runtime/AtomicFile.h"
#include "blockscale/Target/CPU/Codegen.h"
#include "blockscale/Target/NVIDIA/Codegen.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

static cl::OptionCategory category("blockscale-compile options");

static cl::opt<std::string> inputPath(cl::Positional, cl::desc("<input.mlir>"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string> outputPath("o",
                                       cl::desc("Where to write; - is "
                                                "standard output"),
                                       cl::value_desc("file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<std::string>
    targetName("target",
               cl::desc("What to compile for: cpu (default) or a chip: sm_80, "
                        "sm_90a, sm_120a, ..."),
               cl::value_desc("target"), cl::init("cpu"), cl::cat(category));
static cl::opt<std::string>
    processorName("cpu",
                  cl::desc("Processor of --target=cpu and of host code: native "
                           "(default), x86-64-v3, "
                           "x86-64-v4, znver4, ..."),
                  cl::value_desc("name"), cl::init("native"),
                  cl::cat(category));

namespace {
enum class Emit { MLIR, LLVM, PTX, Cubin, Object, Shared };
} // namespace
static cl::opt<Emit> emit(
    "emit", cl::desc("What to write:"), cl::init(Emit::Shared),
    cl::values(
        clEnumValN(Emit::MLIR, "mlir", "the last MLIR, in the LLVM dialect"),
        clEnumValN(Emit::LLVM, "llvm", "optimized LLVM IR"),
        clEnumValN(Emit::PTX, "ptx", "PTX of the kernels (GPU targets)"),
        clEnumValN(Emit::Cubin, "cubin",
                   "machine code of the kernels, by ptxas (GPU targets)"),
        clEnumValN(Emit::Object, "object", "an object file"),
        clEnumValN(Emit::Shared, "shared",
                   "a shared library for blockscale-run (default)")),
    cl::cat(category));
static cl::opt<bool>
    printAfterEach("print-ir-after-each",
                   cl::desc("Print the IR to standard error after each pass "
                            "that changes it"),
                   cl::cat(category));

static constexpr StringLiteral overview =
    R"(blockscale-compile: MLIR with block-scaled numbers to running code

  blockscale-compile linear.mlir -o linear.so      then: blockscale-run linear.so --list
  blockscale-compile linear.mlir --emit=llvm       print LLVM IR
  blockscale-compile linear.mlir --cpu=x86-64-v3   for processors with AVX2
  blockscale-compile linear.mlir --target=sm_90a --emit=ptx

Each public function of the input becomes an entry of the library. The stages
can be run one by one with blockscale-opt (blockscale-stage-...).
)";

static int fail(const Twine &message) {
  WithColor::error(errs()) << message << "\n";
  return 1;
}

/// Writes all of `text`, or nothing; an older file stays if that fails.
static int write(StringRef text) {
  if (outputPath == "-") {
    outs() << text;
    outs().flush();
    if (!outs().has_error())
      return 0;
    std::string reason = outs().error().message();
    outs().clear_error();
    return fail("can't write to standard output: " + reason);
  }
  std::string error;
  auto file = blockscale::runtime::AtomicFile::create(outputPath, error);
  if (!file || !file->write(text, error) || !file->commit(error))
    return fail(error);
  return 0;
}

static bool isEntry(mlir::func::FuncOp function) {
  return function.isPublic() && !function.isExternal();
}

/// `Expected` values end in one error line.
template <typename T> static int failWith(Expected<T> &value) {
  return fail(toString(value.takeError()));
}

/// Runs `passes`; prints what --print-ir-after-each asks for.
static mlir::LogicalResult run(mlir::PassManager &passes,
                               mlir::ModuleOp module) {
  if (printAfterEach) {
    module.getContext()->disableMultithreading();
    passes.enableIRPrinting(
        [](mlir::Pass *, mlir::Operation *) { return false; },
        [](mlir::Pass *, mlir::Operation *) { return true; },
        /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true);
  }
  return passes.run(module);
}

static int writeModule(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream(text) << module << "\n";
  return write(text);
}

/// The host code of a module in the LLVM dialect, as --emit says.
static int emitHost(mlir::ModuleOp module,
                    const blockscale::cpu::Processor &processor,
                    StringRef archive, StringRef toolPath) {
  LLVMContext llvmContext;
  std::unique_ptr<Module> llvmModule =
      blockscale::cpu::translate(module, llvmContext, processor);
  if (!llvmModule)
    return 1;
  if (emit == Emit::LLVM) {
    std::string text;
    raw_string_ostream(text) << *llvmModule;
    return write(text);
  }
  Expected<std::string> object =
      blockscale::cpu::emitObject(*llvmModule, processor);
  if (!object)
    return failWith(object);
  if (emit == Emit::Object)
    return write(*object);
  Expected<std::string> library =
      blockscale::cpu::linkShared(*object, archive, toolPath);
  return library ? write(*library) : failWith(library);
}

static int compileForCPU(mlir::ModuleOp module,
                         const blockscale::cpu::Processor &processor,
                         StringRef toolPath) {
  mlir::PassManager passes(module.getContext());
  blockscale::CPUPipelineOptions options;
  options.vectorBits = processor.vectorBits();
  options.useFMA = processor.hasFMA();
  blockscale::addCPUPipeline(passes, options);
  if (mlir::failed(run(passes, module)))
    return 1;
  if (emit == Emit::MLIR)
    return writeModule(module);
  return emitHost(module, processor, "libblockscale_cpu.a", toolPath);
}

static int compileForGPU(mlir::ModuleOp module,
                         const blockscale::nvidia::Chip &chip,
                         const blockscale::cpu::Processor &processor,
                         StringRef toolPath) {
  mlir::PassManager passes(module.getContext());
  blockscale::addGPUPipeline(passes, chip.name);
  if (mlir::failed(run(passes, module)))
    return 1;
  if (emit == Emit::MLIR)
    return writeModule(module);
  Expected<std::string> ptx = blockscale::emitKernels(module, chip);
  if (!ptx)
    return failWith(ptx);
  if (emit == Emit::PTX)
    return write(*ptx);
  if (emit == Emit::Cubin) {
    Expected<std::string> cubin = blockscale::nvidia::assemble(*ptx, chip);
    return cubin ? write(*cubin) : failWith(cubin);
  }
  if (mlir::failed(blockscale::finishHost(module, *ptx, chip)))
    return 1;
  return emitHost(module, processor, "libblockscale_gpu.a", toolPath);
}

static int compile(StringRef toolPath) {
  const blockscale::nvidia::Chip *chip = nullptr;
  if (targetName != "cpu") {
    std::string error;
    chip = blockscale::nvidia::findChip(targetName, error);
    if (!chip && blockscale::nvidia::looksLikeChip(targetName))
      return fail(error);
    if (!chip)
      return fail("unknown target '" + targetName +
                  "': expects 'cpu' or a chip such as 'sm_90a', 'sm_120a'");
  }
  if (!chip && (emit == Emit::PTX || emit == Emit::Cubin))
    return fail("expects a chip as --target with --emit=ptx and --emit=cubin, "
                "but got 'cpu'");
  if (emit == Emit::Shared && outputPath == "-")
    return fail("expects -o <file> with --emit=shared: a shared library can't "
                "be written to standard output");
  Expected<blockscale::cpu::Processor> processor =
      blockscale::cpu::Processor::fromName(processorName);
  if (!processor)
    return failWith(processor);

  std::string error;
  std::unique_ptr<MemoryBuffer> input = mlir::openInputFile(inputPath, &error);
  if (!input)
    return fail(error);

  mlir::DialectRegistry registry;
  blockscale::registerAllBlockScaleDialects(registry);
  mlir::MLIRContext context(registry);
  // The line of the input says it better than the operation does.
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), SMLoc());
  mlir::SourceMgrDiagnosticHandler diagnostics(*sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (llvm::none_of(module->getOps<mlir::func::FuncOp>(), isEntry))
    return fail("expects a public function with a body in '" + inputPath +
                "', to become an entry of the library, but there is none");
  return chip ? compileForGPU(*module, *chip, *processor, toolPath)
              : compileForCPU(*module, *processor, toolPath);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, overview);
  static int anchor;
  return compile(sys::fs::getMainExecutable(argv[0], &anchor));
}
