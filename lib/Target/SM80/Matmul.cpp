//===-- Matmul.cpp - Matmuls by bf16 mma.sync -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NibblesToBf16.h"
#include "RegisterSource.h"
#include "blockscale/Target/NVIDIA/TileChoice.h"
#include "blockscale/Target/SM80/Schedules.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::sm80;

namespace {

struct Bf16Multiplier : FragmentMultiplier {
  using FragmentMultiplier::FragmentMultiplier;

protected:
  Value mma(ThreadCode &code, Type result, ValueRange a, ValueRange b,
            ValueRange sums, int64_t, int64_t) override {
    return NVVM::MmaOp::create(
        code.builder, code.loc, result, a, b, sums,
        ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
        std::array<NVVM::MMATypes, 2>{NVVM::MMATypes::bf16,
                                      NVVM::MMATypes::bf16},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
  }
};

struct DequantizingMatmul : MatmulSchedule {
  bool isSupported(const MatmulProblem &, const Chip &) const override {
    return true;
  }
  SmallVector<MatmulVariant> decide(const MatmulProblem &problem,
                                    const Chip &chip) const override;
  bool accepts(const MatmulProblem &problem, const Chip &chip,
               const MatmulTile &tile, std::string &why) const override;
  bool quantizes(const MatmulTile &tile, int64_t block) const override {
    return tile.n % block == 0;
  }
  std::string describe(const MatmulProblem &problem,
                       ArrayRef<MatmulVariant>) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;
};

} // namespace

static bool isExact(const MatmulSide &side) {
  return significantBits(side) <= 8;
}

std::string DequantizingMatmul::describe(const MatmulProblem &problem,
                                         ArrayRef<MatmulVariant>) const {
  bool plain = !problem.lhs.format && !problem.rhs.format &&
               isExact(problem.lhs) && isExact(problem.rhs);
  std::string text =
      std::string(plain ? "native, " : "emulated via ") + "bf16 mma.m16n8k16";
  if (!isExact(problem.lhs) && !isExact(problem.rhs))
    return text + ", both sides rounded to bf16";
  if (!isExact(problem.lhs))
    return text + ", lhs rounded to bf16";
  if (!isExact(problem.rhs))
    return text + ", rhs rounded to bf16";
  return text;
}

static TileShape shapeOf(const MatmulTile &tile) {
  return {tile.m, tile.n, 128, tile.stages};
}

static int64_t stageBytesOf(const TileShape &shape) {
  return (shape.m + shape.n) * shape.rowBytes;
}

/// cp.async where memory holds what mma reads.
static std::unique_ptr<TileSource> makeSource(const MatmulSide &side,
                                              const TileShape &shape,
                                              int64_t tileRows,
                                              const Chip &chip) {
  if (!side.format && side.type.getElementType().isBF16() &&
      side.cols() % 2 == 0)
    return std::make_unique<CopySource>(shape, tileRows, side.cols() * 2, 16);
  return std::make_unique<RegisterSource>(side, shape, tileRows, chip);
}

SmallVector<MatmulVariant>
DequantizingMatmul::decide(const MatmulProblem &problem,
                           const Chip &chip) const {
  SmallVector<TileCandidate> candidates;
  for (auto [m, n, wanted] :
       {std::array<int64_t, 3>{16, 64, 4}, std::array<int64_t, 3>{16, 128, 4},
        std::array<int64_t, 3>{64, 64, 3}, std::array<int64_t, 3>{64, 128, 3},
        std::array<int64_t, 3>{128, 128, 3}}) {
    TileShape shape{m, n, 128, 0};
    shape.stages = stagesThatFit(shape, stageBytesOf(shape), chip, wanted);
    if (!shape.stages)
      continue;
    int64_t loaded =
        kTileK *
        (m * problem.lhs.storageBits() + n * problem.rhs.storageBits()) / 8;
    candidates.push_back(
        {{m, n, kTileK, shape.stages},
         shape,
         stageBytesOf(shape),
         loaded,
         makeSource(problem.lhs, shape, m, chip)->registers() +
             makeSource(problem.rhs, shape, n, chip)->registers()});
  }
  bool converts = problem.lhs.format || problem.rhs.format;
  TileRates rates{1024, 32, converts ? 32.0 : 0.0};
  return chooseTiles(candidates, rates, chip, problem);
}

bool DequantizingMatmul::accepts(const MatmulProblem &problem, const Chip &chip,
                                 const MatmulTile &tile,
                                 std::string &why) const {
  TileShape shape = shapeOf(tile);
  why = whyNoTile(shape, tile, kTileK);
  if (why.empty())
    why = chip.whyNoRoom(tiledMatmulBytes(shape, stageBytesOf(shape)));
  return why.empty();
}

void DequantizingMatmul::generate(OpBuilder &builder, Location loc,
                                  GPUKernelSet &kernelSet,
                                  const MatmulProblem &problem,
                                  const MatmulTile &tile) const {
  TileShape shape = shapeOf(tile);
  const Chip &chip = kernelSet.getChip();
  std::unique_ptr<TileSource> lhs =
      makeSource(problem.lhs, shape, shape.m, chip);
  std::unique_ptr<TileSource> rhs =
      makeSource(problem.rhs, shape, shape.n, chip);
  Bf16Multiplier multiplier(shape);
  generateTiledMatmul(builder, loc, kernelSet, problem, tile, shape,
                      "blockscale_matmul_bf16", *lhs, *rhs, multiplier);
}

std::unique_ptr<MatmulSchedule> sm80::createDequantizingMatmul() {
  return std::make_unique<DequantizingMatmul>();
}
