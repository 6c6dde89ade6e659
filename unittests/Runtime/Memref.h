/*===-- Memref.h - Tensors as entries get them ------------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MLIR's descriptors of strided memory, for libraries written by hand.
 *
 *===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_UNITTESTS_RUNTIME_MEMREF_H
#define BLOCKSCALE_UNITTESTS_RUNTIME_MEMREF_H

#include <stdint.h>

typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Memref2;
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[1], strides[1];
} Memref1;
typedef struct {
  void *allocated, *aligned;
  int64_t offset;
} Memref0;

#endif /* BLOCKSCALE_UNITTESTS_RUNTIME_MEMREF_H */
