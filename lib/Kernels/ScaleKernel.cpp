//===-- ScaleKernel.cpp - Scales, and elements in the same pass -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScaleKernel.h"
#include "RowWalk.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

void ScaleKernel::emitElements(IRValueBuilder &b, const BlockRows &block,
                               Value blockCol, const Candidate<Value> &chosen,
                               const FusedElements &target) const {
  const Format &format = choice.format;
  std::optional<Value> zero, tensor;
  if (format.zero != ZeroPoint::None) // As it reads from memory.
    zero = loadZero(b, format, storeZero(b, format, chosen.zero));
  if (format.hasTensorScale)
    tensor = choice.level.decode;
  Value factor = target.byFactor ? chosen.encode
                                 : divisor(b, format, chosen.scaleCode, tensor);
  std::pair<Value, Value> seedWords;
  if (target.seed)
    seedWords = loadSeed(b.getBuilder(), b.getLoc(), target.seed);
  choice.overRows(
      b.getBuilder(), b.getLoc(), block, {},
      [&](IRValueBuilder &b, Value row, Value x,
          ValueRange) -> SmallVector<Value> {
        IndexMath at(b.getBuilder(), b.getLoc());
        Value index =
            at.add(at.mul(at.add(block.firstRow, row), target.paddedCols),
                   at.mul(blockCol, format.blockCols));
        std::optional<Value> random;
        if (target.seed)
          random = randomLanesAt(b, index, format.blockCols, seedWords);
        Value codes =
            target.byFactor
                ? encodeByFactor(b, format, x, factor, target.rounding, random)
                : encodeByScale(b, format, x, factor, zero, target.rounding,
                                random);
        storeCodes(b, codes, target.elements, index, format.element.width(),
                   target.alignment);
        return {};
      });
}

void ScaleKernel::emitBlock(OpBuilder &builder, Location loc,
                            const BlockRows &block, Value blockCol) const {
  IRValueBuilder b(builder, loc);
  Candidate<Value> chosen = choice.choose(builder, loc, block);
  // Before other stores, so that the values need not be loaded again.
  for (const FusedElements &target : fused)
    emitElements(b, block, blockCol, chosen, target);
  storeScalarCode(b, chosen.scaleCode, scales,
                  scaleAddress.offset(builder, loc, block.batch,
                                      block.blockRows, block.blockRow,
                                      blockCol));
  Value factorIndex = factorAddress.offset(
      builder, loc, block.batch, block.blockRows, block.blockRow, blockCol);
  if (zeros)
    storeScalarCode(b, storeZero(b, choice.format, chosen.zero), zeros,
                    factorIndex);
  if (factors)
    storeScalarCode(b, b.asInt(chosen.encode), factors, factorIndex);
}

void ScaleKernel::emitLevel(OpBuilder &builder, Location loc) {
  if (level)
    choice.setStoredLevel(builder, loc, level);
  else
    choice.setLevel(builder, loc, {});
}

void ScaleKernel::emit(OpBuilder &builder, Location loc, Value begin,
                       Value end) {
  emitLevel(builder, loc);
  forEachBlock(
      builder, loc, itemSize, begin, end, choice.cols, choice.format.blockCols,
      [&](OpBuilder &inner, Value item, Value blockCol, int64_t valid) {
        BlockRows block =
            choice.rowsOf(inner, loc, rows, item, blockCol, valid);
        emitBlock(inner, loc, block, blockCol);
      });
}
