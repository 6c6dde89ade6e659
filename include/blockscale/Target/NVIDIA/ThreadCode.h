//===-- ThreadCode.h - What one thread of a block computes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on i32, addresses and the instructions of a block of threads, for
// schedules that write kernels by hand (GPUKernelSet::getOrCreateRaw).
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_THREADCODE_H
#define BLOCKSCALE_TARGET_NVIDIA_THREADCODE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace blockscale::nvidia {

class ThreadCode {
public:
  using Value = mlir::Value;

  ThreadCode(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Type i32() const { return builder.getI32Type(); }
  mlir::Type i64() const { return builder.getI64Type(); }
  mlir::Type f32() const { return builder.getF32Type(); }
  /// `!llvm.ptr<1>`, global memory.
  static mlir::Type globalPointer(mlir::MLIRContext *context);

  Value constant(int64_t value); ///< i32.
  Value constant64(int64_t value);
  Value zero(mlir::Type type);

  // Unsigned arithmetic on equal integer types; constants fold.
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value div(Value a, Value b);
  Value rem(Value a, int64_t b);
  Value rem(Value a, Value b);
  Value band(Value a, int64_t b);
  Value band(Value a, Value b);
  Value bor(Value a, Value b);
  Value bxor(Value a, Value b);
  Value shl(Value a, int64_t b);
  Value shr(Value a, int64_t b);
  Value min(Value a, Value b);
  Value lt(Value a, Value b);
  Value eq(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value wide(Value a);      ///< i32 to i64, unsigned; i64 stays.
  Value narrow(Value a);    ///< index or i64 to i32.
  Value wideIndex(Value a); ///< index to i64.
  Value toIndex(Value a);   ///< i32 to index, unsigned.

  /// `pointer` plus an i32 or i64 number of bytes.
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes);
  /// `pointer` plus an i32 or i64 number of elements of `type`.
  Value element(Value pointer, mlir::Type type, Value index);
  Value load(mlir::Type type, Value pointer, unsigned alignment = 0);
  void store(Value value, Value pointer, unsigned alignment = 0);
  /// The values as one vector, and back.
  Value pack(llvm::ArrayRef<Value> values);
  llvm::SmallVector<Value> unpack(Value vector);
  Value bitcast(Value value, mlir::Type type);
  /// f32 to f32, bf16 or f16 by the chip's conversion, ties to even.
  Value roundTo(Value value, mlir::Type type);
  /// bf16, f16 or f32 to f32.
  Value toF32(Value value);

  Value threadId();
  Value blockId(); ///< x
  Value blockIdZ();
  Value gridSize(); ///< Blocks along x.
  void barrier();

  void branch(Value condition, llvm::function_ref<void(ThreadCode &)> body);
  /// The results of `body` if the condition holds, else `otherwise`.
  llvm::SmallVector<Value>
  choose(Value condition, mlir::ValueRange otherwise,
         llvm::function_ref<llvm::SmallVector<Value>(ThreadCode &)> body);
  /// for (i = lower; i < upper; i += step), carried values; all i32 or as
  /// `initial`.
  llvm::SmallVector<Value>
  loop(Value lower, Value upper, Value step, mlir::ValueRange initial,
       llvm::function_ref<llvm::SmallVector<Value>(ThreadCode &, Value i,
                                                   mlir::ValueRange)>
           body);
  llvm::SmallVector<Value>
  loop(Value lower, Value upper, int64_t step, mlir::ValueRange initial,
       llvm::function_ref<llvm::SmallVector<Value>(ThreadCode &, Value i,
                                                   mlir::ValueRange)>
           body) {
    return loop(lower, upper, constant(step), initial, body);
  }

  /// cp.async of `bytes` (4, 8, 16), of which all or none are read, the others
  /// zeros; `global` must be a valid address only if `present`. With `read`, an
  /// i32 of at most `bytes`, so many are read if they are `present`.
  void copyAsync(Value shared, Value global, int64_t bytes, Value present,
                 Value read = {});
  void commitCopies();
  void waitForCopies(int64_t pending);
  /// Four 8x8 matrices of 16-byte rows (two when `count` is 2). `packedBits` 4:
  /// rows of 16 elements of 4 bits and 8 bytes of padding, widened to bytes.
  llvm::SmallVector<Value> loadMatrices(Value shared, int64_t count,
                                        unsigned packedBits = 0);
  Value permuteBytes(Value low, Value high, Value selector);
  /// `value` (32 bits) of the lane of this half warp that the low four bits of
  /// `index` name. All lanes of the warp are here.
  Value fromLaneOfHalf(Value value, Value index);
};

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_THREADCODE_H
