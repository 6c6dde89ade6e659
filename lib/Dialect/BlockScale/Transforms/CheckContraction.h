//===-- CheckContraction.h - Which contractions a layer can have -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CHECKCONTRACTION_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CHECKCONTRACTION_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

namespace blockscale {

/// recipe_c2: the contraction of `extent` is a whole number of rotations, and
/// padded alike on both sides; what is reused of the forward product fits K.
llvm::LogicalResult checkContraction(LinearOp op, int64_t extent);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CHECKCONTRACTION_H
