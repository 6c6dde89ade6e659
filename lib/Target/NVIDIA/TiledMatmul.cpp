//===-- TiledMatmul.cpp - The loop around warp-level mma.sync -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/TiledMatmul.h"
#include "blockscale/Kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

/// Rows of tiles whose blocks run next to each other, so that they share
/// columns of B in the L2 cache.
static constexpr int64_t kRasterGroup = 8;
/// Columns between rows of the staged result: keeps pairs of f32 that a half
/// warp stores in different banks.
static constexpr int64_t kStagingPadding = 8;
/// Of a thread that quantizes a block of the result: its values, and what
/// becomes of them.
static constexpr int64_t kQuantizingRegisters = 40;

/// The dynamic shared memory of the kernels of a module.
static Value sharedMemory(ThreadCode &code) {
  MLIRContext *context = code.builder.getContext();
  constexpr StringLiteral name = "blockscale_shared";
  auto module = code.builder.getBlock()
                    ->getParentOp()
                    ->getParentOfType<gpu::GPUModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        moduleBuilder, module.getLoc(),
        LLVM::LLVMArrayType::get(moduleBuilder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
        /*alignment=*/128, /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(
      code.builder, code.loc, LLVM::LLVMPointerType::get(context, 3), name);
}

/// Rows of the result that are staged at a time: a row of fragments of every
/// warp.
static int64_t stagedRows(const TileShape &shape) {
  return 16 * shape.warpsM();
}

int64_t nvidia::tiledMatmulBytes(const TileShape &shape, int64_t stageBytes) {
  // While the result is staged in the last stage, the others are filled anew.
  int64_t staging = stagedRows(shape) * (shape.n + kStagingPadding) * 4;
  return stageBytes * (shape.stages - 1) + std::max(stageBytes, staging);
}

int64_t nvidia::residentBlocks(const TileShape &shape, int64_t stageBytes,
                               int64_t registers, const Chip &chip) {
  // Of a multiprocessor of every chip of the table.
  constexpr int64_t kThreads = 1536, kRegisters = 65536;
  // Fragments and addresses; and what is enough for every tile but the largest,
  // so that more blocks are not bought with spills.
  constexpr int64_t kOtherRegisters = 52, kEnough = 128;
  registers += shape.fragmentsM() * shape.fragmentsN() * 4 + kOtherRegisters;
  registers = std::max(registers, kEnough);
  int64_t blocks = std::min(
      {kThreads / shape.threads(), kRegisters / (shape.threads() * registers),
       chip.sharedBytes / tiledMatmulBytes(shape, stageBytes)});
  return std::max<int64_t>(1, blocks);
}

int64_t nvidia::stagesThatFit(TileShape shape, int64_t stageBytes,
                              const Chip &chip, int64_t wanted) {
  for (shape.stages = wanted; shape.stages >= 2; --shape.stages)
    if (tiledMatmulBytes(shape, stageBytes) <= chip.sharedBytes)
      return shape.stages;
  return 0;
}

/// The number of a tile to (tile row, tile column): groups of rows, column by
/// column.
static std::pair<Value, Value> rasterize(ThreadCode &code, Value tile,
                                         Value tilesM, Value tilesN) {
  Value perGroup = code.mul(tilesN, kRasterGroup);
  Value firstRow = code.mul(code.div(tile, perGroup), kRasterGroup);
  Value rows =
      code.min(code.sub(tilesM, firstRow), code.constant(kRasterGroup));
  Value inGroup = code.rem(tile, perGroup);
  return {code.add(firstRow, code.rem(inGroup, rows)), code.div(inGroup, rows)};
}

namespace {
/// Writes the body of one kernel: each block takes one tile of the result after
/// another. While it finishes one, the first stages of the next are on their
/// way.
class KernelWriter {
public:
  KernelWriter(const MatmulProblem &problem, const TileShape &shape,
               TileSource &sourceA, TileSource &sourceB,
               TileMultiplier &multiplier, int64_t numSteps)
      : problem(problem), shape(shape), sourceA(sourceA), sourceB(sourceB),
        multiplier(multiplier), numSteps(numSteps) {}
  void write(ThreadCode &code, ValueRange args);

private:
  /// A tile of the result: its batch, first row and first column.
  struct Place {
    Value batch, row, col;
  };
  int64_t stageBytes() const {
    return sourceA.stageBytes() + sourceB.stageBytes();
  }
  /// Copies that are begun before their step.
  int64_t ahead() const { return shape.stages - 1; }
  Place placeOf(ThreadCode &code, Value tile) const;
  /// Points the sources at a tile.
  void beginSources(ThreadCode &code, const Place &place);
  /// Brings the tiles of a K step to `stage`; `meanwhile` is computed while
  /// what comes through registers is on its way.
  void bring(ThreadCode &code, Value step, Value stage,
             llvm::function_ref<void()> meanwhile);
  void bringFirst(ThreadCode &code);
  SmallVector<Value> accumulate(ThreadCode &code, Value steps);
  /// Writes a tile. `bits` are this thread's of the largest magnitude so far,
  /// or null; they are returned.
  Value finish(ThreadCode &code, ValueRange sums, const Place &place,
               Value bits);
  void stageSums(ThreadCode &code, ValueRange sums);

  const MatmulProblem &problem;
  const TileShape &shape;
  TileSource &sourceA, &sourceB;
  TileMultiplier &multiplier;
  int64_t numSteps; ///< K steps.
  ValueRange buffersA, buffersB, epilogueArgs;
  Value rows, cols, shared, staging, alpha;
  Value thread, lane, warpM, warpN; ///< Of the block, the warp, the block's
                                    ///< rows and columns of warps.
};
} // namespace

KernelWriter::Place KernelWriter::placeOf(ThreadCode &code, Value tile) const {
  auto tiles = [&](Value extent, int64_t size) {
    return code.div(code.add(extent, size - 1), size);
  };
  Value tilesM = tiles(rows, shape.m), tilesN = tiles(cols, shape.n);
  Value perBatch = code.mul(tilesM, tilesN);
  auto [tileM, tileN] =
      rasterize(code, code.rem(tile, perBatch), tilesM, tilesN);
  return {code.div(tile, perBatch), code.mul(tileM, shape.m),
          code.mul(tileN, shape.n)};
}

void KernelWriter::beginSources(ThreadCode &code, const Place &place) {
  sourceA.begin(code, buffersA, {place.batch, place.row, rows, thread});
  sourceB.begin(code, buffersB,
                {problem.rhsShared ? code.constant(0) : place.batch, place.col,
                 cols, thread});
}

void KernelWriter::bring(ThreadCode &code, Value step, Value stage,
                         llvm::function_ref<void()> meanwhile) {
  Value stageA = code.at(shared, stage);
  Value stageB = code.at(stageA, sourceA.stageBytes());
  SmallVector<Value> fetchedA = sourceA.fetch(code, step, stageA);
  SmallVector<Value> fetchedB = sourceB.fetch(code, step, stageB);
  code.commitCopies();
  meanwhile();
  sourceA.store(code, fetchedA, stageA);
  sourceB.store(code, fetchedB, stageB);
}

void KernelWriter::bringFirst(ThreadCode &code) {
  // Steps past the end bring zeros, which keeps the count of copies in flight.
  code.loop(code.constant(0), code.constant(ahead()), 1, {},
            [&](ThreadCode &inner, Value step, ValueRange) {
              bring(inner, step, inner.mul(step, stageBytes()), [] {});
              return SmallVector<Value>();
            });
}

SmallVector<Value> KernelWriter::accumulate(ThreadCode &code, Value steps) {
  Value zero = code.zero(code.f32());
  SmallVector<Value> carried(shape.fragmentsM() * shape.fragmentsN() * 4, zero);
  size_t numSums = carried.size();
  carried.push_back(code.constant(0));
  carried.push_back(code.constant(ahead() * stageBytes()));
  Value last = code.constant((shape.stages - 1) * stageBytes());
  SmallVector<Value> results = code.loop(
      code.constant(0), steps, 1, carried,
      [&](ThreadCode &inner, Value step, ValueRange values) {
        SmallVector<Value> sums(values.take_front(numSums));
        Value reading = values[numSums], writing = values[numSums + 1];
        inner.waitForCopies(ahead() - 1);
        // The tile of this step is complete, and nobody reads any more the one
        // of the step before, which is overwritten next.
        inner.barrier();
        bring(inner, inner.add(step, ahead()), writing, [&] {
          Value stageA = inner.at(shared, reading);
          multiplier.multiply(inner, stageA,
                              inner.at(stageA, sourceA.stageBytes()), sums);
        });
        auto next = [&](Value stage) {
          return inner.select(inner.eq(stage, last), inner.constant(0),
                              inner.add(stage, stageBytes()));
        };
        sums.push_back(next(reading));
        sums.push_back(next(writing));
        return sums;
      });
  results.truncate(numSums);
  return results;
}

/// Stores a row of fragments of this warp.
void KernelWriter::stageSums(ThreadCode &code, ValueRange sums) {
  int64_t stride = shape.n + kStagingPadding;
  Value row = code.add(code.mul(warpM, 16), code.shr(lane, 2));
  Value col = code.add(code.mul(warpN, shape.warpCols()),
                       code.shl(code.band(lane, 3), 1));
  Value base =
      code.element(staging, code.f32(), code.add(code.mul(row, stride), col));
  for (int64_t j = 0; j < shape.fragmentsN(); ++j)
    for (int64_t half = 0; half < 2; ++half) {
      size_t first = (j * 2 + half) * 2;
      code.store(code.pack({sums[first], sums[first + 1]}),
                 code.at(base, (half * 8 * stride + j * 8) * 4), 8);
    }
}

Value KernelWriter::finish(ThreadCode &code, ValueRange sums,
                           const Place &place, Value bits) {
  MatmulEpilogue::State state = problem.epilogue.begin(
      code, epilogueArgs, place.batch, rows, cols, alpha);
  size_t numSums = shape.fragmentsN() * 4;
  Value last = code.constant(shape.fragmentsM() - 1);
  SmallVector<Value> carried(sums);
  if (bits)
    carried.push_back(bits);
  // One row of fragments after another, the next ones moving up.
  SmallVector<Value> results =
      code.loop(code.constant(0), code.constant(shape.fragmentsM()), 1, carried,
                [&](ThreadCode &inner, Value fragment, ValueRange values) {
                  ValueRange left = values.take_front(sums.size());
                  stageSums(inner, left.take_front(numSums));
                  inner.barrier();
                  auto rowOf = [&](ThreadCode &at, Value staged) {
                    Value warpRow = at.mul(at.shr(staged, 4), shape.warpRows());
                    Value inWarp =
                        at.add(at.shl(fragment, 4), at.band(staged, 15));
                    return at.add(place.row, at.add(warpRow, inWarp));
                  };
                  int64_t rowCount = stagedRows(shape),
                          stride = shape.n + kStagingPadding;
                  problem.epilogue.emitTile(inner, epilogueArgs, state, staging,
                                            rowCount, shape.n, stride,
                                            shape.threads(), rowOf, place.col);
                  SmallVector<Value> next(left.drop_front(numSums));
                  llvm::append_range(next, left.take_front(numSums));
                  if (bits)
                    next.push_back(problem.epilogue.amaxOfTile(
                        inner, state, values.back(), staging, rowCount, shape.n,
                        stride, shape.threads(), rowOf, place.col));
                  // The next tile's first step has a barrier of its own.
                  inner.branch(inner.lt(fragment, last),
                               [](ThreadCode &at) { at.barrier(); });
                  return next;
                });
  return bits ? results.back() : Value();
}

void KernelWriter::write(ThreadCode &code, ValueRange args) {
  buffersA = args.take_front(problem.lhs.buffers.size());
  args = args.drop_front(buffersA.size());
  buffersB = args.take_front(problem.rhs.buffers.size());
  args = args.drop_front(buffersB.size());
  auto size = [&](std::optional<int64_t> known, Value given) {
    return known ? code.constant(*known) : code.narrow(given);
  };
  rows = size(problem.staticRows(), args[0]);
  cols = size(problem.staticCols(), args[1]);
  Value tiles = code.narrow(args[2]);
  epilogueArgs = args.drop_front(3);

  thread = code.threadId();
  lane = code.band(thread, 31);
  Value warp = code.shr(thread, 5);
  warpM = code.div(warp, shape.warpsN());
  warpN = code.rem(warp, shape.warpsN());
  shared = sharedMemory(code);
  staging = code.at(shared, ahead() * stageBytes());
  alpha = problem.epilogue.loadAlpha(code, epilogueArgs);
  multiplier.begin(code, lane, code.mul(warpM, shape.warpRows()),
                   code.mul(warpN, shape.warpCols()));

  // A pass multiplies and finishes a tile and brings the first steps of the
  // next one: of the block's first tile, in a pass that multiplies nothing, so
  // that the code of both is there once.
  Value block = code.blockId(), blocks = code.gridSize();
  SmallVector<Value> initial;
  if (problem.epilogue.amax)
    initial.push_back(code.constant(0));
  SmallVector<Value> bits = code.loop(
      block, code.add(tiles, blocks), blocks, initial,
      [&](ThreadCode &inner, Value next, ValueRange carried) {
        Value hasTile = inner.lt(block, next);
        Place place = placeOf(inner, inner.sub(next, blocks));
        beginSources(inner, place);
        multiplier.beginTile(inner);
        Value steps =
            inner.select(hasTile, inner.constant(numSteps), inner.constant(0));
        SmallVector<Value> sums = accumulate(inner, steps);
        // Nobody reads the stages any more.
        inner.waitForCopies(0);
        inner.barrier();
        inner.branch(inner.lt(next, tiles), [&](ThreadCode &branch) {
          beginSources(branch, placeOf(branch, next));
          bringFirst(branch);
        });
        return inner.choose(hasTile, carried, [&](ThreadCode &some) {
          Value amax =
              finish(some, sums, place, carried.empty() ? Value() : carried[0]);
          return amax ? SmallVector<Value>{amax} : SmallVector<Value>();
        });
      });
  if (!bits.empty())
    problem.epilogue.storeAmax(code, epilogueArgs, bits[0]);
}

void nvidia::generateTiledMatmul(OpBuilder &builder, Location loc,
                                 GPUKernelSet &kernelSet,
                                 const MatmulProblem &problem,
                                 const MatmulTile &tile, const TileShape &shape,
                                 StringRef name, TileSource &sourceA,
                                 TileSource &sourceB,
                                 TileMultiplier &multiplier) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value> arguments(problem.lhs.buffers.begin(),
                               problem.lhs.buffers.end());
  llvm::append_range(arguments, problem.rhs.buffers);
  SmallVector<Type> types(arguments.size(), ThreadCode::globalPointer(context));
  IndexMath math(builder, loc);
  Value tiles = math.mul(math.mul(math.ceilDiv(problem.rows, shape.m),
                                  math.ceilDiv(problem.cols, shape.n)),
                         problem.batch);
  arguments.append({problem.rows, problem.cols, tiles});
  types.append(3, builder.getIndexType());
  llvm::append_range(arguments, problem.epilogue.arguments());
  llvm::append_range(types, problem.epilogue.argumentTypes());

  KernelWriter writer(problem, shape, sourceA, sourceB, multiplier,
                      (problem.depth + tile.k - 1) / tile.k);
  LaunchShape launch;
  int64_t stageBytes = sourceA.stageBytes() + sourceB.stageBytes();
  launch.threads = shape.threads();
  launch.persistent = true;
  launch.sharedBytes = tiledMatmulBytes(shape, stageBytes);
  int64_t registers = sourceA.registers() + sourceB.registers();
  if (problem.epilogue.quantized)
    registers += kQuantizingRegisters;
  launch.resident =
      residentBlocks(shape, stageBytes, registers, kernelSet.getChip());
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, name, name.str() + problem.key() + tile.text(), types, launch,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        ThreadCode code(inner, loc);
        writer.write(code, args);
      });
  kernelSet.launchRaw(builder, loc, kernel,
                      {tiles, math.constant(1), math.constant(1)}, arguments);
}
