//===-- RandomOps.cpp - derive_seed, random_signs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Seeds.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace blockscale;

static std::optional<uint64_t> constantSeed(Attribute seed) {
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(seed);
  if (!dense)
    return std::nullopt;
  return *dense.value_begin<uint64_t>();
}

/// op_c15
LogicalResult DeriveSeedOp::verify() {
  int64_t site = getSite();
  if (site < 0 || site >= kMaxSites)
    return emitOpError("expects a site from 0 to ")
           << kMaxSites - 1 << ", but got " << site;
  return success();
}

/// random_c4
OpFoldResult DeriveSeedOp::fold(FoldAdaptor adaptor) {
  auto seed = constantSeed(adaptor.getSeed());
  auto iteration = dyn_cast_or_null<IntegerAttr>(adaptor.getIteration());
  if (!seed || (getIteration() && !iteration))
    return {};
  return DenseElementsAttr::get(
      getType(),
      deriveSeed(*seed, getSite(), iteration ? iteration.getInt() : 0));
}

/// op_c15
LogicalResult RandomSignsOp::verify() {
  int64_t count = getResult().getType().getDimSize(0);
  if (ShapedType::isDynamic(count) || count < 2 || count > 256)
    return emitOpError("expects a static number of signs from 2 to 256, but "
                       "got ")
           << getResult().getType();
  return success();
}

/// random_c5
OpFoldResult RandomSignsOp::fold(FoldAdaptor adaptor) {
  auto seed = constantSeed(adaptor.getSeed());
  if (!seed)
    return {};
  auto type = getResult().getType();
  return DenseElementsAttr::get(
      type, ArrayRef<int8_t>(randomSigns(*seed, type.getDimSize(0))));
}
