//===-- Patterns.h - The ops that lib/Kernels lowers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_PATTERNS_H
#define BLOCKSCALE_KERNELS_PATTERNS_H

#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Kernels/KernelSet.h"
#include "mlir/Transforms/DialectConversion.h"

namespace blockscale::kernels {

/// A conversion pattern that puts its kernels into one KernelSet.
template <typename OpTy>
class KernelPattern : public mlir::OpConversionPattern<OpTy> {
public:
  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, KernelSet &kernelSet)
      : mlir::OpConversionPattern<OpTy>(converter, context),
        kernelSet(kernelSet) {}

protected:
  KernelSet &kernelSet;
};

/// The arguments of a kernel, some of them optional.
struct KernelArgs {
  llvm::SmallVector<mlir::Value> values;

  /// Adds `value` if there is one; its position, or nothing.
  std::optional<size_t> add(mlir::Value value) {
    if (!value)
      return std::nullopt;
    values.push_back(value);
    return values.size() - 1;
  }
  llvm::SmallVector<mlir::Type> types() const {
    return llvm::SmallVector<mlir::Type>(mlir::ValueRange(values).getTypes());
  }
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
                        KernelSet &kernelSet);
void populateScaleKernel(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         KernelSet &kernelSet);
void populateQuantizeKernels(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             KernelSet &kernelSet);
void populateRotateKernel(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          KernelSet &kernelSet);
/// Rotations by a matrix; populateRotateKernel is for Hadamard's.
void populateMatrixRotateKernel(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter,
                                KernelSet &kernelSet);
/// derive_seed, random_signs.
void populateSeedKernels(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         KernelSet &kernelSet);
/// fake_quantize, quantization_error, mask_clipped.
void populateSimulationKernels(mlir::RewritePatternSet &patterns,
                               const mlir::TypeConverter &converter,
                               KernelSet &kernelSet);
void populateMaskKernels(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         KernelSet &kernelSet);
void populateRelayoutKernel(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            KernelSet &kernelSet);
void populateBalanceKernel(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           KernelSet &kernelSet);

/// All of the above: every op but scaled_matmul.
void populateKernels(mlir::RewritePatternSet &patterns,
                     const mlir::TypeConverter &converter,
                     KernelSet &kernelSet);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_PATTERNS_H
