//===-- EmitEntries.cpp - Entry points and manifest of a library ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/Passes.h"
#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/JSON.h"

namespace blockscale {
#define GEN_PASS_DEF_EMITENTRIESPASS
#include "blockscale/Conversion/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct EmitEntries : blockscale::impl::EmitEntriesPassBase<EmitEntries> {
  using EmitEntriesPassBase::EmitEntriesPassBase;

  void runOnOperation() override;

private:
  LogicalResult emitEntry(LLVM::LLVMFuncOp function, ArrayAttr inputs,
                          ArrayAttr results);
  void emitManifest(llvm::json::Array entries);
};

} // namespace

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// As docs/Runtime.md names the types in memory.
static std::string storageName(Type type) {
  if (type.isInteger(8))
    return "u8";
  return textOf(type);
}

static llvm::json::Array sizesOf(ArrayRef<int64_t> shape) {
  llvm::json::Array sizes;
  for (int64_t size : shape)
    sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return sizes;
}

static llvm::json::Object describe(RankedTensorType type) {
  RankedTensorType storage = getStorageType(type);
  bool tiled = isa_and_present<Tiled128x4Attr>(type.getEncoding());
  // An encoding is named by `layout`; the type's text would need its dialect.
  auto plain = RankedTensorType::get(type.getShape(), type.getElementType());
  return llvm::json::Object{
      {"type", textOf(plain)},
      {"dtype", textOf(type.getElementType())},
      {"shape", sizesOf(type.getShape())},
      {"storage",
       llvm::json::Object{
           {"dtype", type.getElementType().isInteger(8)
                         ? "i8"
                         : storageName(storage.getElementType())},
           {"shape", sizesOf(storage.getShape())}}},
      {"layout", tiled ? "tiled_128x4" : "linear"}};
}

static llvm::json::Array describeAll(ArrayAttr types) {
  llvm::json::Array all;
  for (Type type : types.getAsValueRange<TypeAttr>())
    all.push_back(describe(cast<RankedTensorType>(type)));
  return all;
}

/// The kernels of every gpu.module and how they are launched.
static llvm::json::Array describeKernels(ModuleOp module) {
  llvm::json::Array kernels;
  for (auto device : module.getOps<gpu::GPUModuleOp>())
    for (auto kernel : device.getOps<LLVM::LLVMFuncOp>()) {
      auto shape = kernel->getAttrOfType<DictionaryAttr>("blockscale.launch");
      if (!shape)
        continue;
      auto number = [&](StringRef key) {
        return shape.getAs<IntegerAttr>(key).getInt();
      };
      kernels.push_back(llvm::json::Object{
          {"name", kernel.getSymName()},
          {"block", llvm::json::Array{number("block"), 1, 1}},
          {"cluster", llvm::json::Array{number("cluster"), 1, 1}},
          {"shared_bytes", number("shared")}});
    }
  return kernels;
}

LogicalResult EmitEntries::emitEntry(LLVM::LLVMFuncOp function,
                                     ArrayAttr inputs, ArrayAttr results) {
  Location loc = function.getLoc();
  OpBuilder builder(function);
  Type i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(&getContext()), {pointer});
  auto entry = LLVM::LLVMFuncOp::create(
      builder, loc, ("blockscale_entry_" + function.getSymName()).str(), type);
  builder.setInsertionPointToStart(entry.addEntryBlock(builder));
  Value args = entry.getArgument(0);
  auto argument = [&](int32_t index) -> Value {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, args,
                                     ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(builder, loc, pointer, slot);
  };
  // A descriptor lies in memory as two pointers and 1 + 2 rank words; the
  // function takes them one by one.
  SmallVector<Value> operands;
  for (auto [index, inputType] :
       llvm::enumerate(inputs.getAsValueRange<TypeAttr>())) {
    int64_t rank = getStorageType(cast<RankedTensorType>(inputType)).getRank();
    Value descriptor = argument(index + 1);
    for (int64_t word = 0; word < 3 + 2 * rank; ++word) {
      Value slot = LLVM::GEPOp::create(
          builder, loc, pointer, i64, descriptor,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(word)});
      operands.push_back(
          LLVM::LoadOp::create(builder, loc, word < 2 ? pointer : i64, slot));
    }
  }
  if (operands.size() != function.getNumArguments())
    return function.emitOpError("expects ")
           << operands.size() << " arguments, as its " << kEntryAttr
           << " says, but has " << function.getNumArguments();
  auto call = LLVM::CallOp::create(builder, loc, function, operands);
  if (!results.empty())
    LLVM::StoreOp::create(builder, loc, call.getResult(), argument(0));
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

void EmitEntries::emitManifest(llvm::json::Array entries) {
  llvm::json::Object manifest{{"version", 3},
                              {"target", target.getValue()},
                              {"entries", std::move(entries)}};
  if (target != "cpu")
    manifest["kernels"] = describeKernels(getOperation());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(manifest));
  text.push_back('\0');
  ModuleOp module = getOperation();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::External, "blockscale_manifest",
                         builder.getStringAttr(text));
}

void EmitEntries::runOnOperation() {
  llvm::json::Array entries;
  SmallVector<LLVM::LLVMFuncOp> functions(
      getOperation().getOps<LLVM::LLVMFuncOp>());
  for (LLVM::LLVMFuncOp function : functions) {
    if (function.isExternal())
      continue;
    auto entry = function->getAttrOfType<DictionaryAttr>(kEntryAttr);
    function.setLinkage(LLVM::Linkage::Internal);
    if (!entry)
      continue;
    auto inputs = entry.getAs<ArrayAttr>("inputs");
    auto results = entry.getAs<ArrayAttr>("results");
    if (!inputs || !results) {
      function.emitOpError("expects inputs and results in ") << kEntryAttr;
      return signalPassFailure();
    }
    if (failed(emitEntry(function, inputs, results)))
      return signalPassFailure();
    entries.push_back(llvm::json::Object{{"name", function.getSymName()},
                                         {"inputs", describeAll(inputs)},
                                         {"results", describeAll(results)}});
    function->removeAttr(kEntryAttr);
  }
  emitManifest(std::move(entries));
}
