/*===-- Fail.h - How compiled code reports an error -------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In both archives that compiled libraries link, libblockscale_cpu.a and
 * libblockscale_gpu.a.
 *
 *===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_RUNTIME_FAIL_H
#define BLOCKSCALE_RUNTIME_FAIL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the running entry: control returns to whoever called blockscale_call(),
 * which gets `message` (it is copied). For checks at run time, such as two
 * dynamic sizes that must agree. What the entry had allocated on the host is
 * lost; a device's memory is the runtime's to reclaim. Without a
 * blockscale_call() on this thread, prints `error: message` and aborts; so it
 * does inside a parallel body, where there is no way back. */
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

#endif /* BLOCKSCALE_RUNTIME_FAIL_H */
