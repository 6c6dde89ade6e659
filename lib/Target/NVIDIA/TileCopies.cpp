//===-- TileCopies.cpp - Tiles into shared memory, and out of it ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/TiledMatmul.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;

bool TileShape::isPossible() const {
  return llvm::isPowerOf2_64(m) && llvm::isPowerOf2_64(n) && m >= 16 &&
         m <= 128 && n >= 64 && n <= 128 && stages >= 2 &&
         (rowBytes == 64 || rowBytes == 128);
}

/// f(row) of the header.
static Value swizzleOf(ThreadCode &code, Value row, int64_t rowBytes) {
  if (rowBytes == 64)
    return code.band(code.shr(row, 1), 3);
  return code.band(row, 7);
}

Value nvidia::swizzledOffset(ThreadCode &code, const TileShape &shape,
                             Value row, Value chunk) {
  Value position = code.bxor(chunk, swizzleOf(code, row, shape.rowBytes));
  return code.add(code.mul(row, shape.rowBytes), code.shl(position, 4));
}

void FragmentLoader::begin(ThreadCode &code, Value lane, Value warpRow,
                           Value warpCol) {
  // A: matrices 0 and 1 are rows 0-7 and 8-15 of the first 16 bytes, 2 and 3
  // the same of the next 16.
  Value row = code.band(lane, 15);
  rowA = code.mul(code.add(warpRow, row), shape.rowBytes);
  chunkA = code.shl(
      code.bxor(code.shr(lane, 4), swizzleOf(code, row, shape.rowBytes)), 4);
  // B: matrices 0 and 1 are the two halves of rows 0-7, 2 and 3 of rows 8-15.
  row = code.add(code.band(lane, 7), code.shl(code.shr(lane, 4), 3));
  rowB = code.mul(code.add(warpCol, row), shape.rowBytes);
  chunkB = code.shl(code.bxor(code.band(code.shr(lane, 3), 1),
                              swizzleOf(code, row, shape.rowBytes)),
                    4);
}

SmallVector<Value> FragmentLoader::loadA(ThreadCode &code, Value stage,
                                         int64_t i, int64_t step,
                                         unsigned packedBits) {
  Value chunk = code.bxor(chunkA, code.constant(step * 32));
  Value address =
      code.at(code.at(stage, code.add(rowA, chunk)), i * 16 * shape.rowBytes);
  return code.loadMatrices(address, 4, packedBits);
}

SmallVector<Value> FragmentLoader::loadB(ThreadCode &code, Value stage,
                                         int64_t j, int64_t step,
                                         unsigned packedBits) {
  Value chunk = code.bxor(chunkB, code.constant(step * 32));
  Value address =
      code.at(code.at(stage, code.add(rowB, chunk)), j * 8 * shape.rowBytes);
  return code.loadMatrices(address, 4, packedBits);
}

void FragmentMultiplier::multiply(ThreadCode &code, Value stageA, Value stageB,
                                  MutableArrayRef<Value> sums) {
  Type result = LLVM::LLVMStructType::getLiteral(
      code.builder.getContext(), SmallVector<Type>(4, code.f32()));
  for (int64_t step = 0; step < shape.steps(); ++step) {
    beginStep(code, stageA, stageB, step);
    SmallVector<Registers> a, b;
    for (int64_t i = 0; i < shape.fragmentsM(); ++i)
      a.push_back(loadA(code, stageA, i, step));
    for (int64_t j = 0; j < shape.fragmentsN(); j += 2) {
      Registers pair = loadB(code, stageB, j, step);
      b.push_back({pair[0], pair[1]});
      b.push_back({pair[2], pair[3]});
    }
    for (int64_t i = 0; i < shape.fragmentsM(); ++i)
      for (int64_t j = 0; j < shape.fragmentsN(); ++j) {
        MutableArrayRef<Value> sum =
            sums.slice((i * shape.fragmentsN() + j) * 4, 4);
        Value next = mma(code, result, a[i], b[j], sum, i, j);
        for (int64_t element = 0; element < 4; ++element)
          sum[element] = LLVM::ExtractValueOp::create(code.builder, code.loc,
                                                      next, element);
      }
  }
}

CopySource::CopySource(const TileShape &shape, int64_t tileRows,
                       int64_t strideBytes, int64_t filledBytes)
    : shape(shape), tileRows(tileRows), strideBytes(strideBytes),
      filledBytes(filledBytes),
      pieceBytes(std::min(filledBytes, strideBytes & -strideBytes)) {
  assert(pieceBytes >= 4 && "rows of words");
}

void CopySource::begin(ThreadCode &code, ValueRange buffers,
                       const TilePlace &place) {
  int64_t chunks = shape.rowBytes / 16;
  thread = place.thread;
  Value row = code.div(thread, chunks), chunk = code.rem(thread, chunks);
  offset = swizzledOffset(code, shape, row, chunk);
  kByte = code.mul(chunk, filledBytes);
  Value firstRow = code.add(place.firstRow, row);
  Value rowIndex =
      code.add(code.mul(code.wide(place.batch), code.wide(place.rows)),
               code.wide(firstRow));
  pointer = code.at(
      buffers[0], code.add(code.mul(rowIndex, strideBytes), code.wide(kByte)));
  int64_t rowsAtOnce = shape.threads() / chunks;
  rowPresent.clear();
  for (int64_t first = 0; first < tileRows; first += rowsAtOnce)
    rowPresent.push_back(code.lt(code.add(firstRow, first), place.rows));
}

SmallVector<Value> CopySource::fetch(ThreadCode &code, Value step,
                                     Value stage) {
  int64_t chunks = shape.rowBytes / 16;
  int64_t rowsAtOnce = shape.threads() / chunks;
  auto copy = [&](ThreadCode &inner) {
    Value start = inner.mul(step, chunks * filledBytes);
    Value from = inner.at(pointer, inner.wide(start));
    Value column = inner.add(kByte, start);
    Value to = inner.at(stage, offset);
    for (int64_t piece = 0; piece < filledBytes; piece += pieceBytes) {
      Value inRow =
          inner.lt(inner.add(column, piece), inner.constant(strideBytes));
      for (auto [index, present] : llvm::enumerate(rowPresent)) {
        int64_t first = index * rowsAtOnce;
        inner.copyAsync(
            inner.at(to, first * shape.rowBytes + piece),
            inner.at(from, inner.constant64(first * strideBytes + piece)),
            pieceBytes, inner.band(present, inRow));
      }
    }
  };
  if (tileRows * chunks < shape.threads())
    code.branch(code.lt(thread, code.constant(tileRows * chunks)), copy);
  else
    copy(code);
  return {};
}
