//===-- ProductKernel.h - How a product's kernel is made --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the persistent kernels for many rows share on their way in: the order of
// their arguments, the shape of their blocks, and how many of these start.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_PRODUCTKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_PRODUCTKERNEL_H

#include "HopperCode.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"
#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// The types of a kernel's arguments: the tensor maps of A and B, `buffers`
/// pointers to global memory, M, N, batches (index). The epilogue's come last.
llvm::SmallVector<mlir::Type> productTypes(mlir::MLIRContext *context,
                                           int64_t buffers);

/// A block that has a multiprocessor to itself: setmaxnreg needs a known number
/// of registers at the start.
nvidia::LaunchShape soleBlock(int64_t threads, int64_t sharedBytes);

/// A kernel whose body is a class `Body` that is made of the code, the kernel's
/// plan, the problem, the epilogue and the arguments, and has emit().
struct ProductKernel {
  llvm::StringRef name;
  std::string key;
  llvm::SmallVector<mlir::Type> types; ///< Without the epilogue's.
  nvidia::LaunchShape shape;

  template <typename Body, typename Plan, typename Problem>
  mlir::func::FuncOp make(nvidia::GPUKernelSet &kernelSet, mlir::Location loc,
                          const Plan &plan, const Problem &problem,
                          const nvidia::MatmulEpilogue &epilogue) const {
    llvm::SmallVector<mlir::Type> all(types);
    llvm::append_range(all, epilogue.argumentTypes());
    return kernelSet.getOrCreateRaw(
        loc, name, key, all, shape,
        [&](mlir::OpBuilder &builder, mlir::Location loc,
            mlir::ValueRange args) {
          Body(HopperCode(builder, loc), plan, problem, epilogue, args).emit();
        });
  }
};

/// Starts a kernel whose blocks take `tiles` tiles of the result in turns.
/// `arguments`: those before M.
void launchInTurns(mlir::OpBuilder &builder, mlir::Location loc,
                   nvidia::GPUKernelSet &kernelSet, mlir::func::FuncOp kernel,
                   const nvidia::MatmulProblem &problem, mlir::Value tiles,
                   llvm::SmallVector<mlir::Value> arguments);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PRODUCTKERNEL_H
