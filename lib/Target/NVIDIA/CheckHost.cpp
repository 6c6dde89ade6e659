//===-- CheckHost.cpp - Host code leaves device memory alone --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace blockscale::nvidia {
#define GEN_PASS_DEF_CHECKHOSTPASS
#include "blockscale/Target/NVIDIA/Passes.h.inc"
} // namespace blockscale::nvidia

using namespace mlir;
using namespace blockscale;

/// Whether an operation that has buffers as operands or results only passes
/// them on.
static bool onlyPassesOn(Operation *op) {
  return isa<memref::AllocOp, memref::DeallocOp, memref::DimOp, memref::CastOp,
             memref::ReinterpretCastOp, memref::ExpandShapeOp,
             memref::CollapseShapeOp, memref::ViewOp,
             memref::ExtractAlignedPointerAsIndexOp,
             memref::ExtractStridedMetadataOp, UnrealizedConversionCastOp,
             arith::SelectOp>(op) ||
         isa<func::FuncDialect, scf::SCFDialect, cf::ControlFlowDialect,
             bufferization::BufferizationDialect>(op->getDialect());
}

static bool hasBuffer(TypeRange types) {
  return llvm::any_of(types,
                      [](Type type) { return isa<BaseMemRefType>(type); });
}

namespace {

struct CheckHost : nvidia::impl::CheckHostPassBase<CheckHost> {
  void runOnOperation() override {
    // Written by upstream's deallocation. What calls it has stored the lists
    // of buffers that it reads, and is refused, at a place in the source.
    if (getOperation().isPrivate() &&
        getOperation().getName().starts_with("dealloc_helper"))
      return;
    WalkResult walk = getOperation().walk([&](Operation *op) {
      if (!hasBuffer(op->getOperandTypes()) && !hasBuffer(op->getResultTypes()))
        return WalkResult::advance();
      if (onlyPassesOn(op))
        return WalkResult::advance();
      if (isa<memref::GetGlobalOp>(op))
        op->emitError("expects no constant tensor on a GPU target, because a "
                      "constant lies in the host's memory; pass it to the "
                      "function as an argument");
      else if (isa<memref::CopyOp>(op))
        op->emitError("expects results of blockscale ops, each returned once, "
                      "on a GPU target, but this copies a tensor: an argument "
                      "or a slice of it, a tensor that a loop carries from one "
                      "iteration to the next, or a result that is returned "
                      "twice");
      else
        op->emitError("expects blockscale ops alone to compute with tensors "
                      "on a GPU target, but got '")
            << op->getName()
            << "'; do it in an epilogue or outside of the function";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
