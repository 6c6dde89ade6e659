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
 * included; without that variable (or if it is no positive number), as many as
 * the process may use processors. */
void blockscaleParallelFor(int64_t count, int64_t grain,
                           void (*body)(void *context, int64_t begin,
                                        int64_t end),
                           void *context);

/* How many threads blockscaleParallelFor() uses, the caller included. */
int64_t blockscaleNumThreads(void);

/* Ends the running entry: control returns to whoever called blockscale_call(),
 * which gets `message` (it is copied). For checks at run time, such as two
 * dynamic sizes that must agree. What the entry had allocated is lost. Without
 * a blockscale_call() on this thread, prints `error: message` and aborts; so
 * it does inside a parallel body, where there is no way back. */
__attribute__((noreturn)) void blockscaleFail(const char *message);

/* blockscaleFail("<what>: expects <expected>, but got <actual>"). */
__attribute__((noreturn)) void
blockscaleFailSize(const char *what, int64_t expected, int64_t actual);

/* Exported by the compiled library: calls entry(args) and returns null, or the
 * message of a blockscaleFail() in it, valid until this thread's next call. */
const char *blockscale_call(void (*entry)(void **args), void **args);

#ifdef __cplusplus
}
#endif

#endif /* BLOCKSCALE_RUNTIME_CPU_PARALLELFOR_H */
