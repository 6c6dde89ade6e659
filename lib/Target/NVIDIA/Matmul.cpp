//===-- Matmul.cpp - scaled_matmul on a GPU, and who can do it ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Matmul.h"
#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;

bool MatmulSide::hasTiledScales() const {
  return scalesType &&
         isa_and_present<Tiled128x4Attr>(scalesType.getEncoding());
}

unsigned MatmulSide::storageBits() const {
  return getStorageWidth(type.getElementType());
}

std::string MatmulSide::text() const {
  if (format) {
    std::string_view preset = format->presetName();
    return preset.empty() ? "<" + format->text() + ">" : std::string(preset);
  }
  std::string name;
  llvm::raw_string_ostream(name) << type.getElementType();
  return name;
}

std::string MatmulSide::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (format ? format->text() : "plain") << '|' << type.getElementType()
     << '|' << cols() << '|';
  if (scalesType)
    os << hasTiledScales() << '|';
  if (zerosType)
    os << isa_and_present<Tiled128x4Attr>(zerosType.getEncoding()) << '|';
  return text;
}

static std::optional<int64_t> staticSize(RankedTensorType type,
                                         int64_t fromRight) {
  int64_t size = type.getDimSize(type.getRank() - 1 - fromRight);
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  return size;
}

std::optional<int64_t> MatmulProblem::staticRows() const {
  return staticSize(epilogue.resultType, 1);
}
std::optional<int64_t> MatmulProblem::staticCols() const {
  return staticSize(epilogue.resultType, 0);
}

std::string MatmulProblem::key() const {
  return lhs.key() + "x" + rhs.key() + (rhsShared ? "shared|" : "|") +
         epilogue.key();
}

std::string MatmulTile::text() const {
  std::string text;
  llvm::raw_string_ostream(text) << "tile " << m << 'x' << n << 'x' << k
                                 << (operands.empty() ? "" : " of " + operands)
                                 << ", " << stages << " stages";
  return text;
}
