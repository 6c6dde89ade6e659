//===-- Registration.h - What the tools know --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that lists dialects, passes and targets, so that every tool
// understands the same files.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_PIPELINE_REGISTRATION_H
#define BLOCKSCALE_PIPELINE_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace blockscale {

/// The blockscale dialect, every upstream dialect, and the interface
/// implementations that passes and translation to LLVM IR need.
void registerAllBlockScaleDialects(mlir::DialectRegistry &registry);

/// This project's passes and pipelines, targets included.
void registerAllBlockScalePasses();

/// Every pass and pipeline of upstream MLIR.
void registerUpstreamPasses();

} // namespace blockscale

#endif // BLOCKSCALE_PIPELINE_REGISTRATION_H
