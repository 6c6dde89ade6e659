//===-- ProductKernel.cpp - How a product's kernel is made ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProductKernel.h"

#include "blockscale/Kernels/KernelBuilder.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

SmallVector<Type> sm90::productTypes(MLIRContext *context, int64_t buffers) {
  SmallVector<Type> types(2, LLVM::LLVMPointerType::get(context));
  types.append(buffers, ThreadCode::globalPointer(context));
  types.append(3, IndexType::get(context));
  return types;
}

LaunchShape sm90::soleBlock(int64_t threads, int64_t sharedBytes) {
  LaunchShape shape;
  shape.threads = static_cast<int32_t>(threads);
  shape.sharedBytes = static_cast<int32_t>(sharedBytes);
  shape.resident = 1;
  return shape;
}

void sm90::launchInTurns(OpBuilder &builder, Location loc,
                         GPUKernelSet &kernelSet, func::FuncOp kernel,
                         const MatmulProblem &problem, Value tiles,
                         SmallVector<Value> arguments) {
  IndexMath math(builder, loc);
  Value blocks =
      math.min(tiles, math.constant(kernelSet.getChip().multiprocessors));
  arguments.append({problem.rows, problem.cols, problem.batch});
  llvm::append_range(arguments, problem.epilogue.arguments());
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
}
