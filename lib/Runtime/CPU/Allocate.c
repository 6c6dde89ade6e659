/*===-- Allocate.c - Memory of compiled CPU code ----------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What MLIR calls for memref.alloc and memref.dealloc. Results leave the
 * library, so everything here can be given to free().
 *
 *===----------------------------------------------------------------------===*/
#include "blockscale/Runtime/CPU/ParallelFor.h"

#include <stdio.h>
#include <stdlib.h>

static void *orFail(void *memory, uint64_t bytes) {
  if (!memory) {
    char message[96];
    snprintf(message, sizeof message,
             "out of memory: can't allocate %llu bytes",
             (unsigned long long)bytes);
    blockscaleFail(message);
  }
  return memory;
}

void *_mlir_memref_to_llvm_alloc(uint64_t bytes) {
  return orFail(malloc(bytes ? bytes : 1), bytes);
}

void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes) {
  void *memory = NULL;
  if (alignment < sizeof(void *))
    alignment = sizeof(void *);
  if (posix_memalign(&memory, alignment, bytes ? bytes : 1))
    memory = NULL;
  return orFail(memory, bytes);
}

void _mlir_memref_to_llvm_free(void *memory) { free(memory); }
