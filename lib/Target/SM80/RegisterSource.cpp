//===-- RegisterSource.cpp - A side through registers, as bf16 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RegisterSource.h"
#include "NibblesToBf16.h"

#include "blockscale/Conversion/IRValueBuilder.h"
#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Layout/ScaleLayout.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::sm80;

/// Elements of 16 bytes of bf16, the chunk of the swizzle.
static constexpr int64_t kChunk = 8;

namespace {
/// The index builder of the templates in Layout/ScaleLayout.h.
struct OffsetMath {
  using Value = mlir::Value;
  ThreadCode &code;
  Value add(Value a, Value b) { return code.add(a, b); }
  Value mul(Value a, int64_t b) { return code.mul(a, b); }
  Value div(Value a, int64_t b) { return code.div(a, b); }
  Value rem(Value a, int64_t b) { return code.rem(a, b); }
};
} // namespace

Value ScaleOffsets::offset(ThreadCode &code, Value batch, Value rows, Value row,
                           Value col) const {
  int64_t blockRows = side.format->blockRows, cols = side.scaleCols();
  Value scaleRow = code.div(row, blockRows);
  Value scaleRows = code.div(code.add(rows, blockRows - 1), blockRows);
  if (!tiled) {
    Value rowIndex = code.add(code.mul(code.wide(batch), code.wide(scaleRows)),
                              code.wide(scaleRow));
    return code.add(code.mul(rowIndex, cols), code.wide(col));
  }
  Value tileRows =
      code.div(code.add(scaleRows, kScaleTileRows - 1), kScaleTileRows);
  Value batchBytes =
      code.mul(code.wide(tileRows), tiledScaleBytes(kScaleTileRows, cols));
  OffsetMath math{code};
  return code.add(code.mul(code.wide(batch), batchBytes),
                  code.wide(tiledScaleOffset(math, scaleRow, col, cols)));
}

RegisterSource::RegisterSource(const MatmulSide &side, const TileShape &shape,
                               int64_t tileRows, const Chip &chip)
    : side(side), shape(shape), chip(chip), tileRows(tileRows), unit(kChunk) {
  if (!side.format)
    return;
  // The longest unit of at most 16 bytes that neither the row nor a block cuts.
  int64_t block = side.format->blockCols;
  for (int64_t longer : {16, 32})
    if (longer * side.storageBits() <= 128 && side.cols() % longer == 0 &&
        (block % longer == 0 || longer % block == 0))
      unit = longer;
}

bool RegisterSource::hasCodebook() const {
  return side.format &&
         side.format->element.kind == ElementType::Kind::Codebook;
}

int64_t RegisterSource::blocks() const {
  return std::max<int64_t>(1, unit / side.format->blockCols);
}

int64_t RegisterSource::registers() const {
  int64_t ofUnit = unit * side.storageBits() / 32;
  if (side.format)
    ofUnit += blocks() * (side.zerosType ? 2 : 1);
  // Eight elements are converted at a time: pairs of them where they are, or
  // as f32 beside what they come from.
  int64_t converted = hasFastNibbles(side) ? 0 : 2 * kChunk;
  return llvm::divideCeil(tileRows, rowsAtOnce()) * ofUnit + converted;
}

void RegisterSource::begin(ThreadCode &code, ValueRange pointers,
                           const TilePlace &at) {
  buffers.assign(pointers.begin(), pointers.end());
  place = at;
  unitCol = code.mul(code.rem(place.thread, unitsPerRow()), unit);
  offsetRow = code.div(place.thread, unitsPerRow());
  rows.clear();
  Value lastRow = code.add(place.rows, -1);
  for (int64_t first = 0; first < tileRows; first += rowsAtOnce())
    rows.push_back(code.min(
        code.add(code.add(place.firstRow, offsetRow), first), lastRow));
  if (hasCodebook()) {
    IRValueBuilder b(code.builder, code.loc);
    codebookValue =
        decodeElement(b, side.format->element, b.band(place.thread, b.i32(15)));
  }
}

/// One code of an 8, 16 or 32-bit scale or zero point, as i32.
static Value loadCode(ThreadCode &code, Value pointer, Type element,
                      Value index) {
  Type type = code.builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value loaded = code.load(type, code.element(pointer, type, index));
  if (type.isInteger(32))
    return loaded;
  return arith::ExtUIOp::create(code.builder, code.loc, code.i32(), loaded);
}

void RegisterSource::fetchCodes(ThreadCode &code, Value index,
                                SmallVectorImpl<Value> &fetched) {
  unsigned bits = side.storageBits();
  int64_t bytes = unit * bits / 8;
  Value byte = bits == 4 ? code.shr(index, 1) : index;
  Type type = VectorType::get({bytes / 4}, code.i32());
  if (bytes == 4)
    type = code.i32();
  llvm::append_range(
      fetched, code.unpack(code.load(type, code.at(buffers[0], byte), bytes)));
}

void RegisterSource::fetchReals(ThreadCode &code, Value rowStart, Value col,
                                SmallVectorImpl<Value> &fetched) {
  Type type = side.type.getElementType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  if (side.cols() % kChunk == 0) {
    // At most 16 bytes at a time.
    int64_t lanes = std::min<int64_t>(kChunk, 16 / bytes);
    for (int64_t lane = 0; lane < kChunk; lane += lanes) {
      Value index = code.add(rowStart, code.wide(code.add(col, lane)));
      llvm::append_range(
          fetched,
          code.unpack(code.load(VectorType::get({lanes}, type),
                                code.element(buffers[0], type, index), 16)));
    }
    return;
  }
  Value last = code.constant(side.cols() - 1);
  for (int64_t lane = 0; lane < kChunk; ++lane) {
    Value column = code.add(col, lane);
    Value index = code.add(rowStart, code.wide(code.min(column, last)));
    Value real = code.load(type, code.element(buffers[0], type, index));
    fetched.push_back(code.select(code.lt(column, code.constant(side.cols())),
                                  real, code.zero(type)));
  }
}

SmallVector<Value> RegisterSource::fetch(ThreadCode &code, Value step, Value) {
  SmallVector<Value> fetched;
  Value col = code.add(unitCol, code.mul(step, kTileK));
  Value inRow = code.lt(col, code.constant(side.cols()));
  // Columns past the end read the first ones.
  col = code.select(inRow, col, code.constant(0));
  for (Value row : rows) {
    Value rowStart = code.mul(
        code.add(code.mul(code.wide(place.batch), code.wide(place.rows)),
                 code.wide(row)),
        side.cols());
    if (!side.format) {
      fetchReals(code, rowStart, col, fetched);
      continue;
    }
    fetchCodes(code, code.add(rowStart, code.wide(col)), fetched);
    Value block = code.div(col, side.format->blockCols);
    auto fetchScales = [&](Value buffer, RankedTensorType type) {
      bool tiled = isa_and_present<Tiled128x4Attr>(type.getEncoding());
      Type element = getStorageType(type).getElementType();
      for (int64_t i = 0; i < blocks(); ++i)
        fetched.push_back(loadCode(
            code, buffer, element,
            ScaleOffsets{side, tiled}.offset(code, place.batch, place.rows, row,
                                             code.add(block, i))));
    };
    fetchScales(buffers[1], side.scalesType);
    if (side.zerosType)
      fetchScales(buffers[2], side.zerosType);
  }
  fetched.push_back(inRow);
  return fetched;
}

/// The type of elements that the chip converts to f16, where they all fit; null
/// for others.
static Type convertedElement(const Chip &chip, const ElementType &element,
                             MLIRContext *context) {
  if (chip.convertsFP8 && element == ElementType::floating(4, 3))
    return Float8E4M3FNType::get(context);
  if (chip.convertsFP8 && element == ElementType::floating(5, 2))
    return Float8E5M2Type::get(context);
  return {};
}

/// The f32 lanes of words of four such elements.
static Value convertedToF32(ThreadCode &code, ValueRange words, Type element) {
  OpBuilder &builder = code.builder;
  auto pairs =
      VectorType::get({2 * int64_t(words.size())}, builder.getI16Type());
  auto two = [&](Type type) { return VectorType::get({2}, type); };
  SmallVector<Value> lanes;
  for (Value pair :
       code.unpack(code.bitcast(code.pack(SmallVector<Value>(words)), pairs))) {
    Value halves = NVVM::ConvertF8x2ToF16x2Op::create(
        builder, code.loc, two(builder.getF16Type()),
        code.bitcast(pair, two(builder.getI8Type())),
        builder.getBoolAttr(false), TypeAttr::get(element));
    for (Value half : code.unpack(halves))
      lanes.push_back(code.toF32(half));
  }
  return code.pack(lanes);
}

Value RegisterSource::dequantize(ThreadCode &code, ValueRange words,
                                 ValueRange scales, ValueRange zeros,
                                 int64_t group) {
  const Format &format = *side.format;
  unsigned bits = side.storageBits();
  IRValueBuilder b(code.builder, code.loc);
  int64_t block = group * kChunk / format.blockCols;
  Value scale = decodeScale(b, format.scale, scales[block]);
  if (hasCodebook()) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < kChunk; ++lane)
      lanes.push_back(
          code.fromLaneOfHalf(codebookValue, code.shr(words[group], 4 * lane)));
    return b.fmul(code.pack(lanes), scale);
  }
  if (Type element =
          convertedElement(chip, format.element, code.builder.getContext()))
    return b.fmul(convertedToF32(code, words.slice(2 * group, 2), element),
                  scale);
  Value codes;
  if (bits == 4) {
    std::vector<uint32_t> shifts;
    for (uint32_t lane = 0; lane < kChunk; ++lane)
      shifts.push_back(4 * lane);
    codes = b.band(b.lshr(words[group], b.laneConstants(shifts)), b.i32(15));
  } else {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < kChunk; ++lane)
      lanes.push_back(
          b.band(b.lshr(words[2 * group + lane / 4], b.i32(8 * (lane % 4))),
                 b.i32(255)));
    codes = vector::FromElementsOp::create(
        code.builder, code.loc, VectorType::get({kChunk}, code.i32()), lanes);
  }
  Value values;
  if (format.zero == ZeroPoint::None)
    values = decodeElement(b, format.element, codes);
  else
    values =
        decodeWithZero(b, format, codes, loadZero(b, format, zeros[block]));
  return b.fmul(values, scale);
}

SmallVector<Value> RegisterSource::convert(ThreadCode &code, ValueRange part,
                                           int64_t group) {
  SmallVector<Value> lanes;
  if (side.format) {
    ValueRange words = part.take_front(unit * side.storageBits() / 32);
    ValueRange scales = part.slice(words.size(), blocks());
    ValueRange zeros = part.drop_front(words.size() + blocks());
    if (hasFastNibbles(side)) {
      IRValueBuilder b(code.builder, code.loc);
      Value scale =
          decodeScale(b, side.format->scale,
                      scales[group * kChunk / side.format->blockCols]);
      return nibblesToBf16(code, side.format->element, words[group], scale);
    }
    lanes = code.unpack(dequantize(code, words, scales, zeros, group));
  } else {
    for (Value real : part)
      lanes.push_back(code.toF32(real));
  }
  SmallVector<Value> packed;
  for (int64_t pair = 0; pair < kChunk; pair += 2) {
    Value bf16x2 = NVVM::ConvertF32x2ToBF16x2Op::create(
        code.builder, code.loc,
        VectorType::get({2}, code.builder.getBF16Type()), lanes[pair + 1],
        lanes[pair], Value(), NVVM::FPRoundingMode::RN);
    packed.push_back(code.bitcast(bf16x2, code.i32()));
  }
  return packed;
}

void RegisterSource::store(ThreadCode &code, ValueRange fetched, Value stage) {
  Value inRow = fetched.back();
  fetched = fetched.drop_back();
  auto storeAll = [&](ThreadCode &inner) {
    size_t perUnit = fetched.size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      ValueRange part = fetched.slice(i * perUnit, perUnit);
      Value row = inner.add(offsetRow, i * rowsAtOnce());
      for (int64_t group = 0; group < unit / kChunk; ++group) {
        SmallVector<Value> packed = convert(inner, part, group);
        // A code of zero need not be the number zero.
        if (hasTail())
          for (Value &word : packed)
            word = inner.select(inRow, word, inner.constant(0));
        Value chunk = inner.add(inner.div(unitCol, kChunk), group);
        inner.store(inner.pack(packed),
                    inner.at(stage, swizzledOffset(inner, shape, row, chunk)),
                    16);
      }
    }
  };
  if (tileRows * unitsPerRow() < shape.threads())
    code.branch(code.lt(place.thread, code.constant(tileRows * unitsPerRow())),
                storeAll);
  else
    storeAll(code);
}
