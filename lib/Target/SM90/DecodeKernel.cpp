//===-- DecodeKernel.cpp - Few tokens times packed weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

void DecodeBody::locate() {
  thread = code.threadId();
  warp = code.shr(thread, 5);
  lane = code.band(thread, 31);
  quad = code.band(lane, 3);
  chunk = code.band(warp, 3);
  token = code.shr(lane, 2);
  // The threads that read at once hit different banks: eight bytes each of
  // rows 0, 2, 4, 6, or 16 bytes of rows 0 and 4.
  int64_t low = format.bits() == 4 ? 2 : 1;
  row = code.bor(code.shl(code.band(token, (1 << low) - 1), 3 - low),
                 code.shr(token, low));
  rowsM = code.narrow(args[3]);
  place.shared = code.sharedMemory();
  place.firstStep = code.constant(0);
  place.endStep = code.constant(WeightStream::steps(problem.k));
  place.firstToken = code.mul(code.blockIdY(), plan.tokens);
  place.firstRow = code.mul(code.blockId(), plan.rows());
  place.rowsN = code.narrow(args[4]);
  place.batch = code.blockIdZ();
}

/// The codes of the scales of the thread's runs in two rows, a half word each.
Value DecodeBody::scaleCodes(HopperCode &c, Value scales, int64_t tile) const {
  Value codes[2];
  for (int64_t half = 0; half < 2; ++half) {
    Value pointer = c.at(scales, (tile * 16 + half * 8) * stream.scaleRow);
    codes[half] = arith::ExtUIOp::create(
        c.builder, c.loc, c.i32(), c.load(c.builder.getI8Type(), pointer, 1));
  }
  return c.pairLow(codes[0], codes[1]);
}

/// The mma's B operands of the warp's part of a stage: for each half of a run
/// and eight tokens four registers, two steps of K.
SmallVector<Value> DecodeBody::fragments(HopperCode &c, Value stage) const {
  Value tokens =
      c.at(stream.tokensAt(c, place, stage),
           c.add(c.mul(chunk, plan.tokens * 128), c.mul(token, 128)));
  std::array<int, 8> order = format.order();
  SmallVector<Value> result;
  for (int64_t unit = 0; unit < 2; ++unit) {
    Value piece = c.bxor(c.add(c.mul(quad, 2), unit), token);
    for (int64_t tile = 0; tile < tokenTiles(); ++tile) {
      SmallVector<Value> words =
          c.loadWords(c.at(c.at(tokens, c.mul(piece, 16)), tile * 8 * 128), 4);
      for (int i = 0; i < 8; i += 2) {
        int low = order[i], high = order[i + 1];
        if (low % 2 == 0 && high == low + 1) {
          result.push_back(words[low / 2]);
          continue;
        }
        // Both halves are low or both are high in every order there is.
        result.push_back(low % 2 ? c.pairHigh(words[low / 2], words[high / 2])
                                 : c.pairLow(words[low / 2], words[high / 2]));
      }
    }
  }
  return result;
}

/// Adds the warp's part of a stage to its sums.
SmallVector<Value> DecodeBody::multiply(HopperCode &c,
                                        const WeightFormat &format, Value stage,
                                        ArrayRef<Value> codes,
                                        ArrayRef<Value> b,
                                        ArrayRef<Value> sums) const {
  SmallVector<Value> result(sums);
  int64_t runBytes = 16 * format.bits() / 8;
  Value first = c.add(c.mul(chunk, 64), c.mul(quad, 16));
  Value weights = c.at(stream.weightsAt(c, place, stage),
                       stream.weightOffset(c, row, row, first));
  if (runBytes < 16)
    weights = c.at(weights, c.mul(c.band(quad, 1), runBytes));
  int64_t perTile = 4 * tokenTiles();
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
    Value pair = format.multiplierPair(c, codes[tile]);
    SmallVector<Value> words[2];
    WeightFormat::Multipliers multipliers[2];
    for (int64_t half = 0; half < 2; ++half) {
      words[half] = c.loadWords(c.at(weights, (tile * 16 + half * 8) * 128),
                                runBytes / 4);
      multipliers[half].pairs.push_back(
          half ? c.permuteBytes(pair, pair, c.constant(0x3232))
               : c.splat16(pair));
    }
    for (int64_t unit = 0; unit < 2; ++unit) {
      SmallVector<Value> top = format.decodeUnit(
          c, words[0], unit, multipliers[0], table ? &*table : nullptr);
      SmallVector<Value> bottom = format.decodeUnit(
          c, words[1], unit, multipliers[1], table ? &*table : nullptr);
      for (int64_t tokens = 0; tokens < tokenTiles(); ++tokens)
        for (int64_t step = 0; step < 2; ++step) {
          auto place = result.begin() + tile * perTile + tokens * 4;
          SmallVector<Value> old(place, place + 4);
          SmallVector<Value> next = c.mma(
              {top[2 * step], bottom[2 * step], top[2 * step + 1],
               bottom[2 * step + 1]},
              b.slice((unit * tokenTiles() + tokens) * 4 + 2 * step, 2), old);
          llvm::copy(next, place);
        }
    }
  }
  return result;
}

/// sums[warp][token][row] in shared memory.
void DecodeBody::writeSums(HopperCode &c, ArrayRef<Value> sums) const {
  int64_t stride = plan.rows() + kSumsPadding;
  Value start = c.add(c.mul(warp, plan.tokens * stride),
                      c.add(c.mul(c.mul(quad, 2), stride), row));
  for (int64_t tile = 0; tile < plan.rowTiles; ++tile)
    for (int64_t tokenTile = 0; tokenTile < tokenTiles(); ++tokenTile)
      for (int64_t i = 0; i < 4; ++i) {
        // Registers: (row, token), (row, token + 1), then row + 8.
        int64_t offset =
            (tokenTile * 8 + i % 2) * stride + tile * 16 + i / 2 * 8;
        c.store(sums[(tile * tokenTiles() + tokenTile) * 4 + i],
                c.element(place.shared, c.f32(), c.add(start, offset)), 4);
      }
}

/// Adds up the warps' sums; the epilogue.
void DecodeBody::finish(HopperCode &outer) const {
  int64_t stride = plan.rows() + kSumsPadding;
  int64_t groups = plan.rows() / 4; // Of four neighbouring rows of B.
  MatmulEpilogue::State state = epilogue.begin(outer, args.drop_front(5),
                                               place.batch, rowsM, place.rowsN);
  Value tokens = outer.min(outer.constant(plan.tokens),
                           outer.sub(rowsM, place.firstToken));
  outer.loop(
      thread, outer.mul(tokens, groups), plan.multiplyingThreads(), {},
      [&](ThreadCode &inner, Value index, ValueRange) {
        HopperCode c(inner);
        Value token = c.div(index, groups);
        Value row = c.mul(c.rem(index, groups), 4);
        Value offset = c.add(c.mul(token, stride), row);
        SmallVector<SmallVector<Value>> parts;
        for (int64_t part = 0; part < 4 * plan.groups; ++part) {
          Value pointer = c.element(place.shared, c.f32(),
                                    c.add(offset, part * plan.tokens * stride));
          parts.push_back(
              c.unpack(c.load(VectorType::get({4}, c.f32()), pointer, 16)));
        }
        epilogue.emit(c, args.drop_front(5), state, format.trueSums(c, parts),
                      c.add(place.firstToken, token),
                      c.add(place.firstRow, row));
        return SmallVector<Value>();
      });
}

void DecodeBody::consume(HopperCode &outer) {
  Value group = outer.shr(warp, 2);
  if (format.looksUp()) {
    table.emplace(outer, outer.at(place.shared, stream.end()), lane);
    table->fill(
        outer, thread, plan.multiplyingThreads(),
        [&](HopperCode &c, Value byte) { return format.tableEntry(c, byte); });
    outer.namedBarrier(1, plan.multiplyingThreads());
  }
  outer.awaitPrevious();
  WeightFormat plain = format.plain();
  Value run = outer.add(outer.mul(chunk, 64), outer.mul(quad, 16));
  SmallVector<Value> sums(numSums(), outer.zero(outer.f32()));
  sums = outer.loop(
      group, place.endStep, plan.groups, sums,
      [&](ThreadCode &inner, Value step, ValueRange values) {
        HopperCode c(inner);
        SmallVector<Value> sums(values);
        Value stage = c.rem(step, plan.stages);
        c.waitParity(stream.ring(place).full(c, stage),
                     c.band(c.div(step, plan.stages), 1));
        Value column = c.div(c.add(c.mul(step, kStreamK), run), format.block());
        Value scales = c.at(stream.scalesAt(c, place, stage),
                            c.add(c.mul(row, stream.scaleRow),
                                  c.band(column, stream.scaleRow - 1)));
        SmallVector<Value> codes;
        Value unusual;
        for (int64_t tile = 0; tile < plan.rowTiles; ++tile) {
          codes.push_back(scaleCodes(c, scales, tile));
          Value more = format.unusual(c, codes.back());
          unusual = unusual ? c.bor(unusual, more) : more;
        }
        SmallVector<Value> b = fragments(c, stage);
        sums = c.chooseOne(
            c.anyLane(c.differs(unusual, c.constant(0))),
            [&](ThreadCode &then) {
              HopperCode h(then);
              return multiply(h, format, stage, codes, b, sums);
            },
            [&](ThreadCode &otherwise) {
              HopperCode h(otherwise);
              return multiply(h, plain, stage, codes, b, sums);
            });
        stream.ring(place).release(c, stage);
        return sums;
      });
  outer.namedBarrier(1, plan.multiplyingThreads()); // Stages have been read.
  writeSums(outer, sums);
  outer.namedBarrier(1, plan.multiplyingThreads());
  finish(outer);
}

void DecodeBody::emit() {
  locate();
  stream.ring(place).begin(code, thread, WeightStream::kFills,
                           /*uses=*/plan.multiplyingThreads() / plan.groups);
  stream.run(code, place, thread, plan.multiplyingThreads(), args,
             [&](HopperCode &c) { consume(c); });
}

int64_t sm90::decodeSharedBytes(const DecodePlan &plan,
                                const StreamProblem &problem) {
  // The sums come where the stages were.
  int64_t sums =
      4 * plan.groups * plan.tokens * (plan.rows() + kSumsPadding) * 4;
  int64_t ring =
      WeightStream(problem, plan.tokens, plan.rows(), plan.stages).end();
  if (problem.format.looksUp())
    ring += CodeTable::kBytes;
  return std::max(sums, ring);
}

func::FuncOp sm90::decodeKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                const DecodePlan &plan,
                                const StreamProblem &problem,
                                const MatmulEpilogue &epilogue) {
  MLIRContext *context = loc.getContext();
  Type map = LLVM::LLVMPointerType::get(context);
  Type index = IndexType::get(context);
  SmallVector<Type> types{map, map, ThreadCode::globalPointer(context), index,
                          index};
  llvm::append_range(types, epilogue.argumentTypes());
  std::string key = kernels::kernelKey(
      "sm90.decode", plan.tokens, plan.rowTiles, plan.groups, plan.stages,
      problem.format.key(), problem.k, problem.scalesType,
      problem.sharedWeights, problem.weightsReady, epilogue.key());
  nvidia::LaunchShape shape;
  shape.threads = static_cast<int32_t>(plan.threads());
  // So much that a multiprocessor has no room for two blocks: of kernels that
  // overlap, it would get two of one and another none.
  shape.sharedBytes = static_cast<int32_t>(
      std::max<int64_t>(decodeSharedBytes(plan, problem),
                        kernelSet.getChip().sharedBytes / 2 + 1));
  shape.overlaps = true;
  shape.resident = 1; // Else ptxas spills to have room for another.
  return kernelSet.getOrCreateRaw(
      loc, "blockscale_decode", key, types, shape,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        DecodeBody(HopperCode(builder, loc), plan, problem, epilogue, args)
            .emit();
      });
}
