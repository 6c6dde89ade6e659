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

int64_t nvidia::tiledMatmulBytes(const TileShape &shape, int64_t stageBytes) {
  int64_t staging = shape.m * (shape.n + kStagingPadding) * 4;
  return std::max(stageBytes * shape.stages, staging);
}

int64_t nvidia::stagesThatFit(const TileShape &shape, int64_t stageBytes,
                              const Chip &chip, int64_t wanted) {
  if (tiledMatmulBytes(shape, 0) > chip.sharedBytes)
    return 0;
  int64_t stages = std::min(wanted, chip.sharedBytes / stageBytes);
  return stages < 2 ? 0 : stages;
}

/// Block index to (tile row, tile column): groups of rows, column by column.
static std::pair<Value, Value> rasterize(ThreadCode &code, Value block,
                                         Value tilesM, Value tilesN) {
  Value perGroup = code.mul(tilesN, kRasterGroup);
  Value firstRow = code.mul(code.div(block, perGroup), kRasterGroup);
  Value rows =
      code.min(code.sub(tilesM, firstRow), code.constant(kRasterGroup));
  Value inGroup = code.rem(block, perGroup);
  return {code.add(firstRow, code.rem(inGroup, rows)), code.div(inGroup, rows)};
}

namespace {
/// Writes the body of one kernel.
struct KernelWriter {
  const MatmulProblem &problem;
  const TileShape &shape;
  TileSource &sourceA, &sourceB;
  TileMultiplier &multiplier;
  int64_t numSteps; ///< K steps.

  void write(ThreadCode &code, ValueRange args);

private:
  int64_t stageBytes() const {
    return sourceA.stageBytes() + sourceB.stageBytes();
  }
  SmallVector<Value> accumulate(ThreadCode &code, Value shared);
  void stageSums(ThreadCode &code, Value shared, ValueRange sums, Value lane,
                 Value warpRow, Value warpCol);
};
} // namespace

SmallVector<Value> KernelWriter::accumulate(ThreadCode &code, Value shared) {
  int64_t ahead = shape.stages - 1;
  int64_t bytesA = sourceA.stageBytes();
  auto bring = [&](ThreadCode &inner, Value step, Value stage,
                   llvm::function_ref<void()> meanwhile) {
    Value stageA = inner.at(shared, stage);
    Value stageB = inner.at(stageA, bytesA);
    SmallVector<Value> fetchedA = sourceA.fetch(inner, step, stageA);
    SmallVector<Value> fetchedB = sourceB.fetch(inner, step, stageB);
    inner.commitCopies();
    meanwhile();
    sourceA.store(inner, fetchedA, stageA);
    sourceB.store(inner, fetchedB, stageB);
  };
  // Steps past the end bring zeros, which keeps the count of copies in flight.
  code.loop(code.constant(0), code.constant(ahead), 1, {},
            [&](ThreadCode &inner, Value step, ValueRange) {
              bring(inner, step, inner.mul(step, stageBytes()), [] {});
              return SmallVector<Value>();
            });
  Value zero = code.zero(code.f32());
  SmallVector<Value> carried(shape.fragmentsM() * shape.fragmentsN() * 4, zero);
  size_t numSums = carried.size();
  carried.push_back(code.constant(0));
  carried.push_back(code.constant(ahead * stageBytes()));
  Value last = code.constant((shape.stages - 1) * stageBytes());
  SmallVector<Value> results = code.loop(
      code.constant(0), code.constant(numSteps), 1, carried,
      [&](ThreadCode &inner, Value step, ValueRange values) {
        SmallVector<Value> sums(values.take_front(numSums));
        Value reading = values[numSums], writing = values[numSums + 1];
        inner.waitForCopies(ahead - 1);
        // The tile of this step is complete, and nobody reads any more the one
        // of the step before, which is overwritten next.
        inner.barrier();
        bring(inner, inner.add(step, ahead), writing, [&] {
          Value stageA = inner.at(shared, reading);
          multiplier.multiply(inner, stageA, inner.at(stageA, bytesA), sums);
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

void KernelWriter::stageSums(ThreadCode &code, Value shared, ValueRange sums,
                             Value lane, Value warpRow, Value warpCol) {
  int64_t stride = shape.n + kStagingPadding;
  Value row = code.add(warpRow, code.shr(lane, 2));
  Value col = code.add(warpCol, code.shl(code.band(lane, 3), 1));
  Value base =
      code.element(shared, code.f32(), code.add(code.mul(row, stride), col));
  size_t next = 0;
  for (int64_t i = 0; i < shape.fragmentsM(); ++i)
    for (int64_t j = 0; j < shape.fragmentsN(); ++j)
      for (int64_t half = 0; half < 2; ++half, next += 2)
        code.store(code.pack({sums[next], sums[next + 1]}),
                   code.at(base, ((i * 16 + half * 8) * stride + j * 8) * 4),
                   8);
}

void KernelWriter::write(ThreadCode &code, ValueRange args) {
  ValueRange buffersA = args.take_front(problem.lhs.buffers.size());
  args = args.drop_front(buffersA.size());
  ValueRange buffersB = args.take_front(problem.rhs.buffers.size());
  args = args.drop_front(buffersB.size());
  auto size = [&](std::optional<int64_t> known, Value given) {
    return known ? code.constant(*known) : code.narrow(given);
  };
  Value rows = size(problem.staticRows(), args[0]);
  Value cols = size(problem.staticCols(), args[1]);
  args = args.drop_front(2);

  Value thread = code.threadId();
  Value lane = code.band(thread, 31), warp = code.shr(thread, 5);
  Value warpRow = code.mul(code.div(warp, shape.warpsN()), shape.warpRows());
  Value warpCol = code.mul(code.rem(warp, shape.warpsN()), shape.warpCols());
  auto tiles = [&](Value extent, int64_t tile) {
    return code.div(code.add(extent, tile - 1), tile);
  };
  Value tilesM = tiles(rows, shape.m), tilesN = tiles(cols, shape.n);
  Value perBatch = code.mul(tilesM, tilesN);
  Value block = code.blockId();
  Value batch = code.div(block, perBatch);
  auto [tileM, tileN] =
      rasterize(code, code.rem(block, perBatch), tilesM, tilesN);
  Value row0 = code.mul(tileM, shape.m), col0 = code.mul(tileN, shape.n);

  Value shared = sharedMemory(code);
  sourceA.begin(code, buffersA, {batch, row0, rows, thread});
  sourceB.begin(
      code, buffersB,
      {problem.rhsShared ? code.constant(0) : batch, col0, cols, thread});
  multiplier.begin(code, lane, warpRow, warpCol);
  SmallVector<Value> sums = accumulate(code, shared);

  // The stages become the place where the result is put together.
  code.waitForCopies(0);
  code.barrier();
  stageSums(code, shared, sums, lane, warpRow, warpCol);
  MatmulEpilogue::State state =
      problem.epilogue.begin(code, args, batch, rows, cols);
  code.barrier();
  problem.epilogue.emitTile(code, args, state, shared, shape.m, shape.n,
                            shape.n + kStagingPadding, shape.threads(), row0,
                            col0);
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
  arguments.append({problem.rows, problem.cols});
  types.append(2, builder.getIndexType());
  llvm::append_range(arguments, problem.epilogue.arguments());
  llvm::append_range(types, problem.epilogue.argumentTypes());

  KernelWriter writer{problem,    shape,
                      sourceA,    sourceB,
                      multiplier, (problem.depth + tile.k - 1) / tile.k};
  LaunchShape launch;
  launch.threads = shape.threads();
  launch.sharedBytes =
      tiledMatmulBytes(shape, sourceA.stageBytes() + sourceB.stageBytes());
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, name, name.str() + problem.key() + tile.text(), types, launch,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        ThreadCode code(inner, loc);
        writer.write(code, args);
      });
  IndexMath math(builder, loc);
  Value blocks = math.mul(math.mul(math.ceilDiv(problem.rows, shape.m),
                                   math.ceilDiv(problem.cols, shape.n)),
                          problem.batch);
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
}
