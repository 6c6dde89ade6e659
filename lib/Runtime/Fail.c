/*===-- Fail.c - How compiled code reports an error -------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled entries return nothing. An error jumps back to blockscale_call(),
 * so that a wrong size is an error of the call, not the end of the process.
 *
 *===----------------------------------------------------------------------===*/
#include "Fail.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Frame {
  jmp_buf target;
  struct Frame *outer;
} Frame;

_Thread_local bool blockscaleInsideBody;

static _Thread_local Frame *innermost;
static _Thread_local char lastMessage[4096];

void blockscaleFail(const char *message) {
  if (!innermost || blockscaleInsideBody) {
    fprintf(stderr, "error: %s\n", message);
    abort();
  }
  strncpy(lastMessage, message, sizeof lastMessage - 1);
  longjmp(innermost->target, 1);
}

void blockscaleFailSize(const char *what, int64_t expected, int64_t actual) {
  char message[1024];
  snprintf(message, sizeof message, "%s: expects %lld, but got %lld", what,
           (long long)expected, (long long)actual);
  blockscaleFail(message);
}

/* Exported, and used by name only: keep it although nothing here calls it. */
__attribute__((visibility("default"), used)) const char *
blockscale_call(void (*entry)(void **args), void **args) {
  Frame frame;
  frame.outer = innermost;
  innermost = &frame;
  const char *message = NULL;
  if (setjmp(frame.target) == 0)
    entry(args);
  else
    message = lastMessage;
  innermost = frame.outer;
  return message;
}
