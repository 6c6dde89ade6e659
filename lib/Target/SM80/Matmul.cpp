//===-- Matmul.cpp - Matmuls by bf16 mma.sync -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NibblesToBf16.h"
#include "RegisterSource.h"
#include "blockscale/Target/NVIDIA/TiledSchedule.h"
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

struct DequantizingMatmul : TiledSchedule {
  bool isSupported(const MatmulProblem &, const Chip &) const override {
    return true;
  }
  std::string describe(const MatmulProblem &problem, const Chip &chip,
                       ArrayRef<MatmulVariant>) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;

protected:
  ArrayRef<Candidate> candidates() const override {
    static constexpr Candidate candidates[] = {
        {16, 64, 4}, {16, 128, 4}, {64, 64, 3}, {64, 128, 3}, {128, 128, 3}};
    return candidates;
  }
  TileRates rates(const MatmulProblem &problem) const override {
    bool converts = problem.lhs.format || problem.rhs.format;
    return {1024, 32, converts ? 32.0 : 0.0};
  }
  int64_t rowElements(const MatmulProblem &) const override { return kTileK; }
  int64_t rowBytes(const MatmulProblem &) const override { return 2 * kTileK; }
  int64_t stageBytes(const MatmulProblem &,
                     const TileShape &shape) const override {
    return (shape.m + shape.n) * shape.rowBytes;
  }
  int64_t registers(const MatmulProblem &problem, const TileShape &shape,
                    const Chip &chip) const override;
};

} // namespace

static bool isExact(const MatmulSide &side) {
  return significantBits(side) <= 8;
}

std::string DequantizingMatmul::describe(const MatmulProblem &problem,
                                         const Chip &chip,
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

int64_t DequantizingMatmul::registers(const MatmulProblem &problem,
                                      const TileShape &shape,
                                      const Chip &chip) const {
  return makeSource(problem.lhs, shape, shape.m, chip)->registers() +
         makeSource(problem.rhs, shape, shape.n, chip)->registers();
}

void DequantizingMatmul::generate(OpBuilder &builder, Location loc,
                                  GPUKernelSet &kernelSet,
                                  const MatmulProblem &problem,
                                  const MatmulTile &tile) const {
  TileShape shape = shapeOf(problem, tile);
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
