//===-- RecordEntries.cpp - Signatures that callers see -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/Passes.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"

namespace blockscale {
#define GEN_PASS_DEF_RECORDENTRIESPASS
#include "blockscale/Conversion/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct RecordEntries : blockscale::impl::RecordEntriesPassBase<RecordEntries> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() &&
          !function.symbolKnownUseEmpty(getOperation())) {
        function.emitOpError("expects a body, because a compiled library calls "
                             "no functions outside of it");
        return signalPassFailure();
      }
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
          kEntryAttr,
          builder.getDictionaryAttr(
              {builder.getNamedAttr("inputs", builder.getTypeArrayAttr(
                                                  function.getArgumentTypes())),
               builder.getNamedAttr(
                   "results",
                   builder.getTypeArrayAttr(function.getResultTypes()))}));
    }
  }

  static LogicalResult check(func::FuncOp function, TypeRange types,
                             StringRef what) {
    for (auto [index, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return function.emitOpError("expects ranked tensors as arguments and "
                                    "results of a public function, but ")
               << what << " " << index << " is " << type
               << "; make the function private or pass a tensor";
      if (!isStorable(tensor.getElementType()))
        return function.emitOpError("expects floats of at most 64 bits, or "
                                    "integers of 1 to 8, 16, 32 or 64 bits, "
                                    "in tensors that callers pass, but ")
               << what << " " << index << " is " << type;
    }
    return success();
  }

  /// What docs/Runtime.md gives a place in memory.
  static bool isStorable(Type element) {
    if (isa<FloatType>(element)) {
      unsigned bits = element.getIntOrFloatBitWidth();
      return bits <= 8 || element.isF16() || element.isBF16() ||
             element.isF32() || element.isF64();
    }
    if (!element.isInteger())
      return false;
    unsigned bits = element.getIntOrFloatBitWidth();
    return bits <= 8 || bits == 16 || bits == 32 || bits == 64;
  }
};

} // namespace
