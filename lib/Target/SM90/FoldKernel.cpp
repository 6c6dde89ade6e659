//===-- FoldKernel.cpp - Packed operands to E4M3 --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads takes a row, kept in registers: it finds the largest and
// the smallest scale of blocks that are not zero, checks that they fit together
// and writes the row's elements relative to the largest.
//
//===----------------------------------------------------------------------===//
#include "FoldKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using blockscale::kernels::IndexMath;
using nvidia::ThreadCode;

static constexpr int64_t kMaxThreads = 256;
/// Runs of a thread: a few hide the latency of memory, many need registers.
static constexpr int64_t kRunsWanted = 4, kMaxRuns = 16;
static constexpr int64_t kNaNScale = 255, kBias = 127;
/// How far from 1 the largest scale of a row may be, in binades: products of
/// two rows' factors, and sums times them, then stay in f32's normal range.
static constexpr int64_t kMaxExponent = 60;
static constexpr int64_t kF32One = 0x3f800000, kF32NaN = 0x7fc00000;

static int64_t runsOf(int64_t cols) { return cols / FoldFormat::kRun; }

static int64_t threadsFor(int64_t cols) {
  int64_t threads = 32;
  while (threads < kMaxThreads && threads * kRunsWanted < runsOf(cols))
    threads *= 2;
  return threads;
}

bool sm90::foldSupports(const FoldFormat &format, int64_t cols) {
  return cols % format.block() == 0 && runsOf(cols) <= kMaxThreads * kMaxRuns;
}

namespace {

/// Grid: all rows.
class FoldBody {
public:
  FoldBody(HopperCode code, const FoldSide &side, ValueRange args)
      : code(code), side(side), args(args), threads(threadsFor(side.cols)),
        count(llvm::divideCeil(runsOf(side.cols), threads)) {}
  void emit();

private:
  /// The kernel's arguments: `Rows` of a batch; a word of `Misfits`, from
  /// `FirstWord` on, for each `Group` of them.
  enum Argument {
    Elements,
    Scales,
    Rows,
    Group,
    FirstWord,
    Misfits,
    Result,
    Factors
  };
  struct Run {
    Value present;
    SmallVector<Value> words;
    Value scale;
  };
  Value isPresent(int64_t i) {
    if ((i + 1) * threads <= runsOf(side.cols))
      return arith::ConstantOp::create(code.builder, code.loc,
                                       code.builder.getBoolAttr(true));
    return code.lt(runOf(i), code.constant(runsOf(side.cols)));
  }
  Value runOf(int64_t i) { return code.add(code.threadId(), i * threads); }
  void load();
  Value blockMax(Value value, int64_t slot);

  HopperCode code;
  const FoldSide &side;
  ValueRange args;
  int64_t threads, count;
  SmallVector<Run> runs;
};

} // namespace

void FoldBody::load() {
  Value line = code.blockId();
  Value rows = code.narrow(args[Rows]);
  Value batch = code.toIndex(code.div(line, rows));
  Value row = code.toIndex(code.rem(line, rows));
  kernels::ScaleAddress scaleAddress(side.scalesType);
  Value start = code.mul(code.wide(line), side.cols * side.format.bits() / 8);
  int64_t runBytes = side.format.words() * 4;
  for (int64_t i = 0; i < count; ++i) {
    Run run;
    run.present = isPresent(i);
    Value offset = code.add(start, code.wide(code.mul(runOf(i), runBytes)));
    run.words = code.streamWords(code.at(args[Elements], offset),
                                 side.format.words(), run.present);
    Value column =
        code.div(code.mul(runOf(i), FoldFormat::kRun), side.format.block());
    Value scale = scaleAddress.offset(code.builder, code.loc, batch, args[Rows],
                                      row, code.toIndex(column));
    run.scale = code.loadUnsigned(code.at(args[Scales], code.wideIndex(scale)),
                                  1, run.present);
    runs.push_back(run);
  }
}

/// The largest of all threads' values.
Value FoldBody::blockMax(Value value, int64_t slot) {
  value = code.warpMax(value);
  int64_t warps = threads / 32;
  if (warps == 1)
    return value;
  Value area = code.at(code.sharedMemory(), slot * warps * 4);
  Value thread = code.threadId();
  code.branch(
      code.eq(code.band(thread, 31), code.constant(0)), [&](ThreadCode &first) {
        first.store(value,
                    first.element(area, first.i32(), first.shr(thread, 5)), 4);
      });
  code.barrier();
  for (int64_t warp = 0; warp < warps; ++warp) {
    Value other = code.load(code.i32(), code.at(area, warp * 4), 4);
    value = code.max(value, other);
  }
  return value;
}

void FoldBody::emit() {
  load();
  // Scales plus one and 255 minus scales: 0 is none. A NaN is a block's even
  // if all its elements are zero.
  Value largest = code.constant(0), smallest = code.constant(0);
  for (const Run &run : runs) {
    Value counts = side.format.isNonZero(code, run.words);
    Value isNaN = code.eq(run.scale, code.constant(kNaNScale));
    Value zero = code.constant(0);
    largest = code.max(largest, code.select(code.bor(counts, isNaN),
                                            code.add(run.scale, 1), zero));
    smallest = code.max(
        smallest,
        code.select(counts, code.sub(code.constant(255), run.scale), zero));
  }
  largest = blockMax(largest, 0);
  smallest = code.sub(code.constant(255), blockMax(smallest, 1));

  Value top = code.sub(largest, code.constant(1));
  Value isZero = code.eq(largest, code.constant(0));
  Value isNaN = code.eq(largest, code.constant(kNaNScale + 1));
  Value line = code.blockId();
  code.branch(
      code.eq(code.threadId(), code.constant(0)), [&](ThreadCode &inner) {
        HopperCode c(inner);
        Value power = c.shl(c.sub(top, c.constant(side.format.shift())), 23);
        Value factor = c.select(isZero, c.constant(kF32One), power);
        factor = c.select(isNaN, c.constant(kF32NaN), factor);
        c.store(factor, c.element(args[Factors], c.i32(), line), 4);
        Value near = c.lt(c.sub(top, c.constant(kBias - kMaxExponent)),
                          c.constant(2 * kMaxExponent + 1));
        Value together =
            c.lt(c.sub(top, smallest), c.constant(side.format.spread() + 1));
        Value fits = c.bor(c.bor(isZero, isNaN), c.band(near, together));
        Value misfit = c.eq(fits, c.zero(c.builder.getI1Type()));
        c.branch(misfit, [&](ThreadCode &rare) {
          HopperCode h(rare);
          Value rows = h.narrow(args[Rows]);
          Value group = h.narrow(args[Group]);
          Value groups = h.div(h.sub(h.add(rows, group), h.constant(1)), group);
          Value word = h.add(h.mul(h.div(line, rows), groups),
                             h.div(h.rem(line, rows), group));
          word = h.add(word, h.narrow(args[FirstWord]));
          h.setBits(h.element(args[Misfits], h.i32(), word), h.constant(1));
          h.setBits(args[Misfits], h.constant(1));
        });
      });
  Value out = code.at(args[Result], code.mul(code.wide(line), side.cols));
  for (int64_t i = 0; i < count; ++i) {
    const Run &run = runs[i];
    SmallVector<Value> folded =
        side.format.fold(code, run.words, code.sub(top, run.scale));
    code.branch(run.present, [&](ThreadCode &inner) {
      HopperCode c(inner);
      c.storeWords(folded, c.at(out, c.mul(runOf(i), FoldFormat::kRun)));
    });
  }
}

FoldedSide sm90::foldToE4M3(OpBuilder &builder, Location loc,
                            nvidia::GPUKernelSet &kernelSet,
                            const FoldSide &side, Value misfits,
                            Value firstWord, int64_t group) {
  IndexMath math(builder, loc);
  Value lines = math.mul(side.batch, side.rows);
  FoldedSide result;
  result.elements = kernels::allocateFlat(builder, loc, builder.getI8Type(),
                                          math.mul(lines, side.cols));
  result.factors =
      kernels::allocateFlat(builder, loc, builder.getF32Type(), lines);
  Type pointer = ThreadCode::globalPointer(builder.getContext());
  Type index = builder.getIndexType();
  nvidia::LaunchShape shape;
  shape.threads = static_cast<int32_t>(threadsFor(side.cols));
  shape.sharedBytes = shape.threads / 32 * 2 * 4;
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, "blockscale_fold",
      kernels::kernelKey("sm90.fold", side.format.key(), side.scalesType,
                         side.cols),
      {pointer, pointer, index, index, index, pointer, pointer, pointer}, shape,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        FoldBody(HopperCode(inner, loc), side, args).emit();
      });
  kernelSet.launchRaw(
      builder, loc, kernel, {lines, math.constant(1), math.constant(1)},
      {side.buffers[0], side.buffers[1], side.rows, math.constant(group),
       firstWord, misfits, result.elements, result.factors});
  return result;
}
