/*===-- ParallelFor.h - What compiled CPU code calls ------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of libblockscale_cpu.a, which is linked into every shared
 * library compiled for the CPU. Plain C on POSIX threads: a compiled library
 * depends on nothing but libc. Each library carries its own, hidden copy.
 *
 *===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_RUNTIME_CPU_PARALLELFOR_H
#define BLOCKSCALE_RUNTIME_CPU_PARALLELFOR_H

#include "blockscale/Runtime/Fail.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls body(context, begin, end) on disjoint ranges that cover [0, count) and
 * returns when all have run. Every `begin` is a multiple of `grain`, and every
 * range except the last is at least `grain` long (grain < 1 counts as 1).
 *
 * Runs body(context, 0, count) on the calling thread when count <= grain, when
 * called from inside a body, or when there is one thread. Nothing is called
 * when count <= 0. Any thread may call at any time, also after fork().
 *
 * The threads start at the first call that can use them and end when the
 * library is unloaded. There are BLOCKSCALE_NUM_THREADS of them, the caller
 * included; without that variable, as many as the process may use processors.
 * So too if it is no positive number, which the first call says on stderr. */
void blockscaleParallelFor(int64_t count, int64_t grain,
                           void (*body)(void *context, int64_t begin,
                                        int64_t end),
                           void *context);

/* How many threads blockscaleParallelFor() uses, the caller included. */
int64_t blockscaleNumThreads(void);

/* Memory as compiled code asks for it, from malloc; a failure ends the entry
 * through blockscaleFail(). */
void *_mlir_memref_to_llvm_alloc(uint64_t bytes);
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes);
void _mlir_memref_to_llvm_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif /* BLOCKSCALE_RUNTIME_CPU_PARALLELFOR_H */
