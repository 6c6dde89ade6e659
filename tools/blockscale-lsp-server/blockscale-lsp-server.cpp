//===-- blockscale-lsp-server.cpp - Editor support ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Pipeline/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  blockscale::registerAllBlockScaleDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
