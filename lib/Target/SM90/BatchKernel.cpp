//===-- BatchKernel.cpp - Some tokens times packed weights ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights are streamed as for few tokens (WeightStream.h); wgmma takes
// them, dequantized, as its A operand from registers, 64 rows of B per
// warpgroup, and reads the tokens from shared memory. There they lie in the
// order in which threads find weights: a thread has 64 neighbours of a row.
//
//===----------------------------------------------------------------------===//
#include "BatchKernel.h"

#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

/// Elements of a thread's run: a quarter of a stage.
static constexpr int64_t kRun = kStreamK / 4;
/// Floats between the tokens of sums, beyond their rows: against bank
/// conflicts.
static constexpr int64_t kSumsPadding = 4;

namespace {

class BatchBody {
public:
  BatchBody(HopperCode code, const BatchPlan &plan,
            const StreamProblem &problem, const MatmulEpilogue &epilogue,
            ValueRange args)
      : code(code), plan(plan), problem(problem),
        stream(problem, plan.tokens, plan.rows(), plan.stages),
        format(problem.format), epilogue(epilogue), args(args) {}
  void emit();

private:
  int64_t sumsStride() const { return plan.rows() + kSumsPadding; }

  void locate();
  void consume(HopperCode &c) const;
  SmallVector<Value> addStage(HopperCode &c, Value step,
                              ArrayRef<Value> sums) const;
  SmallVector<Value> chunkOf(HopperCode &c, const WeightFormat &format,
                             ArrayRef<Value> codes, ArrayRef<Value> words,
                             int64_t chunk) const;
  void writeSums(HopperCode &c, ArrayRef<Value> sums) const;
  void finish(HopperCode &c) const;

  HopperCode code;
  const BatchPlan &plan;
  const StreamProblem &problem;
  WeightStream stream;
  const WeightFormat &format;
  const MatmulEpilogue &epilogue;
  ValueRange args;

  Value thread, group, rowInEight, row, quad, rank, rowsM;
  WeightStream::Place place;
};

} // namespace

void BatchBody::locate() {
  thread = code.threadId();
  Value warpgroup = code.shr(thread, 7);
  group = code.div(warpgroup, plan.rowGroups);
  Value lane = code.band(thread, 31);
  rowInEight = code.shr(lane, 2);
  quad = code.band(lane, 3);
  Value warp = code.band(code.shr(thread, 5), 3);
  row = code.add(code.mul(code.rem(warpgroup, plan.rowGroups), 64),
                 code.add(code.mul(warp, 16), rowInEight));
  rowsM = code.narrow(args[3]);
  rank = plan.split > 1 ? code.clusterRank() : code.constant(0);
  place.shared = code.sharedMemory();
  int64_t steps = WeightStream::steps(problem.k);
  int64_t perBlock = llvm::divideCeil(steps, plan.split);
  place.firstStep = code.mul(rank, perBlock);
  place.endStep =
      code.min(code.add(place.firstStep, perBlock), code.constant(steps));
  place.firstToken = code.mul(code.blockIdY(), plan.tokens);
  place.firstRow = code.mul(code.div(code.blockId(), plan.split), plan.rows());
  place.rowsN = code.narrow(args[4]);
  place.batch = code.blockIdZ();
}

/// The 16 registers of four steps of K: chunk `chunk` of the runs in two rows,
/// whose scales' codes, and the chunk's words, are given a row after the other.
SmallVector<Value> BatchBody::chunkOf(HopperCode &c, const WeightFormat &format,
                                      ArrayRef<Value> codes,
                                      ArrayRef<Value> words,
                                      int64_t chunk) const {
  int64_t block = format.block();
  SmallVector<Value> a(16);
  for (int64_t half = 0; half < 2; ++half) {
    // Two scales in a word of codes; the chunk has one.
    int64_t scale = chunk * 16 / block;
    Value pair =
        format.multiplierPair(c, codes[half * codes.size() / 2 + scale / 2]);
    WeightFormat::Multipliers multipliers;
    multipliers.pairs.push_back(
        scale % 2 ? c.permuteBytes(pair, pair, c.constant(0x3232))
                  : c.splat16(pair));
    int64_t perRow = words.size() / 2;
    for (int64_t unit = 0; unit < 2; ++unit) {
      SmallVector<Value> pairs = format.decodeUnit(
          c, words.slice(half * perRow, perRow), unit, multipliers);
      for (int64_t i = 0; i < 4; ++i)
        a[8 * unit + 2 * i + half] = pairs[i];
    }
  }
  return a;
}

SmallVector<Value> BatchBody::addStage(HopperCode &c, Value step,
                                       ArrayRef<Value> before) const {
  Value index = c.sub(step, place.firstStep);
  Value stage = c.rem(index, plan.stages);
  Ring ring = stream.ring(place);
  c.waitParity(ring.full(c, stage), c.band(c.div(index, plan.stages), 1));

  // Scales: two codes to a register, half words.
  int64_t block = format.block();
  int64_t count = std::max<int64_t>(1, kRun / block);
  Value column = c.div(c.add(c.mul(step, kStreamK), c.mul(quad, kRun)), block);
  Value scales = c.at(
      stream.scalesAt(c, place, stage),
      c.add(c.mul(row, stream.scaleRow), c.band(column, stream.scaleRow - 1)));
  SmallVector<Value> codes;
  Value unusual;
  for (int64_t half = 0; half < 2; ++half) {
    Value word = c.load(c.builder.getIntegerType(8 * count),
                        c.at(scales, half * 8 * stream.scaleRow), count);
    if (count < 4)
      word = arith::ExtUIOp::create(c.builder, c.loc, c.i32(), word);
    for (int64_t i = 0; i < count; i += 2) {
      codes.push_back(c.permuteBytes(
          word, c.constant(0),
          c.constant(i + 1 < count ? 0x4140 + (i | i << 8) : 0x4440 + i)));
      Value more = format.unusual(c, codes.back());
      unusual = unusual ? c.bor(unusual, more) : more;
    }
  }
  Value isUnusual = c.anyLane(c.differs(unusual, c.constant(0)));

  // A load has the words of one or two chunks.
  Value weights = stream.weightsAt(c, place, stage);
  SmallVector<Value> loaded[2];
  auto wordsOf = [&](int64_t chunk) {
    SmallVector<Value> words;
    int64_t first = chunk * 16 % format.run();
    Value offset = stream.weightOffset(
        c, row, rowInEight, c.add(c.mul(quad, kRun), chunk * 16 - first));
    for (int64_t half = 0; half < 2; ++half) {
      if (first == 0)
        loaded[half] =
            c.loadWords(c.at(c.at(weights, offset), half * 8 * 128), 4);
      llvm::append_range(
          words, ArrayRef(loaded[half])
                     .slice(first * format.bits() / 32, format.bits() / 2));
    }
    return words;
  };

  Value tokens = stream.tokensAt(c, place, stage);
  WeightFormat plain = format.plain();
  SmallVector<Value> sums(before), last;
  for (int64_t chunk = 0; chunk < 4; ++chunk) {
    // The products of one chunk run while the next one is dequantized, unless
    // that takes too many registers.
    bool overlaps = format.bits() == 4;
    if (chunk && !overlaps)
      sums = c.wgmmaWait(sums, 0, last);
    SmallVector<Value> words = wordsOf(chunk);
    // Warps of a warpgroup may differ here: no wgmma inside.
    SmallVector<Value> a = c.chooseOne(
        isUnusual,
        [&](ThreadCode &then) {
          HopperCode h(then);
          return chunkOf(h, format, codes, words, chunk);
        },
        [&](ThreadCode &otherwise) {
          HopperCode h(otherwise);
          return chunkOf(h, plain, codes, words, chunk);
        });
    if (chunk && overlaps)
      sums = c.wgmmaWait(sums, 0, last);
    Value part = c.at(tokens, chunk * plan.tokens * 128);
    sums = c.wgmmaRegisters(sums, plan.tokens, a, c.descriptors(part, 4));
    last = a;
  }
  sums = c.wgmmaWait(sums, 0, last);
  ring.release(c, stage);
  return sums;
}

/// sums[group][token][row] in shared memory.
void BatchBody::writeSums(HopperCode &c, ArrayRef<Value> sums) const {
  Value start = c.add(c.mul(group, plan.tokens * sumsStride()),
                      c.add(c.mul(c.mul(quad, 2), sumsStride()), row));
  for (auto [index, sum] : llvm::enumerate(sums)) {
    // Registers: (row, token), (row, token + 1), then row + 8.
    int64_t tile = index / 4, i = index % 4;
    int64_t offset = (tile * 8 + i % 2) * sumsStride() + i / 2 * 8;
    c.store(sum, c.element(place.shared, c.f32(), c.add(start, offset)), 4);
  }
}

/// Adds up the sums of groups and of the cluster's blocks, a part of the tile
/// in each block; the epilogue.
void BatchBody::finish(HopperCode &outer) const {
  MatmulEpilogue::State state = epilogue.begin(outer, args.drop_front(5),
                                               place.batch, rowsM, place.rowsN);
  int64_t quads = plan.rows() / 4; // Of neighbouring rows of B.
  Value tokens = outer.min(outer.constant(plan.tokens),
                           outer.sub(rowsM, place.firstToken));
  Value begin = outer.add(outer.mul(rank, plan.multiplyingThreads()), thread);
  outer.loop(
      begin, outer.mul(tokens, quads), plan.multiplyingThreads() * plan.split,
      {}, [&](ThreadCode &inner, Value index, ValueRange) {
        HopperCode c(inner);
        Value token = c.div(index, quads);
        Value first = c.mul(c.rem(index, quads), 4);
        Value offset = c.add(c.mul(token, sumsStride()), first);
        SmallVector<SmallVector<Value>> parts;
        for (int64_t block = 0; block < plan.split; ++block)
          for (int64_t part = 0; part < BatchPlan::kGroups; ++part) {
            Value pointer =
                c.element(place.shared, c.f32(),
                          c.add(offset, part * plan.tokens * sumsStride()));
            parts.push_back(plan.split > 1
                                ? c.loadRemote4(pointer, c.constant(block))
                                : c.unpack(c.load(VectorType::get({4}, c.f32()),
                                                  pointer, 16)));
          }
        epilogue.emit(c, args.drop_front(5), state, format.trueSums(c, parts),
                      c.add(place.firstToken, token),
                      c.add(place.firstRow, first));
        return SmallVector<Value>();
      });
}

void BatchBody::consume(HopperCode &outer) const {
  outer.awaitPrevious();
  SmallVector<Value> sums(plan.tokens / 2, outer.zero(outer.f32()));
  sums = outer.loop(outer.add(place.firstStep, group), place.endStep,
                    BatchPlan::kGroups, sums,
                    [&](ThreadCode &inner, Value step, ValueRange values) {
                      HopperCode c(inner);
                      return addStage(c, step, llvm::to_vector(values));
                    });
  outer.namedBarrier(1, plan.multiplyingThreads()); // Stages have been read.
  writeSums(outer, sums);
  if (plan.split > 1)
    outer.clusterBarrier();
  else
    outer.namedBarrier(1, plan.multiplyingThreads());
  finish(outer);
  if (plan.split > 1)
    outer.clusterBarrierRelaxed(); // Others may still read this block's sums.
}

void BatchBody::emit() {
  locate();
  stream.ring(place).begin(code, thread, WeightStream::kFills,
                           /*uses=*/plan.multiplyingThreads() /
                               BatchPlan::kGroups);
  stream.run(code, place, thread, plan.multiplyingThreads(), args,
             [&](HopperCode &c) { consume(c); });
}

int64_t sm90::batchSharedBytes(const BatchPlan &plan,
                               const StreamProblem &problem) {
  // The sums come where the stages were.
  int64_t sums =
      BatchPlan::kGroups * plan.tokens * (plan.rows() + kSumsPadding) * 4;
  return std::max(
      sums,
      WeightStream(problem, plan.tokens, plan.rows(), plan.stages).bytes());
}

/// Stages beyond which nothing gets faster.
static constexpr int64_t kMaxStages = 8;

bool BatchPlan::splits(int64_t k) const {
  int64_t steps = WeightStream::steps(k);
  return split >= 1 &&
         (split - 1) * int64_t(llvm::divideCeil(steps, split)) < steps;
}

std::optional<BatchPlan> BatchPlan::choose(int64_t tokens, int64_t tiles,
                                           int64_t n, const nvidia::Chip &chip,
                                           const StreamProblem &problem) {
  BatchPlan plan;
  plan.tokens = tokens;
  auto blocks = [&]() -> int64_t {
    return llvm::divideCeil(n, plan.rows()) * plan.split * tiles;
  };
  // Two blocks share K, clusters of more do not fill the chip; and as many rows
  // for each copy of activations as leave a block for each multiprocessor.
  int64_t steps = WeightStream::steps(problem.k);
  plan.split = steps > 1 ? 2 : 1;
  plan.rowGroups = 1;
  if (blocks() > chip.multiprocessors)
    plan.rowGroups = 2;
  if (blocks() > chip.multiprocessors)
    plan.split = 1;
  if (tiles > 1 && blocks() > chip.multiprocessors)
    return std::nullopt;
  int64_t perBlock = llvm::divideCeil(steps, plan.split);
  int64_t wanted = stagesInTurns(
      std::min(kMaxStages, std::max<int64_t>(2, perBlock)), kGroups);
  plan.stages = wanted;
  while (plan.stages > 1 && batchSharedBytes(plan, problem) > chip.sharedBytes)
    plan.stages -= kGroups;
  // One stage for a group hides no copy: wide blocks are not worth it then.
  if (plan.stages > 1 &&
      (plan.rowGroups == 1 || plan.stages >= std::min(wanted, 2 * kGroups)))
    return plan;
  return std::nullopt;
}

func::FuncOp sm90::batchKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                               const BatchPlan &plan,
                               const StreamProblem &problem,
                               const MatmulEpilogue &epilogue) {
  MLIRContext *context = loc.getContext();
  Type map = LLVM::LLVMPointerType::get(context);
  Type index = IndexType::get(context);
  SmallVector<Type> types{map, map, ThreadCode::globalPointer(context), index,
                          index};
  llvm::append_range(types, epilogue.argumentTypes());
  std::string key = kernels::kernelKey(
      "sm90.batch", plan.tokens, plan.rowGroups, plan.split, plan.stages,
      problem.format.key(), problem.k, problem.scalesType,
      problem.sharedWeights, problem.weightsReady, epilogue.key());
  nvidia::LaunchShape shape;
  shape.threads = static_cast<int32_t>(plan.threads());
  shape.cluster = static_cast<int32_t>(plan.split);
  shape.overlaps = true;
  shape.sharedBytes = static_cast<int32_t>(batchSharedBytes(plan, problem));
  return kernelSet.getOrCreateRaw(
      loc, "blockscale_batch", key, types, shape,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        BatchBody(HopperCode(builder, loc), plan, problem, epilogue, args)
            .emit();
      });
}
