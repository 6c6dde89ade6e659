//===-- PrefillKernel.cpp - Many tokens times packed weights --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product on the tensor cores whose weights stay packed until they reach the
// registers: wgmma takes them as its A operand, 64 rows of B per warpgroup,
// and reads the tokens from shared memory. The tile of the result is therefore
// transposed: rows are B's, columns tokens.
//
// Two warpgroups multiply; one warp of a third copies: activations and weights
// by TMA, scales by cp.async, through a ring of stages of 64 columns of K. One
// warpgroup dequantizes while the other's wgmma run. Blocks go through tiles in
// an order that keeps both operands in the L2 cache.
//
//===----------------------------------------------------------------------===//
#include "PrefillKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

/// Threads that multiply.
static constexpr int64_t kConsumers = 256;
/// Tokens of the result that go through shared memory at a time.
static constexpr int64_t kOutTokens = 32;
/// Floats from token to token there: rows and padding against bank conflicts.
static constexpr int64_t kOutStride = PrefillPlan::rows() + 4;
/// Registers of a thread that copies, and of one that multiplies.
static constexpr int64_t kProducerRegisters = 40, kConsumerRegisters = 232;

namespace {

struct PrefillLayout {
  PrefillLayout(const PrefillPlan &plan, const PrefillProblem &problem) {
    tokenBytes = plan.tokens * kStageK * 2;
    weightRow = kStageK * problem.format.bits() / 8;
    weightBytes = PrefillPlan::rows() * weightRow;
    // Activations first: the swizzle wants 1024 bytes of alignment.
    weightsOffset = plan.stages * tokenBytes;
    scalesOffset = weightsOffset + plan.stages * weightBytes;
    outOffset = scalesOffset + plan.stages * scaleBytes;
    barriersOffset =
        outOffset + std::min(kOutTokens, plan.tokens) * kOutStride * 4;
    sharedBytes = barriersOffset + 2 * plan.stages * 8;
  }
  int64_t tokenBytes, weightRow, weightBytes;
  static constexpr int64_t scaleBytes = PrefillPlan::rows() * 4;
  int64_t weightsOffset, scalesOffset, outOffset, barriersOffset, sharedBytes;
};

/// Where a block is in the ring, as carried values.
struct RingPlace {
  Value stage, parity;
};

class PrefillBody {
public:
  PrefillBody(HopperCode code, const PrefillPlan &plan,
              const PrefillProblem &problem, const MatmulEpilogue &epilogue,
              ValueRange args)
      : code(code), plan(plan), problem(problem), layout(plan, problem),
        format(problem.format), epilogue(epilogue), args(args) {}
  void emit();

private:
  int64_t steps() const { return llvm::divideCeil(problem.k, kStageK); }
  int64_t numSums() const { return plan.tokens / 2; }
  ValueRange epilogueArgs() const { return args.drop_front(6); }

  Value stagePointer(HopperCode &c, int64_t offset, Value stage,
                     int64_t bytes) const {
    return c.at(c.at(shared, offset), c.mul(stage, bytes));
  }
  Value full(HopperCode &c, Value stage) const {
    return stagePointer(c, layout.barriersOffset, stage, 8);
  }
  Value empty(HopperCode &c, Value stage) const {
    return stagePointer(c, layout.barriersOffset + 8 * plan.stages, stage, 8);
  }
  RingPlace after(HopperCode &c, RingPlace place) const {
    Value next = c.add(place.stage, 1);
    Value wraps = c.eq(next, c.constant(plan.stages));
    return {c.select(wraps, c.constant(0), next),
            c.select(wraps, c.bxor(place.parity, c.constant(1)), place.parity)};
  }

  /// Runs `body(first token, first row, batch, carried)` for the block's tiles.
  void forTiles(HopperCode &c, ValueRange initial,
                llvm::function_ref<
                    SmallVector<Value>(HopperCode &, Value token0, Value row0,
                                       Value batch, ValueRange carried)>
                    body) const;
  void produce(HopperCode &c) const;
  void consume(HopperCode &c) const;
  SmallVector<Value> fragments(HopperCode &c, Value stage, Value step) const;
  void store(HopperCode &c, ArrayRef<Value> sums, Value token0, Value row0,
             Value batch) const;

  HopperCode code;
  const PrefillPlan &plan;
  const PrefillProblem &problem;
  PrefillLayout layout;
  const WeightFormat &format;
  const MatmulEpilogue &epilogue;
  ValueRange args;
  Value shared, thread, rowsM, rowsN, batches;
};

} // namespace

void PrefillBody::forTiles(HopperCode &c, ValueRange initial,
                           llvm::function_ref<SmallVector<Value>(
                               HopperCode &, Value, Value, Value, ValueRange)>
                               body) const {
  Value tilesM = c.div(c.add(rowsM, plan.tokens - 1), plan.tokens);
  Value tilesN = c.div(c.add(rowsN, plan.rows() - 1), plan.rows());
  Value perBatch = c.mul(tilesM, tilesN);
  Value perGroup = c.mul(tilesN, plan.group);
  Value total = c.mul(perBatch, batches);
  Value step = c.gridSize();
  c.loopBy(c.blockId(), total, step, initial,
           [&](ThreadCode &inner, Value tile, ValueRange carried) {
             HopperCode h(inner);
             Value batch = h.div(tile, perBatch);
             Value inBatch = h.rem(tile, perBatch);
             Value group = h.div(inBatch, perGroup);
             Value inGroup = h.rem(inBatch, perGroup);
             Value firstM = h.mul(group, plan.group);
             // The last group may be narrower.
             Value width = h.min(h.sub(tilesM, firstM), h.constant(plan.group));
             Value m = h.add(firstM, h.rem(inGroup, width));
             Value n = h.div(inGroup, width);
             return body(h, h.mul(m, plan.tokens), h.mul(n, plan.rows()), batch,
                         carried);
           });
}

void PrefillBody::produce(HopperCode &outer) const {
  Value lane = outer.band(thread, 31);
  Value zero = outer.constant(0);
  kernels::ScaleAddress scaleAddress(problem.scalesType);
  // The stages are empty at first: the first wait must not block.
  forTiles(
      outer, {zero, outer.constant(1)},
      [&](HopperCode &tileCode, Value token0, Value row0, Value batch,
          ValueRange carried) {
        Value weightBatch =
            problem.sharedWeights ? tileCode.constant(0) : batch;
        auto index = [](HopperCode &c, Value value) -> Value {
          return arith::IndexCastUIOp::create(c.builder, c.loc,
                                              c.builder.getIndexType(), value);
        };
        constexpr int64_t rowsPerLane = PrefillPlan::rows() / 32;
        SmallVector<Value> scaleRows;
        for (int64_t i = 0; i < rowsPerLane; ++i) {
          Value row =
              tileCode.min(tileCode.add(row0, tileCode.add(lane, 32 * i)),
                           tileCode.sub(rowsN, tileCode.constant(1)));
          Value offset = scaleAddress.offset(
              tileCode.builder, tileCode.loc, index(tileCode, weightBatch),
              args[4], index(tileCode, row), index(tileCode, zero));
          scaleRows.push_back(tileCode.at(args[2], tileCode.wideIndex(offset)));
        }
        return tileCode.loop(
            zero, tileCode.constant(steps()), 1, carried,
            [&](ThreadCode &inner, Value step, ValueRange place) {
              HopperCode c(inner);
              Value stage = place[0], parity = place[1];
              Value barrier = full(c, stage);
              c.waitParity(empty(c, stage), parity);
              Value k = c.mul(step, kStageK);
              c.branch(c.eq(lane, c.constant(0)), [&](ThreadCode &single) {
                HopperCode h(single);
                h.expectBytes(barrier, layout.tokenBytes + layout.weightBytes);
                h.copyBox(stagePointer(h, 0, stage, layout.tokenBytes), args[0],
                          {k, token0, batch}, barrier);
                h.copyBox(stagePointer(h, layout.weightsOffset, stage,
                                       layout.weightBytes),
                          args[1],
                          {h.mul(step, layout.weightRow), row0, weightBatch},
                          barrier);
              });
              // The word that holds the scales of this stage.
              Value word = c.div(c.div(k, format.block()), 4);
              Value bytes = c.mul(word, scaleAddress.isTiled() ? 512 : 4);
              Value target = stagePointer(c, layout.scalesOffset, stage,
                                          layout.scaleBytes);
              for (int64_t i = 0; i < rowsPerLane; ++i)
                c.copyAsync(c.at(target, c.mul(c.add(lane, 32 * i), 4)),
                            c.at(scaleRows[i], c.wide(bytes)), 4,
                            arith::ConstantOp::create(
                                c.builder, c.loc, c.builder.getBoolAttr(true)));
              c.arriveAfterCopies(barrier);
              RingPlace next = after(c, {stage, parity});
              return SmallVector<Value>{next.stage, next.parity};
            });
      });
  // A block may not end before its copies have landed.
  outer.waitForCopies(0);
}

/// The registers of A for a stage: four steps of 16.
SmallVector<Value> PrefillBody::fragments(HopperCode &c, Value stage,
                                          Value step) const {
  Value lane = c.band(thread, 31);
  Value warpRow = c.mul(c.shr(thread, 5), 16);
  Value row = c.add(warpRow, c.shr(lane, 2));
  Value quad = c.band(lane, 3);
  int64_t elementBytes = format.bits() == 4 ? 1 : 2; // Of two neighbours.
  Value weights =
      c.at(stagePointer(c, layout.weightsOffset, stage, layout.weightBytes),
           c.add(c.mul(row, layout.weightRow), c.mul(quad, elementBytes)));
  Value scales =
      c.at(stagePointer(c, layout.scalesOffset, stage, layout.scaleBytes),
           c.mul(row, 4));
  int64_t count = std::max<int64_t>(1, kStageK / format.block());
  Type stored = c.builder.getIntegerType(8 * elementBytes);
  SmallVector<WeightFormat::Multipliers> multipliers;
  for (int64_t half = 0; half < 2; ++half) {
    Value word = c.load(c.i32(), c.at(scales, half * 8 * 4), 4);
    if (count < 4) {
      // Which of the word's scales: K in scales, modulo 4.
      Value first = c.band(c.div(c.mul(step, kStageK), format.block()), 3);
      word = c.shiftRight(word, c.mul(first, 8));
    }
    multipliers.push_back(format.multipliers(c, word, count));
  }
  SmallVector<Value> a;
  for (int64_t s = 0; s < kStageK / 16; ++s)
    for (int64_t high = 0; high < 2; ++high)
      for (int64_t half = 0; half < 2; ++half) {
        int64_t offset =
            half * 8 * layout.weightRow + (s * 8 + high * 4) * elementBytes;
        Value pair = c.load(stored, c.at(weights, offset), elementBytes);
        pair = c.builder.createOrFold<arith::ExtUIOp>(c.loc, c.i32(), pair);
        size_t which = std::min<size_t>(s * 16 / format.block(), count - 1);
        a.push_back(
            format.decodeNeighbours(c, pair, multipliers[half].pairs[which]));
      }
  return a;
}

void PrefillBody::consume(HopperCode &outer) const {
  Value zero = outer.constant(0);
  Value isFirstLane = outer.eq(outer.band(thread, 31), zero);
  forTiles(
      outer, {zero, zero},
      [&](HopperCode &tileCode, Value token0, Value row0, Value batch,
          ValueRange place) {
        SmallVector<Value> carried(numSums(), tileCode.zero(tileCode.f32()));
        llvm::append_range(carried, place);
        SmallVector<Value> results = tileCode.loop(
            zero, tileCode.constant(steps()), 1, carried,
            [&](ThreadCode &inner, Value step, ValueRange values) {
              HopperCode c(inner);
              SmallVector<Value> sums(values.take_front(numSums()));
              RingPlace place{values[numSums()], values[numSums() + 1]};
              c.waitParity(full(c, place.stage), place.parity);
              SmallVector<Value> a = fragments(c, place.stage, step);
              // 128-byte swizzle: 8 tokens are 1024 bytes.
              Value start = c.shr(c.sharedAddress(stagePointer(
                                      c, 0, place.stage, layout.tokenBytes)),
                                  4);
              int64_t fixed = int64_t(1) << 16 | int64_t(1024 / 16) << 32 |
                              int64_t(1) << 62;
              SmallVector<Value> descriptors;
              for (int64_t s = 0; s < kStageK / 16; ++s)
                descriptors.push_back(
                    c.bor(c.wide(c.add(start, 2 * s)), c.constant64(fixed)));
              sums = c.wgmmaRegisters(sums, plan.tokens, a, descriptors);
              sums = c.wgmmaWait(sums, 0);
              c.branch(isFirstLane, [&](ThreadCode &single) {
                HopperCode h(single);
                h.arrive(empty(h, place.stage));
              });
              RingPlace next = after(c, place);
              sums.push_back(next.stage);
              sums.push_back(next.parity);
              return sums;
            });
        store(tileCode, ArrayRef(results).take_front(numSums()), token0, row0,
              batch);
        return SmallVector<Value>(ArrayRef(results).take_back(2));
      });
}

/// The tile of sums through shared memory to the epilogue, some tokens at a
/// time.
void PrefillBody::store(HopperCode &c, ArrayRef<Value> sums, Value token0,
                        Value row0, Value batch) const {
  MatmulEpilogue::State state =
      epilogue.begin(c, epilogueArgs(), batch, rowsM, rowsN);
  Value lane = c.band(thread, 31);
  Value row = c.add(c.mul(c.shr(thread, 5), 16), c.shr(lane, 2));
  Value start = c.add(c.mul(c.mul(c.band(lane, 3), 2), kOutStride), row);
  Value area = c.at(shared, layout.outOffset);
  Value factor;
  if (format.deferredExponent())
    factor = arith::ConstantOp::create(
        c.builder, c.loc,
        c.builder.getF32FloatAttr(std::ldexp(1.0f, format.deferredExponent())));
  int64_t chunk = std::min(kOutTokens, plan.tokens);
  for (int64_t first = 0; first < plan.tokens; first += chunk) {
    c.namedBarrier(1, kConsumers); // The last chunk has been read.
    for (int64_t tile = 0; tile < chunk / 8; ++tile)
      for (int64_t i = 0; i < 4; ++i) {
        // Registers: (row, token), (row, token + 1), then row + 8.
        Value sum = sums[(first / 8 + tile) * 4 + i];
        if (factor)
          sum = arith::MulFOp::create(c.builder, c.loc, sum, factor);
        int64_t offset = (tile * 8 + i % 2) * kOutStride + i / 2 * 8;
        c.store(sum, c.element(area, c.f32(), c.add(start, offset)), 4);
      }
    c.namedBarrier(1, kConsumers);
    epilogue.emitTile(c, epilogueArgs(), state, area, chunk, plan.rows(),
                      kOutStride, kConsumers, c.add(token0, first), row0);
  }
}

void PrefillBody::emit() {
  shared = code.sharedMemory();
  thread = code.threadId();
  rowsM = code.narrow(args[3]);
  rowsN = code.narrow(args[4]);
  batches = code.narrow(args[5]);
  code.branch(code.eq(thread, code.constant(0)), [&](ThreadCode &single) {
    HopperCode c(single);
    for (int64_t stage = 0; stage < plan.stages; ++stage) {
      // One thread announces bytes, 32 lanes their copies of scales.
      c.initBarrier(full(c, c.constant(stage)), 33);
      c.initBarrier(empty(c, c.constant(stage)), kConsumers / 32);
    }
    c.fenceBarrierInit();
  });
  code.barrier();
  Value consumes = code.lt(thread, code.constant(kConsumers));
  code.branchElse(
      consumes,
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        c.registers(kConsumerRegisters, /*increase=*/true);
        consume(c);
      },
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        c.registers(kProducerRegisters, /*increase=*/false);
        c.branch(c.lt(thread, c.constant(kConsumers + 32)),
                 [&](ThreadCode &warp) {
                   HopperCode h(warp);
                   produce(h);
                 });
      });
}

bool sm90::prefillSupports(const WeightFormat &format, int64_t k,
                           bool tiledScales) {
  int64_t columns = k / format.block();
  return k % format.block() == 0 && format.block() >= 16 &&
         (k * format.bits() / 8) % 16 == 0 && k % 8 == 0 &&
         (tiledScales || columns % 4 == 0);
}

int64_t sm90::prefillSharedBytes(const PrefillPlan &plan,
                                 const PrefillProblem &problem) {
  return PrefillLayout(plan, problem).sharedBytes;
}

func::FuncOp sm90::prefillKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                 const PrefillPlan &plan,
                                 const PrefillProblem &problem,
                                 const MatmulEpilogue &epilogue) {
  MLIRContext *context = loc.getContext();
  Type map = LLVM::LLVMPointerType::get(context);
  Type index = IndexType::get(context);
  SmallVector<Type> types{map,   map,   ThreadCode::globalPointer(context),
                          index, index, index};
  llvm::append_range(types, epilogue.argumentTypes());
  std::string key =
      kernels::kernelKey("sm90.prefill", plan.tokens, plan.stages, plan.group,
                         problem.format.key(), problem.k, problem.scalesType,
                         problem.sharedWeights, epilogue.key());
  nvidia::LaunchShape shape;
  shape.threads = PrefillPlan::threads();
  shape.sharedBytes = static_cast<int32_t>(prefillSharedBytes(plan, problem));
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, "blockscale_prefill", key, types, shape,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        PrefillBody(HopperCode(builder, loc), plan, problem, epilogue, args)
            .emit();
      });
  // setmaxnreg needs a known number of registers at the start.
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  OpBuilder(context).getI32IntegerAttr(1));
  return kernel;
}
