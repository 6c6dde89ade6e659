//===-- Kernels.h - The CPU kernels, one function per op --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_CPU_KERNELS_H
#define BLOCKSCALE_LIB_TARGET_CPU_KERNELS_H

#include "blockscale/Target/CPU/KernelBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace blockscale::cpu {

/// A conversion pattern that puts its kernels into one KernelSet.
template <typename OpTy>
class KernelPattern : public mlir::OpConversionPattern<OpTy> {
public:
  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, KernelSet &kernels)
      : mlir::OpConversionPattern<OpTy>(converter, context), kernels(kernels) {}

protected:
  KernelSet &kernels;
};

/// Text that tells kernels apart: the parts, separated.
template <typename... Parts> std::string kernelKey(const Parts &...parts) {
  std::string key;
  llvm::raw_string_ostream os(key);
  ((os << parts << '|'), ...);
  return key;
}

void populateAmaxKernel(mlir::RewritePatternSet &patterns,
                        const mlir::TypeConverter &converter,
                        KernelSet &kernels);
void populateScaleKernel(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         KernelSet &kernels);
void populateQuantizeKernels(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             KernelSet &kernels);
void populateRotateKernel(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelSet &kernels);
void populateRelayoutKernel(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            KernelSet &kernels);
/// `vectorBits` and `useFMA` choose the register tile; they do not change bits
/// of the result.
void populateMatmulKernel(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelSet &kernels, unsigned vectorBits, bool useFMA);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_KERNELS_H
