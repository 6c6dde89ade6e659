//===-- BlockScaleOps.td - All blockscale operations -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_OPS_TD
#define BLOCKSCALE_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"
include "blockscale/Dialect/BlockScale/IR/TransformOps.td"
include "blockscale/Dialect/BlockScale/IR/MatmulOps.td"
include "blockscale/Dialect/BlockScale/IR/RandomOps.td"
include "blockscale/Dialect/BlockScale/IR/SimulationOps.td"
include "blockscale/Dialect/BlockScale/IR/LinearOps.td"

#endif // BLOCKSCALE_OPS_TD
