//===-- RecordEntries.cpp - Signatures that callers see -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/CPU/Passes.h"

namespace blockscale::cpu {
#define GEN_PASS_DEF_RECORDENTRIESPASS
#include "blockscale/Target/CPU/Passes.h.inc"
} // namespace blockscale::cpu

using namespace mlir;
using namespace blockscale;

namespace {

struct RecordEntries : cpu::impl::RecordEntriesPassBase<RecordEntries> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      if (failed(check(function, function.getArgumentTypes(), "argument")) ||
          failed(check(function, function.getResultTypes(), "result")))
        return signalPassFailure();
      // The caller's arrays are read only.
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.setArgAttr(
            i, bufferization::BufferizationDialect::kWritableAttrName,
            builder.getBoolAttr(false));
      function->setAttr(
          cpu::kEntryAttr,
          builder.getDictionaryAttr(
              {builder.getNamedAttr("inputs", builder.getTypeArrayAttr(
                                                  function.getArgumentTypes())),
               builder.getNamedAttr("results",
                                    builder.getTypeArrayAttr(
                                        function.getResultTypes()))}));
    }
  }

  static LogicalResult check(func::FuncOp function, TypeRange types,
                             StringRef what) {
    for (auto [index, type] : llvm::enumerate(types))
      if (!isa<RankedTensorType>(type))
        return function.emitOpError("expects ranked tensors as arguments and "
                                    "results of a public function, but ")
               << what << " " << index << " is " << type
               << "; make the function private or pass a tensor";
    return success();
  }
};

} // namespace
