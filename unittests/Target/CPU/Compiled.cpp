//===-- Compiled.cpp - MLIR text to a callable function, in process -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compiled.h"

#include "blockscale/Pipeline/Pipeline.h"
#include "blockscale/Pipeline/Registration.h"
#include "blockscale/Target/CPU/Codegen.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace blockscale;
using namespace blockscale::test;

mlir::MLIRContext &test::sharedContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllBlockScaleDialects(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

Compiled::Compiled(const std::string &text) { compile(text); }

void Compiled::compile(const std::string &text) {
  mlir::MLIRContext &context = sharedContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  auto processor = cpu::Processor::fromName("native");
  ASSERT_TRUE(bool(processor));
  CPUPipelineOptions options;
  options.vectorBits = processor->vectorBits();
  options.useFMA = processor->hasFMA();
  mlir::PassManager passes(&context);
  addCPUPipeline(passes, options);
  ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << text;
  llvm::LLVMContext llvmContext;
  auto translated = cpu::translate(*module, llvmContext, *processor);
  ASSERT_TRUE(translated);
  auto object = cpu::emitObject(*translated, *processor);
  ASSERT_TRUE(bool(object));
  // The archive's directory is compiled in, see CMakeLists.txt.
  auto linked = cpu::linkShared(*object, "libblockscale_cpu.a",
                                BLOCKSCALE_TEST_TOOL_PATH);
  ASSERT_TRUE(bool(linked)) << llvm::toString(linked.takeError());
  llvm::SmallString<128> path;
  int descriptor;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("blockscale-test", "so",
                                                  descriptor, path));
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << *linked;
  std::string error;
  library = runtime::Library::open(
      path.str().str(), runtime::Device::create("cpu", error), error);
  llvm::sys::fs::remove(path);
  ASSERT_TRUE(library) << error;
}

std::vector<runtime::Tensor>
Compiled::operator()(const std::vector<runtime::TensorView> &inputs) const {
  std::string error;
  auto results =
      library->call(library->manifest().entries.at(0), inputs, error);
  if (!results) {
    ADD_FAILURE() << error;
    return {};
  }
  return std::move(*results);
}

runtime::TensorView test::view(runtime::DataType type, const void *data,
                               std::vector<int64_t> shape) {
  runtime::TensorView result;
  result.type = type;
  result.shape = std::move(shape);
  result.data = data;
  return result;
}

runtime::TensorView test::view(const std::vector<float> &values,
                               std::vector<int64_t> shape) {
  return view(runtime::DataType::F32, values.data(), std::move(shape));
}

std::vector<uint32_t> test::codesOf(const runtime::Tensor &tensor,
                                    unsigned width) {
  std::vector<uint32_t> codes;
  size_t size = runtime::size(tensor.type());
  for (int64_t i = 0; i < tensor.count(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.data() + i * size, size);
    if (width == 4) {
      codes.push_back(bits & 15);
      codes.push_back(bits >> 4);
    } else {
      codes.push_back(bits);
    }
  }
  return codes;
}
