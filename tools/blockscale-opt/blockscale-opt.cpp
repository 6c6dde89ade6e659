//===-- blockscale-opt.cpp - Run passes on MLIR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Pipeline/Registration.h"
#include "blockscale/Runtime/AtomicFile.h"

#include "mlir/Debug/Counter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

static constexpr llvm::StringLiteral overview =
    R"(blockscale-opt: check MLIR and run passes on it

  blockscale-opt in.mlir                             parse, verify, print
  blockscale-opt in.mlir -canonicalize -o out.mlir   run passes, in this order
  blockscale-opt in.mlir -verify-diagnostics         check `expected-error` comments

Input and output default to standard input and output. Every pass, dialect and
option of mlir-opt is there as well: --help-hidden lists them all.
)";

/// What --help shows beside this project's passes and pipelines.
static constexpr llvm::StringLiteral commonOptions[] = {
    "allow-unregistered-dialect",
    "emit-bytecode",
    "mlir-print-ir-after-all",
    "mlir-print-ir-after-failure",
    "mlir-print-op-generic",
    "mlir-timing",
    "o",
    "pass-pipeline",
    "split-input-file",
    "verify-diagnostics",
};

/// Registers what MlirOptMain() would, then hides all but the few options that
/// a newcomer needs. libLLVM alone brings hundreds.
static void shortenHelp(mlir::DialectRegistry &registry) {
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::tracing::DebugCounter::registerCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  // All passes are values of one option.
  llvm::SmallPtrSet<llvm::cl::Option *, 16> shown = {
      options.lookup("blockscale-fold-round-trips")};
  for (llvm::StringRef name : commonOptions)
    shown.insert(options.lookup(name));
  for (auto &entry : options)
    if (!shown.contains(entry.second))
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

/// MlirOptMain opens its output before it reads its input and deletes it when
/// anything fails. Here a file appears, or changes, only when all went well.
static llvm::LogicalResult optimize(int argc, char **argv,
                                    mlir::DialectRegistry &registry) {
  auto [inputPath, outputPath] =
      mlir::registerAndParseCLIOptions(argc, argv, overview, registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (outputPath == "-" || outputPath == "/dev/null" ||
      config.shouldShowDialects() || config.shouldListPasses())
    return mlir::MlirOptMain(argc, argv, inputPath, outputPath, registry);
  std::string error, text;
  auto fail = [&] {
    llvm::WithColor::error(llvm::errs()) << error << "\n";
    return llvm::failure();
  };
  auto input = mlir::openInputFile(inputPath, &error);
  if (!input)
    return fail();
  llvm::raw_string_ostream stream(text);
  if (failed(mlir::MlirOptMain(stream, std::move(input), registry, config)))
    return llvm::failure();
  auto file = blockscale::runtime::AtomicFile::create(outputPath, error);
  if (!file || !file->write(text, error) || !file->commit(error))
    return fail();
  return llvm::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::StringRef onlyArgument = argc == 2 ? argv[1] : "";

  mlir::DialectRegistry registry;
  blockscale::registerAllBlockScalePasses();
  if (onlyArgument == "--help" || onlyArgument == "-help") {
    registry.insert<blockscale::BlockScaleDialect>();
    shortenHelp(registry);
  } else {
    blockscale::registerAllBlockScaleDialects(registry);
    blockscale::registerUpstreamPasses();
  }
  return mlir::asMainReturnCode(optimize(argc, argv, registry));
}
