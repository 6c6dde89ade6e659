//===-- Patterns.cpp - The ops that lib/Kernels lowers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/Patterns.h"

using namespace mlir;
using namespace blockscale;

void kernels::populateKernels(RewritePatternSet &patterns,
                              const TypeConverter &converter,
                              KernelSet &kernelSet) {
  populateAmaxKernel(patterns, converter, kernelSet);
  populateScaleKernel(patterns, converter, kernelSet);
  populateQuantizeKernels(patterns, converter, kernelSet);
  populateRotateKernel(patterns, converter, kernelSet);
  populateMatrixRotateKernel(patterns, converter, kernelSet);
  populateSeedKernels(patterns, converter, kernelSet);
  populateSimulationKernels(patterns, converter, kernelSet);
  populateMaskKernels(patterns, converter, kernelSet);
  populateRelayoutKernel(patterns, converter, kernelSet);
  populateBalanceKernel(patterns, converter, kernelSet);
}
