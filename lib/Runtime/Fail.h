/*===-- Fail.h - What the other files of an archive tell Fail.c -*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_LIB_RUNTIME_FAIL_H
#define BLOCKSCALE_LIB_RUNTIME_FAIL_H

#include "blockscale/Runtime/Fail.h"

#include <stdbool.h>

/* Whether this thread runs code that must not be jumped out of: a parallel
 * body, whose loop another thread owns. */
extern __attribute__((
    visibility("hidden"))) _Thread_local bool blockscaleInsideBody;

#endif /* BLOCKSCALE_LIB_RUNTIME_FAIL_H */
