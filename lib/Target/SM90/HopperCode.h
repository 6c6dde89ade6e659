//===-- HopperCode.h - Instructions of Hopper's matmul kernels --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_HOPPERCODE_H
#define BLOCKSCALE_LIB_TARGET_SM90_HOPPERCODE_H

#include "blockscale/Target/NVIDIA/ThreadCode.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale::sm90 {

/// ThreadCode with clusters, mbarriers, TMA and wgmma.
class HopperCode : public nvidia::ThreadCode {
public:
  using ThreadCode::ThreadCode;
  HopperCode(const ThreadCode &code) : ThreadCode(code.builder, code.loc) {}

  /// PTX whose operands are $0 (results first), $1, ... `pure` code may be
  /// moved and removed. `results` of one type come back as values.
  llvm::SmallVector<Value> ptx(llvm::StringRef text, mlir::TypeRange results,
                               mlir::ValueRange operands, bool pure = false);
  /// The same with `carried` values, whose registers the code updates in place:
  /// they are the first results.
  llvm::SmallVector<Value> ptxInPlace(llvm::StringRef text,
                                      mlir::ValueRange carried,
                                      mlir::ValueRange operands);

  /// The kernel's dynamic shared memory, aligned to 1024 bytes.
  Value sharedMemory();
  /// The offset of a pointer into this block's shared memory, as the
  /// descriptors take it.
  Value sharedAddress(Value pointer);
  Value blockIdY();
  Value gridSize(); ///< x

  Value shiftRight(Value a, Value bits);
  Value max(Value a, Value b); ///< Unsigned.
  Value differs(Value a, Value b);
  void branchElse(Value condition,
                  llvm::function_ref<void(nvidia::ThreadCode &)> then,
                  llvm::function_ref<void(nvidia::ThreadCode &)> otherwise);

  /// The results of one of two bodies.
  llvm::SmallVector<Value> chooseOne(
      Value condition,
      llvm::function_ref<llvm::SmallVector<Value>(nvidia::ThreadCode &)> then,
      llvm::function_ref<llvm::SmallVector<Value>(nvidia::ThreadCode &)>
          otherwise);
  /// Whether the condition holds for any lane of the warp.
  Value anyLane(Value condition);

  /// Two f16 in an i32.
  Value mulF16x2(Value a, Value b);
  /// Four E4M3 codes from two words of f16, to nearest even, saturating.
  Value toE4M3x4(Value low, Value high);
  /// Two bf16 in an i32.
  Value mulBF16x2(Value a, Value b);
  Value subBF16x2(Value a, Value b);
  /// The low 16 bits twice.
  Value splat16(Value a);
  /// The two half words of two registers: (a.lo, b.lo) or (a.hi, b.hi).
  Value pairLow(Value a, Value b);
  Value pairHigh(Value a, Value b);

  /// Streaming load of `count` (1, 2, 4) words past L1; zeros unless `present`.
  llvm::SmallVector<Value> streamWords(Value pointer, int64_t count,
                                       Value present);
  /// Read-only load of an unsigned integer of 1, 2 or 4 bytes as i32; zero
  /// unless `present`.
  Value loadUnsigned(Value pointer, int64_t bytes, Value present);
  /// cp.async of 16 bytes past L1; without `fill` nothing happens unless
  /// `present`, with it zeros are written then.
  void copyLine(Value shared, Value global, Value present, bool fill);
  llvm::SmallVector<Value> loadWords(Value pointer, int64_t count);
  void syncWarp();
  /// The largest of a warp's unsigned values.
  Value warpMax(Value value);
  /// Sets bits of a word in global memory, atomically.
  void setBits(Value pointer, Value bits);
  void storeWords(llvm::ArrayRef<Value> words, Value pointer);

  /// D = A B + C, bf16, m16n8k16.
  llvm::SmallVector<Value> mma(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b,
                               llvm::ArrayRef<Value> c);

  /// In a kernel that overlaps: waits until the kernel before has ended and
  /// its results are there.
  void awaitPrevious();
  /// Lets such a kernel start, once every block has called it or ended.
  void releaseNext();

  // Clusters.
  Value clusterRank();
  void clusterBarrier();
  /// Without an order of memory accesses.
  void clusterBarrierRelaxed();
  /// Four f32 at `pointer`, a shared address of block `rank` of the cluster.
  llvm::SmallVector<Value> loadRemote4(Value pointer, Value rank);

  // mbarriers, addressed by shared pointers.
  void initBarrier(Value barrier, int64_t count);
  void fenceBarrierInit();
  void arrive(Value barrier);
  void expectBytes(Value barrier, int64_t bytes);
  /// Arrives once this thread's cp.async so far have landed.
  void arriveAfterCopies(Value barrier);
  void waitParity(Value barrier, Value parity);

  /// A box of the tensor behind `map` to shared memory; signals `barrier`.
  void copyBox(Value shared, Value map, llvm::ArrayRef<Value> coordinates,
               Value barrier);
  /// Contiguous bytes, a multiple of 16, to shared memory.
  void copyBulk(Value shared, Value global, Value bytes, Value barrier);
  void fenceProxy();

  // wgmma.
  /// Issues the k16 steps of m64 x `tokens`, A from registers (4 per step), B
  /// by descriptors (one i64 per step), and commits them as a group.
  llvm::SmallVector<Value> wgmmaRegisters(llvm::ArrayRef<Value> accumulators,
                                          int64_t tokens,
                                          llvm::ArrayRef<Value> a,
                                          llvm::ArrayRef<Value> descriptors);
  /// The descriptors of `count` steps of 32 bytes along K, from `tile` on: rows
  /// of 128 bytes with 128-byte swizzle.
  llvm::SmallVector<Value> descriptors(Value tile, int64_t count);
  /// Adds the products of m64 x k and n x k tiles of bf16: k16 steps whose
  /// operands descriptors (i64) tell. Commits them as a group.
  llvm::SmallVector<Value> wgmmaShared(llvm::ArrayRef<Value> accumulators,
                                       int64_t n, llvm::ArrayRef<Value> a,
                                       llvm::ArrayRef<Value> b);
  /// The product of m64 x k and n x k tiles of E4M3 alone, f32: k32 steps whose
  /// operands descriptors (i64) tell. Returns when it is done.
  llvm::SmallVector<Value> wgmmaE4M3(int64_t n, llvm::ArrayRef<Value> a,
                                     llvm::ArrayRef<Value> b);
  /// Waits until at most `pending` groups are under way; hands the accumulators
  /// on, so that nothing reads them before. `inUse`: registers that wgmma under
  /// way still read, which nothing may overwrite before.
  llvm::SmallVector<Value> wgmmaWait(llvm::ArrayRef<Value> accumulators,
                                     int64_t pending,
                                     llvm::ArrayRef<Value> inUse = {});
  void registers(int64_t count, bool increase);
  void namedBarrier(int64_t id, int64_t threads);
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_HOPPERCODE_H
