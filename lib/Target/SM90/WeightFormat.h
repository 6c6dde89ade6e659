//===-- WeightFormat.h - Packed weights to bf16 in registers ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_WEIGHTFORMAT_H
#define BLOCKSCALE_LIB_TARGET_SM90_WEIGHTFORMAT_H

#include "HopperCode.h"

#include "blockscale/Numerics/Format.h"

#include <array>
#include <optional>

namespace blockscale::sm90 {

class CodeTable;

/// A format whose every value, element times block scale, is a bf16 number, so
/// that dequantizing to bf16 loses nothing.
class WeightFormat {
public:
  /// Nothing if products need more than the 8 bits of bf16's significand, or if
  /// the layout (zero points, blocks of several rows) is not one this code has.
  /// With `trueValues` deferredExponent() is 0, for one more operation.
  static std::optional<WeightFormat> get(const Format &format,
                                         bool trueValues = false);

  /// Bits of an element in memory: 4 or 8.
  int64_t bits() const { return storedBits; }
  int64_t block() const { return format.blockCols; }
  /// Elements in 16 bytes, what a thread loads at once: its *run* along k.
  int64_t run() const { return 128 / storedBits; }
  /// Scales that a run needs.
  int64_t scalesPerRun() const { return run() > block() ? run() / block() : 1; }
  /// The decoded values are the true ones times 2^-deferredExponent(), exactly;
  /// the epilogue multiplies the accumulators.
  int64_t deferredExponent() const { return deferred; }
  /// A sum of products of decoded values, made true.
  mlir::Value trueSum(HopperCode &code, mlir::Value sum) const;
  /// The same of several sums, whose `parts` are added in their order.
  llvm::SmallVector<mlir::Value>
  trueSums(HopperCode &code,
           llvm::ArrayRef<llvm::SmallVector<mlir::Value>> parts) const;

  /// In which order 8 neighbouring elements of a run fill four registers of two
  /// bf16 each, low half first.
  std::array<int, 8> order() const;

  /// The same 4-bit format, decoded by a CodeTable; its order is another.
  WeightFormat lookingUp() const;
  bool looksUp() const { return hasTable; }
  /// The entry of the table for a byte.
  mlir::Value tableEntry(HopperCode &code, mlir::Value byte) const;

  /// Multipliers of a run's scales, from the integer that holds their codes.
  struct Multipliers {
    llvm::SmallVector<mlir::Value> pairs; ///< One per scale: twice in an i32.
  };
  Multipliers multipliers(HopperCode &code, mlir::Value scaleCodes,
                          int64_t count) const;

  /// The multipliers of two scales, in half words like their codes.
  mlir::Value multiplierPair(HopperCode &code, mlir::Value codes) const;

  /// Scales are *plain* if they are not NaN and, where they are powers of two,
  /// at most 1, which is what weights have as a rule. The same format, for
  /// scales of which that is known: the same values by fewer operations.
  WeightFormat plain() const;
  /// Not zero unless both scales, codes in half words, are plain.
  mlir::Value unusual(HopperCode &code, mlir::Value codes) const;

  /// Eight elements `unit` of a run (words as loaded), as four registers.
  /// `table`: where the format looks up.
  llvm::SmallVector<mlir::Value>
  decodeUnit(HopperCode &code, llvm::ArrayRef<mlir::Value> words, int64_t unit,
             const Multipliers &multipliers,
             const CodeTable *table = nullptr) const;

  /// Two neighbouring elements, as memory holds them in a byte or a half word.
  mlir::Value decodeNeighbours(HopperCode &code, mlir::Value stored,
                               mlir::Value multiplier) const;

  /// Two decoded or looked up elements times their scale.
  mlir::Value scalePair(HopperCode &code, mlir::Value raw,
                        mlir::Value multiplier) const;

  std::string key() const {
    return format.text() + (elementFirst ? "|true" : "") +
           (hasTable ? "|table" : "");
  }

private:
  /// Two elements of a word whose codes start at bits `low` and `low` + 16.
  mlir::Value decodePair(HopperCode &code, mlir::Value word, int64_t low) const;
  /// The element type's own power of two that the bits of decodePair lack,
  int64_t bitsExponent() const;
  /// and what is multiplied by scales.
  int64_t rawExponent() const { return trueTable ? 0 : bitsExponent(); }

  Format format;
  int64_t storedBits = 4;
  int64_t deferred = 0;
  /// The element gets its own power of two before the scale multiplies it.
  bool elementFirst = false;
  bool plainScales = false;
  bool hasTable = false;
  /// Its entries are true values.
  bool trueTable = false;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_WEIGHTFORMAT_H
