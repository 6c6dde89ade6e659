//===-- DecodeKernel.cpp - Few tokens times packed weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few tokens the product is the reading of the weights. Each byte of them
// comes once, by 16-byte asynchronous copies (a *run* along k) through a ring
// in shared memory that is private to each thread: many copies are under way
// and nobody waits for anybody. The four threads of a quad hold four
// neighbouring runs, a *chunk*: an mma's k order is free as long as both
// operands agree, so the bf16 values of a run feed several mma in the order in
// which dequantizing finds them, and the activations lie in shared memory in
// that order.
//
// Weights are the mma's A operand (16 rows of B), tokens its columns. A block
// keeps the activations and goes through tiles of rows; the ring runs on from
// tile to tile. K is split over the warps of a block and the blocks of a
// cluster, which add up in a fixed order: results do not depend on timing.
//
//===----------------------------------------------------------------------===//
#include "DecodeKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

/// Floats between the tokens of a block's sums, beyond its rows: makes the
/// stores of the four threads of a quad hit different banks.
static constexpr int64_t kSumsPadding = 4;
/// Bytes between units of activations, beyond their fragments: likewise.
static constexpr int64_t kUnitPadding = 32;
/// Chunks of a tile up to which the loop over them is straight code.
static constexpr int64_t kStraightChunks = 8;

namespace {

/// How K and shared memory are divided.
struct DecodeLayout {
  DecodeLayout(const DecodePlan &plan, const DecodeProblem &problem);

  int64_t run, chunk;     ///< Elements of a thread's run and of a quad's.
  int64_t chunks;         ///< Of K.
  int64_t chunksPerWarp;  ///< Of a warp's part of K.
  int64_t chunksPerBlock; ///< Of a block's part.
  bool exact;             ///< No chunk is empty or partial.
  int64_t units;          ///< Groups of 8 elements in a run.
  int64_t unitStride;     ///< Bytes of the activations of a unit.
  int64_t scaleColumns;   ///< Scales of a row and a warp's part of K.
  int64_t scaleStride;    ///< Bytes between them.
  int64_t scaleCopy;      ///< Bytes of scales copied at a time: 16, 4 or 1.
  int64_t stageBytes;     ///< One chunk of a warp's rows.
  int64_t scaleBytes;     ///< The scales of a warp's rows in one tile.
  int64_t scalesOffset, ringOffset, sumsOffset, sharedBytes;
};

/// What a thread reads of a tile.
struct TileRows {
  SmallVector<Value> weights; ///< Per row, at the warp's part of K.
  Value firstRow;             ///< Of the tile.
  Value present;              ///< Whether there is such a tile.
};

class DecodeBody {
public:
  DecodeBody(HopperCode code, const DecodePlan &plan,
             const DecodeProblem &problem, const MatmulEpilogue &epilogue,
             ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan, problem),
        format(problem.format), epilogue(epilogue), args(args),
        scaleAddress(problem.scalesType) {}
  void emit();

private:
  int64_t tokenTiles() const { return llvm::divideCeil(plan.tokens, 8); }
  int64_t rowsPerThread() const { return 2 * plan.rowTiles; }
  int64_t numSums() const { return plan.rowTiles * tokenTiles() * 4; }

  void locate();
  TileRows rowsOf(HopperCode &c, Value tile) const;
  void copyScales(HopperCode &c, const TileRows &rows, Value parity) const;
  void copyChunk(HopperCode &c, const TileRows &rows, Value chunk,
                 Value slot) const;
  void stageTokens();
  void storeTokens(HopperCode &c, ArrayRef<Value> words, Value token,
                   Value unit) const;
  SmallVector<Value> multiply(HopperCode &c, Value chunk, Value slot,
                              Value scales, ArrayRef<Value> sums) const;
  Value multiplyTile(HopperCode &c, const TileRows &now, const TileRows &next,
                     Value slot, Value parity, SmallVector<Value> &sums) const;
  void writeSums(HopperCode &c, ArrayRef<Value> sums) const;
  void finish(HopperCode &c, Value firstRow,
              const MatmulEpilogue::State &state) const;
  void syncBlocks(HopperCode &c) const {
    if (plan.cluster > 1)
      c.clusterBarrier();
    else
      c.barrier();
  }
  /// The slot after `slot`.
  Value nextSlot(HopperCode &c, Value slot) const {
    Value next = c.add(slot, layout.stageBytes);
    return c.select(c.eq(next, c.constant(plan.depth * layout.stageBytes)),
                    c.constant(0), next);
  }
  Value toIndex(HopperCode &c, Value value) const {
    return arith::IndexCastUIOp::create(c.builder, c.loc,
                                        c.builder.getIndexType(), value);
  }

  HopperCode code;
  const DecodePlan &plan;
  const DecodeProblem &problem;
  DecodeLayout layout;
  const WeightFormat &format;
  const MatmulEpilogue &epilogue;
  ValueRange args;
  kernels::ScaleAddress scaleAddress;

  Value thread, lane, group, quad; ///< group = lane / 4, quad = lane % 4.
  Value warpK;                     ///< Which part of K within the block.
  Value warpRow;                   ///< The warp's first row in a tile.
  Value rank, firstChunk;          ///< The block's part of K.
  Value firstToken;
  Value rowsM, rowsN;
  Value batch, weightBatch;
  Value shared, ring, scaleArea;
  MatmulEpilogue::State state;
};

} // namespace

DecodeLayout::DecodeLayout(const DecodePlan &plan,
                           const DecodeProblem &problem) {
  const WeightFormat &format = problem.format;
  int64_t block = format.block();
  run = format.run();
  chunk = 4 * run;
  chunks = llvm::divideCeil(problem.k, chunk);
  chunksPerWarp = llvm::divideCeil(chunks, plan.cluster * plan.warpsK);
  // The ring reaches into the next tile at most.
  chunksPerWarp = std::max(chunksPerWarp, plan.depth - 1);
  // A warp has whole scales, if possible whole words of them.
  while (chunksPerWarp * chunk % block)
    ++chunksPerWarp;
  chunksPerBlock = chunksPerWarp * plan.warpsK;
  exact = chunks == chunksPerBlock * plan.cluster && problem.k % chunk == 0;
  units = run / 8;
  unitStride = plan.tokens * 64 + (plan.tokens >= 8 ? kUnitPadding : 0);
  scaleColumns = chunksPerWarp * chunk / block;
  scaleStride = llvm::alignTo(scaleColumns, 16);
  if (scaleStride % 32 == 0)
    scaleStride += 16; // Rows in different banks.
  int64_t allColumns = problem.k / block;
  bool tiled = kernels::ScaleAddress(problem.scalesType).isTiled();
  scaleCopy = 1;
  if (scaleColumns % 4 == 0 && (tiled || allColumns % 4 == 0))
    scaleCopy = 4;
  if (scaleCopy == 4 && !tiled && scaleColumns % 16 == 0 &&
      allColumns % 16 == 0)
    scaleCopy = 16;
  int64_t warps = plan.warpsN * plan.warpsK;
  stageBytes = 2 * plan.rowTiles * 512;
  scaleBytes = plan.rowTiles * 16 * scaleStride;
  scalesOffset = llvm::alignTo(chunksPerBlock * units * unitStride, 128);
  ringOffset = llvm::alignTo(scalesOffset + 2 * warps * scaleBytes, 128);
  sumsOffset = ringOffset + warps * plan.depth * stageBytes;
  int64_t tokens = llvm::alignTo(plan.tokens, 8);
  sharedBytes =
      sumsOffset + plan.warpsK * tokens * (plan.rows() + kSumsPadding) * 4;
}

void DecodeBody::locate() {
  shared = code.sharedMemory();
  thread = code.threadId();
  lane = code.band(thread, 31);
  group = code.shr(lane, 2);
  quad = code.band(lane, 3);
  rowsM = code.narrow(args[3]);
  rowsN = code.narrow(args[4]);
  batch = code.blockIdZ();
  weightBatch = problem.sharedWeights ? code.constant(0) : batch;
  firstToken = code.mul(code.blockIdY(), plan.tokens);
  rank = plan.cluster > 1 ? code.clusterRank() : code.constant(0);
  firstChunk = code.mul(rank, layout.chunksPerBlock);

  Value warp = code.shr(thread, 5);
  warpK = code.rem(warp, plan.warpsK);
  warpRow = code.mul(code.div(warp, plan.warpsK), 16 * plan.rowTiles);
  ring = code.at(code.at(shared, layout.ringOffset),
                 code.add(code.mul(warp, plan.depth * layout.stageBytes),
                          code.mul(lane, 16)));
  scaleArea = code.at(code.at(shared, layout.scalesOffset),
                      code.mul(warp, 2 * layout.scaleBytes));
}

TileRows DecodeBody::rowsOf(HopperCode &c, Value tile) const {
  TileRows result;
  result.firstRow = c.mul(tile, plan.rows());
  result.present = c.lt(result.firstRow, rowsN);
  Value k = c.mul(c.add(firstChunk, c.mul(warpK, layout.chunksPerWarp)),
                  layout.chunk);
  k = c.add(k, c.mul(quad, layout.run));
  Value column = c.wide(c.div(c.mul(k, format.bits()), 8));
  Value first = c.add(c.add(result.firstRow, warpRow), group);
  for (int64_t i = 0; i < rowsPerThread(); ++i) {
    // Rows past the end read the last one; nobody stores their sums.
    Value row = c.min(c.add(first, 8 * i), c.sub(rowsN, c.constant(1)));
    Value line = c.add(c.mul(c.wide(weightBatch), c.wide(rowsN)), c.wide(row));
    Value bytes = c.mul(line, problem.k * format.bits() / 8);
    result.weights.push_back(c.at(args[1], c.add(bytes, column)));
  }
  return result;
}

/// Starts copying a chunk, if there is one; closes the group of copies.
void DecodeBody::copyChunk(HopperCode &c, const TileRows &rows, Value chunk,
                           Value slot) const {
  Value present = rows.present;
  if (!layout.exact) {
    Value k = c.add(c.mul(warpK, layout.chunksPerWarp), chunk);
    k = c.add(c.mul(c.add(firstChunk, k), layout.chunk),
              c.mul(quad, layout.run));
    present = c.band(present, c.lt(k, c.constant(problem.k)));
  }
  Value bytes = c.wide(c.mul(chunk, 64));
  for (auto [row, pointer] : llvm::enumerate(rows.weights))
    c.copyLine(c.at(c.at(ring, slot), row * 512), c.at(pointer, bytes), present,
               /*fill=*/!layout.exact);
  c.commitCopies();
}

/// The scales of a warp's rows and its part of K, before its first chunk.
void DecodeBody::copyScales(HopperCode &c, const TileRows &rows,
                            Value parity) const {
  int64_t perRow = llvm::divideCeil(layout.scaleColumns, layout.scaleCopy);
  int64_t total = plan.rowTiles * 16 * perRow;
  Value firstColumn = c.mul(
      c.add(firstChunk, c.mul(warpK, layout.chunksPerWarp)), layout.chunk);
  firstColumn = c.div(firstColumn, format.block());
  Value area = c.at(scaleArea, c.mul(parity, layout.scaleBytes));
  Value firstRow = c.add(rows.firstRow, warpRow);
  auto copy = [&](HopperCode &h, Value index) {
    Value row = h.div(index, perRow);
    Value column = h.mul(h.rem(index, perRow), layout.scaleCopy);
    Value target = h.at(area, h.add(h.mul(row, layout.scaleStride), column));
    column = h.add(column, firstColumn);
    Value present = h.band(
        rows.present, h.lt(column, h.constant(problem.k / format.block())));
    row = h.min(h.add(firstRow, row), h.sub(rowsN, h.constant(1)));
    Value offset =
        scaleAddress.offset(h.builder, h.loc, toIndex(h, weightBatch), args[4],
                            toIndex(h, row), toIndex(h, column));
    Value source = h.at(args[2], h.wideIndex(offset));
    if (layout.scaleCopy > 1) {
      h.copyAsync(target, source, layout.scaleCopy, present);
    } else {
      Value byte = h.loadUnsigned(source, 1, present);
      h.store(arith::TruncIOp::create(h.builder, h.loc, h.builder.getI8Type(),
                                      byte),
              target, 1);
    }
  };
  if (total % 32 == 0 && total <= 128) {
    for (int64_t i = 0; i < total; i += 32)
      copy(c, c.add(lane, i));
    return;
  }
  c.loop(lane, c.constant(total), 32, {},
         [&](ThreadCode &inner, Value index, ValueRange) {
           HopperCode h(inner);
           copy(h, index);
           return SmallVector<Value>();
         });
}

/// Eight neighbours of a token, at their places in the order of the fragments.
void DecodeBody::storeTokens(HopperCode &c, ArrayRef<Value> words, Value token,
                             Value unit) const {
  // Unit = 8 k of a chunk of 4 runs: run `unitQuad`, unit `j` of the run.
  Value perChunk = c.constant(4 * layout.units);
  Value chunkInBlock = c.div(unit, perChunk);
  Value inChunk = c.rem(unit, perChunk);
  Value unitQuad = c.div(inChunk, layout.units);
  Value j = c.rem(inChunk, layout.units);
  SmallVector<Value> ordered;
  std::array<int, 8> order = format.order();
  for (int i = 0; i < 8; i += 2) {
    int low = order[i], high = order[i + 1];
    // Both halves are low or both are high in every order there is.
    ordered.push_back(low % 2 ? c.pairHigh(words[low / 2], words[high / 2])
                              : c.pairLow(words[low / 2], words[high / 2]));
  }
  Value index = c.add(c.mul(chunkInBlock, layout.units), j);
  Value place = c.add(c.mul(token, 4), unitQuad);
  c.storeWords(ordered, c.at(shared, c.add(c.mul(index, layout.unitStride),
                                           c.mul(place, 16))));
}

void DecodeBody::stageTokens() {
  int64_t unitsPerToken = layout.chunksPerBlock * 4 * layout.units;
  int64_t total = plan.tokens * unitsPerToken;
  constexpr int64_t batchLoads = 4;
  int64_t threads = plan.threads();
  Value k0 = code.mul(firstChunk, layout.chunk);
  Value tokenLine = code.add(code.mul(code.wide(batch), code.wide(rowsM)),
                             code.wide(firstToken));
  Value base = code.at(args[0], code.mul(tokenLine, 2 * problem.k));
  code.loop(
      thread, code.constant(total), threads * batchLoads, {},
      [&](ThreadCode &inner, Value first, ValueRange) {
        HopperCode c(inner);
        SmallVector<SmallVector<Value>> words;
        SmallVector<Value> tokens, unitIndices;
        for (int64_t i = 0; i < batchLoads; ++i) {
          Value index = c.add(first, i * threads);
          Value token = c.div(index, unitsPerToken);
          Value unit = c.rem(index, unitsPerToken);
          Value k = c.add(k0, c.mul(unit, 8));
          Value present = c.band(c.lt(c.add(firstToken, token), rowsM),
                                 c.lt(k, c.constant(problem.k)));
          Value offset =
              c.add(c.mul(c.wide(token), 2 * problem.k), c.wide(c.mul(k, 2)));
          words.push_back(c.streamWords(c.at(base, offset), 4, present));
          tokens.push_back(token);
          unitIndices.push_back(unit);
        }
        for (int64_t i = 0; i < batchLoads; ++i) {
          auto store = [&](ThreadCode &t) {
            HopperCode h(t);
            storeTokens(h, words[i], tokens[i], unitIndices[i]);
          };
          if (total % (threads * batchLoads) == 0)
            store(c);
          else
            c.branch(c.lt(c.add(first, i * threads), c.constant(total)), store);
        }
        return SmallVector<Value>();
      });
}

SmallVector<Value> DecodeBody::multiply(HopperCode &c, Value chunk, Value slot,
                                        Value scales,
                                        ArrayRef<Value> sums) const {
  SmallVector<Value> result(sums);
  Value source = c.at(ring, slot);
  Value column =
      c.div(c.add(c.mul(chunk, layout.chunk), c.mul(quad, layout.run)),
            format.block());
  SmallVector<SmallVector<Value>> words;
  SmallVector<WeightFormat::Multipliers> multipliers;
  Type scaleType = c.builder.getIntegerType(8 * format.scalesPerRun());
  for (int64_t row = 0; row < rowsPerThread(); ++row) {
    words.push_back(c.loadWords(c.at(source, row * 512), 4));
    Value codes = c.load(
        scaleType, c.at(c.at(scales, column), row * 8 * layout.scaleStride),
        format.scalesPerRun());
    if (format.scalesPerRun() < 4)
      codes = c.builder.createOrFold<arith::ExtUIOp>(c.loc, c.i32(), codes);
    multipliers.push_back(format.multipliers(c, codes, format.scalesPerRun()));
  }
  Value chunkInBlock = c.add(c.mul(warpK, layout.chunksPerWarp), chunk);
  Value base =
      c.at(shared, c.add(c.mul(chunkInBlock, layout.units * layout.unitStride),
                         c.mul(lane, 16)));
  int64_t perTile = 4 * tokenTiles();
  for (int64_t unit = 0; unit < layout.units; ++unit) {
    SmallVector<SmallVector<Value>> a;
    for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
      SmallVector<Value> top =
          format.decodeUnit(c, words[2 * tile], unit, multipliers[2 * tile]);
      SmallVector<Value> bottom = format.decodeUnit(
          c, words[2 * tile + 1], unit, multipliers[2 * tile + 1]);
      a.push_back({top[0], bottom[0], top[1], bottom[1], top[2], bottom[2],
                   top[3], bottom[3]});
    }
    for (int64_t tokens = 0; tokens < tokenTiles(); ++tokens) {
      Value pointer = c.at(base, unit * layout.unitStride + tokens * 512);
      // Tokens that do not exist are not in memory either.
      SmallVector<Value> b =
          plan.tokens < 8
              ? c.loadSharedIf(pointer, c.lt(group, c.constant(plan.tokens)))
              : c.loadWords(pointer, 4);
      for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
        for (int64_t step = 0; step < 2; ++step) {
          auto place = result.begin() + tile * perTile + tokens * 4;
          SmallVector<Value> old(place, place + 4);
          SmallVector<Value> next = c.mma(ArrayRef(a[tile]).slice(4 * step, 4),
                                          ArrayRef(b).slice(2 * step, 2), old);
          llvm::copy(next, place);
        }
    }
  }
  return result;
}

/// sums[k part][token][row] in shared memory.
void DecodeBody::writeSums(HopperCode &c, ArrayRef<Value> sums) const {
  int64_t stride = plan.rows() + kSumsPadding;
  int64_t tokens = 8 * tokenTiles();
  Value start =
      c.add(c.mul(warpK, tokens * stride),
            c.add(c.mul(c.mul(quad, 2), stride), c.add(warpRow, group)));
  Value area = c.at(shared, layout.sumsOffset);
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t tokenTile = 0; tokenTile < tokenTiles(); ++tokenTile)
      for (int64_t i = 0; i < 4; ++i) {
        // Registers: (row, token), (row, token + 1), then row + 8.
        int64_t offset =
            (tokenTile * 8 + i % 2) * stride + tile * 16 + i / 2 * 8;
        c.store(sums[(tile * tokenTiles() + tokenTile) * 4 + i],
                c.element(area, c.f32(), c.add(start, offset)), 4);
      }
}

void DecodeBody::finish(HopperCode &outer, Value firstRow,
                        const MatmulEpilogue::State &state) const {
  int64_t stride = plan.rows() + kSumsPadding;
  int64_t groups = plan.rows() / 4; // Of four neighbouring rows of B.
  int64_t partStride = 8 * tokenTiles() * stride;
  Value tokens =
      outer.min(outer.constant(plan.tokens), outer.sub(rowsM, firstToken));
  Value begin = outer.add(outer.mul(rank, plan.threads()), thread);
  outer.loop(begin, outer.mul(tokens, groups), plan.threads() * plan.cluster,
             {}, [&](ThreadCode &inner, Value index, ValueRange) {
               HopperCode c(inner);
               Value token = c.div(index, groups);
               Value row = c.mul(c.rem(index, groups), 4);
               Value area = c.at(shared, layout.sumsOffset);
               Value offset = c.add(c.mul(token, stride), row);
               SmallVector<Value> total;
               for (int64_t block = 0; block < plan.cluster; ++block)
                 for (int64_t part = 0; part < plan.warpsK; ++part) {
                   Value pointer = c.element(area, c.f32(),
                                             c.add(offset, part * partStride));
                   SmallVector<Value> sums;
                   if (plan.cluster > 1)
                     sums = c.loadRemote4(pointer, c.constant(block));
                   else
                     sums = c.unpack(
                         c.load(VectorType::get({4}, c.f32()), pointer, 16));
                   if (total.empty()) {
                     total = sums;
                     continue;
                   }
                   for (auto [sum, more] : llvm::zip_equal(total, sums))
                     sum = arith::AddFOp::create(c.builder, c.loc, sum, more);
                 }
               if (format.deferredExponent()) {
                 Value factor = arith::ConstantOp::create(
                     c.builder, c.loc,
                     c.builder.getF32FloatAttr(
                         std::ldexp(1.0f, format.deferredExponent())));
                 for (Value &sum : total)
                   sum = arith::MulFOp::create(c.builder, c.loc, sum, factor);
               }
               epilogue.emit(c, args.drop_front(5), state, total,
                             c.add(firstToken, token), c.add(firstRow, row));
               return SmallVector<Value>();
             });
}

/// Multiplies the chunks of a tile while copying those `depth` - 1 further on,
/// some of them the next tile's. Returns the slot of the next tile's first.
Value DecodeBody::multiplyTile(HopperCode &outer, const TileRows &now,
                               const TileRows &next, Value slot, Value parity,
                               SmallVector<Value> &sums) const {
  int64_t ahead = plan.depth - 1;
  // The slot before `slot` is free: its chunk has been multiplied.
  auto step = [&](HopperCode &c, Value chunk, Value slot, Value free,
                  ArrayRef<Value> sums) {
    c.waitForCopies(plan.depth - 2);
    Value target = c.add(chunk, ahead);
    Value inTile = c.lt(target, c.constant(layout.chunksPerWarp));
    TileRows rows;
    rows.present = c.select(inTile, now.present, next.present);
    for (auto [here, there] : llvm::zip_equal(now.weights, next.weights))
      rows.weights.push_back(c.select(inTile, here, there));
    target = c.select(inTile, target,
                      c.sub(target, c.constant(layout.chunksPerWarp)));
    // The first chunk of a tile brings its scales.
    c.branch(c.band(c.eq(target, c.constant(0)), rows.present),
             [&](ThreadCode &inner) {
               HopperCode h(inner);
               copyScales(h, next, h.bxor(parity, h.constant(1)));
             });
    copyChunk(c, rows, target, free);
    c.branch(c.eq(chunk, c.constant(0)),
             [&](ThreadCode &inner) { HopperCode(inner).syncWarp(); });
    Value scales = c.at(c.at(scaleArea, c.mul(parity, layout.scaleBytes)),
                        c.mul(group, layout.scaleStride));
    return multiply(c, chunk, slot, scales, sums);
  };
  Value free = outer.select(outer.eq(slot, outer.constant(0)),
                            outer.constant(ahead * layout.stageBytes),
                            outer.sub(slot, outer.constant(layout.stageBytes)));
  if (layout.chunksPerWarp <= kStraightChunks) {
    for (int64_t chunk = 0; chunk < layout.chunksPerWarp; ++chunk) {
      sums = step(outer, outer.constant(chunk), slot, free, sums);
      free = slot;
      slot = nextSlot(outer, slot);
    }
    return slot;
  }
  SmallVector<Value> carried(sums);
  carried.push_back(slot);
  carried.push_back(free);
  SmallVector<Value> results = outer.loop(
      outer.constant(0), outer.constant(layout.chunksPerWarp), 1, carried,
      [&](ThreadCode &inner, Value chunk, ValueRange values) {
        HopperCode c(inner);
        Value slot = values[numSums()], free = values[numSums() + 1];
        SmallVector<Value> next =
            step(c, chunk, slot, free,
                 SmallVector<Value>(values.take_front(numSums())));
        next.push_back(nextSlot(c, slot));
        next.push_back(slot);
        return next;
      });
  sums.assign(results.begin(), results.begin() + numSums());
  return results[numSums()];
}

void DecodeBody::emit() {
  locate();
  Value tile = code.div(code.blockId(), plan.cluster);
  TileRows first = rowsOf(code, tile);
  copyScales(code, first, code.constant(0));
  for (int64_t i = 0; i + 1 < plan.depth; ++i)
    copyChunk(code, first, code.constant(i),
              code.constant(i * layout.stageBytes));
  stageTokens();
  state = epilogue.begin(code, args.drop_front(5), batch, rowsM, rowsN);
  code.barrier();

  Value tiles = code.div(code.add(rowsN, plan.rows() - 1), plan.rows());
  code.loop(tile, tiles, plan.blocks, {code.constant(0), code.constant(0)},
            [&](ThreadCode &inner, Value tile, ValueRange carried) {
              HopperCode c(inner);
              Value slot = carried[0], parity = carried[1];
              TileRows now = rowsOf(c, tile);
              TileRows next = rowsOf(c, c.add(tile, plan.blocks));
              SmallVector<Value> sums(numSums(), c.zero(c.f32()));
              slot = multiplyTile(c, now, next, slot, parity, sums);
              syncBlocks(c); // The last tile's sums have been read.
              writeSums(c, sums);
              syncBlocks(c);
              finish(c, now.firstRow, state);
              return SmallVector<Value>{slot, c.bxor(parity, c.constant(1))};
            });
  code.waitForCopies(0);
  if (plan.cluster > 1)
    code.clusterBarrierRelaxed(); // Others may still read this block's sums.
}

bool sm90::decodeSupports(const WeightFormat &format, int64_t k) {
  return k % format.run() == 0 && k % format.block() == 0;
}

int64_t sm90::decodeSharedBytes(const DecodePlan &plan,
                                const DecodeProblem &problem) {
  return DecodeLayout(plan, problem).sharedBytes;
}

func::FuncOp sm90::decodeKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                const DecodePlan &plan,
                                const DecodeProblem &problem,
                                const MatmulEpilogue &epilogue) {
  MLIRContext *context = loc.getContext();
  Type pointer = ThreadCode::globalPointer(context);
  Type index = IndexType::get(context);
  SmallVector<Type> types{pointer, pointer, pointer, index, index};
  llvm::append_range(types, epilogue.argumentTypes());
  std::string key = kernels::kernelKey(
      "sm90.decode", plan.tokens, plan.rowTiles, plan.warpsN, plan.warpsK,
      plan.cluster, plan.depth, plan.blocks, problem.format.key(), problem.k,
      problem.scalesType, problem.sharedWeights, epilogue.key());
  nvidia::LaunchShape shape;
  shape.threads = static_cast<int32_t>(plan.threads());
  shape.cluster = static_cast<int32_t>(plan.cluster);
  shape.sharedBytes = static_cast<int32_t>(decodeSharedBytes(plan, problem));
  return kernelSet.getOrCreateRaw(
      loc, "blockscale_decode", key, types, shape,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        DecodeBody(HopperCode(builder, loc), plan, problem, epilogue, args)
            .emit();
      });
}
