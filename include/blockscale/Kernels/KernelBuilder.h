//===-- KernelBuilder.h - Index arithmetic, loops, flat buffers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_KERNELBUILDER_H
#define BLOCKSCALE_KERNELS_KERNELBUILDER_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace blockscale::kernels {

/// Index arithmetic that reads like arithmetic.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, constant(b)); }
  mlir::Value div(mlir::Value a, int64_t b) { return div(a, constant(b)); }
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, int64_t b) { return rem(a, constant(b)); }
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// scf.for over [lower, upper) by `step`; `body` gets the induction variable.
void forRange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower,
              mlir::Value upper, int64_t step,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// `buffer` as memref<?xT>.
mlir::Value flatten(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value buffer);
/// memref<?x`element`>.
mlir::MemRefType flatType(mlir::Type element);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_KERNELBUILDER_H
