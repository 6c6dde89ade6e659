//===-- blockscale-opt.cpp - Run passes on MLIR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Pipeline/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

static constexpr llvm::StringLiteral overview =
    R"(blockscale-opt: check MLIR and run passes on it

  blockscale-opt in.mlir                             parse, verify, print
  blockscale-opt in.mlir -canonicalize -o out.mlir   run passes, in this order
  blockscale-opt in.mlir -verify-diagnostics         check `expected-error` comments

Input and output default to standard input and output. Every pass and dialect
of mlir-opt is there as well: --help-hidden lists them all.
)";

/// Options of LLVM's code generator, which libLLVM brings along.
static void hideForeignOptions() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    entry.second->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  bool shortHelp =
      llvm::any_of(llvm::ArrayRef(argv, argc), [](llvm::StringRef arg) {
        return arg == "--help" || arg == "-help" || arg == "-h";
      });

  mlir::DialectRegistry registry;
  if (shortHelp) {
    hideForeignOptions();
    registry.insert<blockscale::BlockScaleDialect>();
  } else {
    blockscale::registerAllBlockScaleDialects(registry);
    blockscale::registerUpstreamPasses();
  }
  blockscale::registerAllBlockScalePasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, overview, registry));
}
