//===-- FoldFormat.h - Elements with their block scale in E4M3 --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_FOLDFORMAT_H
#define BLOCKSCALE_LIB_TARGET_SM90_FOLDFORMAT_H

#include "HopperCode.h"

#include "blockscale/Numerics/Format.h"

#include <optional>

namespace blockscale::sm90 {

/// A format of small floats with scales that are powers of two. Relative to the
/// row's largest scale, an element times its scale is an E4M3 number, unless
/// the scales of a row spread too far: *folding* writes that number, which
/// rounds nothing.
class FoldFormat {
public:
  /// Elements that a thread folds at once: 16 bytes of E4M3.
  static constexpr int64_t kRun = 16;

  /// Nothing if some element is no E4M3 number at all.
  static std::optional<FoldFormat> get(const Format &format);

  /// Bits of an element in memory: 4 or 8.
  int64_t bits() const { return element.bits == 4 ? 4 : 8; }
  int64_t block() const { return blockCols; }
  /// Words that hold a run.
  int64_t words() const { return kRun * bits() / 32; }
  /// The largest element times 2^shift() is still finite.
  int64_t shift() const { return top; }
  /// How many binades below the row's largest a block's scale may be.
  int64_t spread() const { return top - bottom; }

  /// Whether one of a run's elements is not zero, as an i1.
  mlir::Value isNonZero(HopperCode &code,
                        llvm::ArrayRef<mlir::Value> run) const;
  /// A run's elements times 2^(shift() - `down`), `down` up to spread(), as
  /// four words of E4M3 in the order of memory. Zeros stay zeros whatever
  /// `down` is.
  llvm::SmallVector<mlir::Value> fold(HopperCode &code,
                                      llvm::ArrayRef<mlir::Value> run,
                                      mlir::Value down) const;

  std::string key() const { return element.name() + std::to_string(blockCols); }

private:
  std::pair<mlir::Value, mlir::Value> table(HopperCode &code,
                                            mlir::Value down) const;
  mlir::Value foldBytes(HopperCode &code, mlir::Value word,
                        mlir::Value power) const;

  ElementType element;
  int64_t blockCols = 0;
  int64_t top = 0, bottom = 0; ///< Exponents by which every element may move.
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_FOLDFORMAT_H
