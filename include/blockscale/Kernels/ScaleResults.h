//===-- ScaleResults.h - What scale and quantize leave behind ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_SCALERESULTS_H
#define BLOCKSCALE_KERNELS_SCALERESULTS_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Numerics/Format.h"

#include <optional>

namespace blockscale::kernels {

struct BlockChoice;
struct Rotation;
struct ScaleItems;
struct ScaleKernel;

/// Whether a value that is used after `at`, in its block, is there before it.
bool isDefinedBefore(mlir::Value value, mlir::Operation *at);
/// The quantizations of the same source by the results of `scale` that can
/// happen where `at` stands: what else they read is there already.
llvm::SmallVector<QuantizeOp> fusableQuantizations(ScaleOp scale,
                                                   mlir::Operation *at);
/// A tensor in place of a result that nothing reads.
mlir::Value emptyTensor(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Type type, llvm::ArrayRef<mlir::Value> sizes);

/// The results of a `scale`, and of the quantizations of the same source that
/// can be done while a block of it and its scale are at hand: by the kernel of
/// `scale`, or by the one that computes the source.
///
/// On the host: allocate(), give a kernel buffers() as arguments, launch it,
/// replace(). In the kernel: makeKernel() or emitBlock(), `args` being those
/// arguments.
class ScaleResults {
public:
  /// What can happen where the operation `at` stands: other operands than its
  /// results are there already.
  ScaleResults(ScaleOp scale, mlir::Operation *at);

  ScaleOp getScale() const { return scale; }
  /// Whether `op` is `scale` or one of the quantizations.
  bool contains(mlir::Operation *op) const;

  /// `sizes` are the source's, `amax` the flat buffer of its largest magnitude
  /// or null, for a format without tensor scale.
  void allocate(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc,
                KernelSet &kernelSet, llvm::ArrayRef<mlir::Value> sizes,
                mlir::Value amax);
  llvm::ArrayRef<mlir::Value> buffers() const { return args.values; }
  /// Text that decides the code.
  std::string key() const;
  /// Replaces the ops. After the launch.
  void replace(mlir::ConversionPatternRewriter &rewriter);

  ScaleKernel makeKernel(const KernelSet &kernelSet, mlir::ValueRange args,
                         const BlockChoice &choice, const ScaleItems &items,
                         const std::optional<Rotation> &rotation,
                         mlir::Value rows) const;
  /// Stores the scale and codes of the block (`row`, `blockCol`) of a batch of
  /// `rows` rows, whose values are the f32 lanes `x`; all indices. For blocks
  /// of one row.
  void emitBlock(mlir::OpBuilder &builder, mlir::Location loc,
                 const KernelSet &kernelSet, mlir::ValueRange args,
                 mlir::Value x, mlir::Value batch, mlir::Value rows,
                 mlir::Value row, mlir::Value blockCol) const;

private:
  /// A quantization, and where its buffers are among the arguments.
  struct Fused {
    QuantizeOp op;
    size_t elements = 0;
    std::optional<size_t> seed = std::nullopt;
    mlir::Value result = {};
  };
  const Format &format() const { return getScale().getFormat().getValue(); }

  ScaleOp scale;
  llvm::SmallVector<Fused> fused;
  KernelArgs args;
  size_t scales = 0;
  std::optional<size_t> zeros, factors, level;
  llvm::SmallVector<mlir::Value> results; ///< Of `scale`; some may be null.
  llvm::SmallVector<mlir::Value> scaleSizes;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_SCALERESULTS_H
