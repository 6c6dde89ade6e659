//===-- Matmul.cpp - Matmuls by block-scaled mma.sync ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScaledSource.h"
#include "blockscale/Target/NVIDIA/TiledSchedule.h"
#include "blockscale/Target/SM120/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::sm120;

namespace {

/// A mma.sync.block_scale, as data.
struct Atom {
  llvm::StringLiteral text;
  NVVM::MMABlockScaleKind kind;
  NVVM::ScaleVecSize vector;
  NVVM::BlockScaleFormat scaleFormat;
  int64_t k;      ///< Elements.
  int64_t scales; ///< Of a row.
  bool inBytes;   ///< Elements of any width in a byte each.

  int64_t block() const { return k / scales; }
};

constexpr Atom kAtoms[] = {
    {"mma.m16n8k64 mxf4nvf4 scale_vec::4X", NVVM::MMABlockScaleKind::MXF4NVF4,
     NVVM::ScaleVecSize::X4, NVVM::BlockScaleFormat::UE4M3, 64, 4, false},
    {"mma.m16n8k64 mxf4 scale_vec::2X", NVVM::MMABlockScaleKind::MXF4,
     NVVM::ScaleVecSize::X2, NVVM::BlockScaleFormat::UE8M0, 64, 2, false},
    {"mma.m16n8k32 mxf8f6f4 scale_vec::1X", NVVM::MMABlockScaleKind::MXF8F6F4,
     NVVM::ScaleVecSize::X1, NVVM::BlockScaleFormat::UE8M0, 32, 1, true},
};

/// What the instruction calls an element.
std::optional<NVVM::MMATypes> elementType(const ElementType &element) {
  static const std::pair<ElementType, NVVM::MMATypes> types[] = {
      {ElementType::floating(4, 3), NVVM::MMATypes::e4m3},
      {ElementType::floating(5, 2), NVVM::MMATypes::e5m2},
      {ElementType::floating(3, 2), NVVM::MMATypes::e3m2},
      {ElementType::floating(2, 3), NVVM::MMATypes::e2m3},
      {ElementType::floating(2, 1), NVVM::MMATypes::e2m1}};
  for (const auto &[type, name] : types)
    if (type == element)
      return name;
  return std::nullopt;
}

bool hasScales(const Atom &atom, const ScaleType &scale) {
  std::string unused;
  return atom.scaleFormat == NVVM::BlockScaleFormat::UE8M0
             ? scale.kind == ScaleType::Kind::E8M0
             : scale == *ScaleType::fromName("ue4m3", unused);
}

bool suits(const Atom &atom, const MatmulSide &side) {
  if (!side.format || side.format->zero != ZeroPoint::None ||
      side.format->blockCols != atom.block() ||
      !hasScales(atom, side.format->scale))
    return false;
  std::optional<NVVM::MMATypes> type = elementType(side.format->element);
  return type && (atom.inBytes || *type == NVVM::MMATypes::e2m1);
}

const Atom *findAtom(const MatmulProblem &problem) {
  for (const Atom &atom : kAtoms)
    if (suits(atom, problem.lhs) && suits(atom, problem.rhs))
      return &atom;
  return nullptr;
}

/// Bytes of a tile's row: 64 of packed elements, 128 of bytes (one word of
/// scales).
int64_t rowBytesOf(const Atom &atom) { return atom.inBytes ? 128 : 64; }
int64_t tileK(const Atom &atom) { return rowBytesOf(atom) / 32 * atom.k; }
int64_t wordsOf(const Atom &atom) {
  return rowBytesOf(atom) / 32 * atom.scales / 4;
}

ScaledSource makeSource(const Atom &atom, const MatmulSide &side,
                        const TileShape &shape, int64_t tileRows) {
  bool padded = atom.inBytes && side.storageBits() == 4;
  return ScaledSource(side, shape, tileRows, wordsOf(atom), padded ? 8 : 16);
}

struct BlockScaledMultiplier : FragmentMultiplier {
  BlockScaledMultiplier(const Atom &atom, const MatmulProblem &problem,
                        const TileShape &shape, ScaledSource &lhs,
                        ScaledSource &rhs)
      : FragmentMultiplier(shape), atom(atom), problem(problem), lhs(lhs),
        rhs(rhs) {}

  void begin(ThreadCode &code, Value lane, Value warpRow,
             Value warpCol) override;
  void beginTile(ThreadCode &code) override {
    lhs.beginScales(code, scaleRowA, shape.fragmentsM() / sharingA());
    rhs.beginScales(code, scaleRowB, shape.fragmentsN() / sharingB());
  }

protected:
  void beginStep(ThreadCode &code, Value stageA, Value stageB,
                 int64_t step) override;
  Registers loadA(ThreadCode &code, Value stage, int64_t i,
                  int64_t step) override {
    return aligned(
        code, problem.lhs,
        fragments.loadA(code, stage, i, step, packedBits(problem.lhs)));
  }
  Registers loadB(ThreadCode &code, Value stage, int64_t j,
                  int64_t step) override {
    return aligned(
        code, problem.rhs,
        fragments.loadB(code, stage, j, step, packedBits(problem.rhs)));
  }
  Value mma(ThreadCode &code, Type result, ValueRange a, ValueRange b,
            ValueRange sums, int64_t i, int64_t j) override;

private:
  /// Fragments whose scales one register of a warp holds.
  int64_t sharingA() const { return std::min<int64_t>(2, shape.fragmentsM()); }
  int64_t sharingB() const { return std::min<int64_t>(4, shape.fragmentsN()); }
  unsigned packedBits(const MatmulSide &side) const {
    return atom.inBytes && side.storageBits() == 4 ? 4 : 0;
  }
  /// ldmatrix leaves an element of 4 bits in the low nibble of its byte; the
  /// instruction reads bits 2 to 5.
  Registers aligned(ThreadCode &code, const MatmulSide &side,
                    Registers registers) const {
    if (packedBits(side))
      for (Value &value : registers)
        value = code.shl(value, 2);
    return registers;
  }
  /// Which byte, or which lane of a quad, holds a scale.
  static Value selector(ThreadCode &code, int64_t value) {
    return arith::ConstantIntOp::create(code.builder, code.loc, value, 16);
  }

  const Atom &atom;
  const MatmulProblem &problem;
  ScaledSource &lhs, &rhs;
  Value scaleRowA, scaleRowB; ///< The first rows whose scales this lane loads.
  /// Of the present step.
  SmallVector<Value> scaleA, scaleB;
  Value scaleByte;
};

struct BlockScaledMatmul : TiledSchedule {
  bool isSupported(const MatmulProblem &problem,
                   const Chip &chip) const override {
    return chip.mmaBlockScale && findAtom(problem);
  }
  std::string describe(const MatmulProblem &problem, const Chip &chip,
                       ArrayRef<MatmulVariant>) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;

protected:
  ArrayRef<Candidate> candidates() const override {
    static constexpr Candidate candidates[] = {
        {16, 64, 6}, {16, 128, 5}, {64, 64, 4}, {64, 128, 4}, {128, 128, 4}};
    return candidates;
  }
  TileRates rates(const MatmulProblem &problem) const override {
    return {findAtom(problem)->inBytes ? 512.0 : 2048.0, 14, 0};
  }
  int64_t rowElements(const MatmulProblem &problem) const override {
    return tileK(*findAtom(problem));
  }
  int64_t rowBytes(const MatmulProblem &problem) const override {
    return rowBytesOf(*findAtom(problem));
  }
  int64_t stageBytes(const MatmulProblem &problem,
                     const TileShape &shape) const override {
    const Atom &atom = *findAtom(problem);
    return makeSource(atom, problem.lhs, shape, shape.m).stageBytes() +
           makeSource(atom, problem.rhs, shape, shape.n).stageBytes();
  }
};

} // namespace

// The scales of a fragment of A lie in two lanes of each quad (rows g and
// g + 8), chosen by the thread-id 0 or 1; those of B in one lane, chosen by 0
// to 3. So the four lanes of a quad read the scales of two fragments of A, or
// four of B: 32 neighbouring rows of the tile.
void BlockScaledMultiplier::begin(ThreadCode &code, Value lane, Value warpRow,
                                  Value warpCol) {
  fragments.begin(code, lane, warpRow, warpCol);
  Value g = code.shr(lane, 2), q = code.band(lane, 3);
  Value half = code.shl(code.band(q, 1), 3);
  Value fragmentA = code.rem(code.shr(q, 1), sharingA());
  Value fragmentB = code.rem(q, sharingB());
  scaleRowA =
      code.add(code.add(warpRow, g), code.add(half, code.shl(fragmentA, 4)));
  scaleRowB = code.add(code.add(warpCol, g), code.shl(fragmentB, 3));
}

void BlockScaledMultiplier::beginStep(ThreadCode &code, Value stageA,
                                      Value stageB, int64_t step) {
  int64_t stepsPerWord = 4 / atom.scales;
  if (step % stepsPerWord == 0) {
    scaleA = lhs.loadScales(code, stageA, step / stepsPerWord);
    scaleB = rhs.loadScales(code, stageB, step / stepsPerWord);
  }
  scaleByte = selector(code, step % stepsPerWord * atom.scales);
}

Value BlockScaledMultiplier::mma(ThreadCode &code, Type result, ValueRange a,
                                 ValueRange b, ValueRange sums, int64_t i,
                                 int64_t j) {
  return NVVM::MmaBlockScaleOp::create(
      code.builder, code.loc, result, a, b, sums, scaleA[i / sharingA()],
      scaleByte, selector(code, i % sharingA()), scaleB[j / sharingB()],
      scaleByte, selector(code, j % sharingB()),
      ArrayRef<int64_t>{16, 8, atom.k},
      std::array<NVVM::MMATypes, 2>{*elementType(problem.lhs.format->element),
                                    *elementType(problem.rhs.format->element)},
      atom.vector, atom.scaleFormat, atom.kind);
}

std::string BlockScaledMatmul::describe(const MatmulProblem &problem,
                                        const Chip &chip,
                                        ArrayRef<MatmulVariant>) const {
  const Atom &atom = *findAtom(problem);
  std::string text = "native, " + atom.text.str();
  if (atom.inBytes)
    text += " " + problem.lhs.format->element.name() + " x " +
            problem.rhs.format->element.name();
  return text;
}

void BlockScaledMatmul::generate(OpBuilder &builder, Location loc,
                                 GPUKernelSet &kernelSet,
                                 const MatmulProblem &problem,
                                 const MatmulTile &tile) const {
  const Atom &atom = *findAtom(problem);
  TileShape shape = shapeOf(problem, tile);
  ScaledSource lhs = makeSource(atom, problem.lhs, shape, shape.m);
  ScaledSource rhs = makeSource(atom, problem.rhs, shape, shape.n);
  BlockScaledMultiplier multiplier(atom, problem, shape, lhs, rhs);
  generateTiledMatmul(builder, loc, kernelSet, problem, tile, shape,
                      "blockscale_matmul_block_scaled", lhs, rhs, multiplier);
}

std::unique_ptr<MatmulSchedule> sm120::createBlockScaledMatmul() {
  return std::make_unique<BlockScaledMatmul>();
}
