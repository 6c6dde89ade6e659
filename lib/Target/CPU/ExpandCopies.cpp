//===-- ExpandCopies.cpp - Copies of strided memory as loops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/CPU/Passes.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"

namespace blockscale::cpu {
#define GEN_PASS_DEF_EXPANDCOPIESPASS
#include "blockscale/Target/CPU/Passes.h.inc"
} // namespace blockscale::cpu

using namespace mlir;
using namespace blockscale;

namespace {

struct ExpandCopies : cpu::impl::ExpandCopiesPassBase<ExpandCopies> {
  void runOnOperation() override {
    getOperation()->walk([](memref::CopyOp copy) {
      auto isWhole = [](Value buffer) {
        auto type = dyn_cast<MemRefType>(buffer.getType());
        return type && type.getLayout().isIdentity();
      };
      // One memcpy.
      if (isWhole(copy.getSource()) && isWhole(copy.getTarget()))
        return;
      if (!isa<MemRefType>(copy.getSource().getType()) ||
          !isa<MemRefType>(copy.getTarget().getType()))
        return;
      OpBuilder builder(copy);
      linalg::makeMemRefCopyOp(builder, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
      copy.erase();
    });
  }
};

} // namespace
