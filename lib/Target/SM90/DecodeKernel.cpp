//===-- DecodeKernel.cpp - Few tokens times packed weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

#include "blockscale/Kernels/Patterns.h"

#include <cmath>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

DecodeLayout::DecodeLayout(const DecodePlan &plan,
                           const DecodeProblem &problem) {
  const WeightFormat &format = problem.format;
  int64_t block = format.block();
  run = format.run();
  chunk = 4 * run;
  chunks = llvm::divideCeil(problem.k, chunk);
  chunksPerWarp = llvm::divideCeil(chunks, plan.cluster * plan.warpsK);
  // A warp has whole scales, if possible whole words of them.
  while (chunksPerWarp * chunk % block)
    ++chunksPerWarp;
  chunksPerBlock = chunksPerWarp * plan.warpsK;
  exact = chunks == chunksPerBlock * plan.cluster && problem.k % chunk == 0;
  units = run / 8;
  tokenBytes = chunksPerBlock * chunk * 2;
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
  scalesOffset = llvm::alignTo(plan.tokens * tokenBytes, 128);
  ringOffset = llvm::alignTo(scalesOffset + warps * scaleBytes, 128);
  // The sums come where all this was.
  int64_t tokens = llvm::alignTo(plan.tokens, 8);
  sharedBytes =
      std::max(ringOffset + warps * plan.depth * stageBytes,
               plan.warpsK * tokens * (plan.rows() + kSumsPadding) * 4);
}

SmallVector<Value> DecodeBody::multiply(HopperCode &c, Value chunk,
                                        int64_t slot,
                                        ArrayRef<Value> sums) const {
  SmallVector<Value> result(sums);
  Value source = c.at(ring, slot * layout.stageBytes);
  Value column =
      c.div(c.add(c.mul(chunk, layout.chunk), c.mul(quad, layout.run)),
            format.block());
  Value scales = c.at(scaleArea, c.mul(group, layout.scaleStride));
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
  Value chunkBytes = c.mul(chunk, layout.chunk * 2);
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
    Value pointer = c.at(fragments[unit], chunkBytes);
    for (int64_t tokens = 0; tokens < tokenTiles(); ++tokens) {
      SmallVector<Value> b =
          c.loadWords(c.at(pointer, tokens * 8 * layout.tokenBytes), 4);
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
void DecodeBody::writeSums(ArrayRef<Value> sums) const {
  HopperCode c(code);
  int64_t stride = plan.rows() + kSumsPadding;
  int64_t tokens = 8 * tokenTiles();
  Value start =
      c.add(c.mul(warpK, tokens * stride),
            c.add(c.mul(c.mul(quad, 2), stride), c.add(warpRow, group)));
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t tokenTile = 0; tokenTile < tokenTiles(); ++tokenTile)
      for (int64_t i = 0; i < 4; ++i) {
        // Registers: (row, token), (row, token + 1), then row + 8.
        int64_t offset =
            (tokenTile * 8 + i % 2) * stride + tile * 16 + i / 2 * 8;
        c.store(sums[(tile * tokenTiles() + tokenTile) * 4 + i],
                c.element(shared, c.f32(), c.add(start, offset)), 4);
      }
}

void DecodeBody::finish() const {
  HopperCode outer(code);
  int64_t stride = plan.rows() + kSumsPadding;
  int64_t groups = plan.rows() / 4; // Of four neighbouring rows of B.
  int64_t partStride = 8 * tokenTiles() * stride;
  MatmulEpilogue::State state =
      epilogue.begin(outer, args.drop_front(5), batch, rowsM, rowsN);
  Value tokens =
      outer.min(outer.constant(plan.tokens), outer.sub(rowsM, firstToken));
  Value begin = outer.add(outer.mul(rank, plan.threads()), thread);
  outer.loop(begin, outer.mul(tokens, groups), plan.threads() * plan.cluster,
             {}, [&](ThreadCode &inner, Value index, ValueRange) {
               HopperCode c(inner);
               Value token = c.div(index, groups);
               Value row = c.mul(c.rem(index, groups), 4);
               Value offset = c.add(c.mul(token, stride), row);
               SmallVector<Value> total;
               for (int64_t block = 0; block < plan.cluster; ++block)
                 for (int64_t part = 0; part < plan.warpsK; ++part) {
                   Value pointer = c.element(shared, c.f32(),
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

/// Multiplies the warp's chunks while copying those `depth` - 1 further on.
SmallVector<Value> DecodeBody::multiplyAll() const {
  HopperCode outer(code);
  // Chunk `first` + `i`, whose slot is known.
  auto step = [&](HopperCode &c, Value first, int64_t i, ArrayRef<Value> sums) {
    c.waitForCopies(plan.depth - 2);
    // The slot before is free: its chunk has been multiplied.
    int64_t ahead = i + plan.depth - 1;
    copyChunk(c, c.add(first, ahead), ahead % plan.depth);
    return multiply(c, c.add(first, i), i % plan.depth, sums);
  };
  SmallVector<Value> sums(numSums(), outer.zero(outer.f32()));
  int64_t straight = layout.chunksPerWarp;
  if (straight * plan.rowTiles > kStraightChunks) {
    straight %= plan.depth;
    sums = outer.loop(outer.constant(0),
                      outer.constant(layout.chunksPerWarp - straight),
                      plan.depth, sums,
                      [&](ThreadCode &inner, Value first, ValueRange carried) {
                        HopperCode c(inner);
                        SmallVector<Value> sums(carried);
                        for (int64_t i = 0; i < plan.depth; ++i)
                          sums = step(c, first, i, sums);
                        return sums;
                      });
  }
  Value first = outer.constant(layout.chunksPerWarp - straight);
  for (int64_t i = 0; i < straight; ++i)
    sums = step(outer, first, i, sums);
  return sums;
}

void DecodeBody::emit() {
  locate();
  copyTokens();
  locateWeights();
  copyScales();
  for (int64_t i = 0; i + 1 < plan.depth; ++i)
    copyChunk(code, code.constant(i), i);
  code.waitForCopies(plan.depth - 1);
  orderTokens();
  code.barrier();
  // The first chunk's group has the scales, which other lanes copied.
  code.waitForCopies(plan.depth - 2);
  code.syncWarp();
  SmallVector<Value> sums = multiplyAll();
  code.waitForCopies(0);
  code.barrier();
  writeSums(sums);
  if (plan.cluster > 1)
    code.clusterBarrier();
  else
    code.barrier();
  finish();
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
      plan.cluster, plan.depth, problem.format.key(), problem.k,
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
