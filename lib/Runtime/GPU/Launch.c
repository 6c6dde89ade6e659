/*===-- Launch.c - What compiled GPU libraries' host code calls -*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===----------------------------------------------------------------------===*/
#include "blockscale/Runtime/GPU/Launch.h"

#include <stddef.h>
#include <stdio.h>

/* Per thread: several devices may run one library at the same time, each call
 * on its own stream. */
static _Thread_local blockscaleDevice current;

__attribute__((visibility("default"), used)) void
blockscale_set_device(const blockscaleDevice *device) {
  static const blockscaleDevice none;
  current = device ? *device : none;
}

static const blockscaleDevice *device(void) {
  if (!current.alloc)
    blockscaleFail("no device is set: expects blockscale_set_device() on this "
                   "thread before the call");
  return &current;
}

static void check(const char *error) {
  if (error)
    blockscaleFail(error);
}

void *_mlir_memref_to_llvm_alloc(uint64_t bytes) {
  const blockscaleDevice *on = device();
  void *memory = on->alloc(on->context, bytes);
  if (!memory) {
    char message[96];
    snprintf(message, sizeof message,
             "%llu bytes do not fit in the device's memory",
             (unsigned long long)bytes);
    blockscaleFail(message);
  }
  return memory;
}

void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes) {
  if (alignment > 256)
    blockscaleFailSize("alignment of device memory, at most", 256,
                       (int64_t)alignment);
  return _mlir_memref_to_llvm_alloc(bytes);
}

void _mlir_memref_to_llvm_free(void *pointer) {
  const blockscaleDevice *on = device();
  if (pointer)
    on->free(on->context, pointer);
}

void *blockscaleGpuResult(int32_t index, uint64_t bytes) {
  const blockscaleDevice *on = device();
  void *memory = NULL;
  check(on->result(on->context, index, bytes, &memory));
  return memory;
}

void blockscaleGpuFill(uint64_t pointer, int32_t byte, uint64_t bytes) {
  const blockscaleDevice *on = device();
  if (bytes)
    check(on->fill(on->context, pointer, byte, bytes));
}

void blockscaleGpuLaunch(const char *kernel, int64_t gridX, int64_t gridY,
                         int64_t gridZ, int32_t blockX, int32_t clusterX,
                         int32_t sharedBytes, int32_t overlaps, void **params,
                         int64_t numParams) {
  const blockscaleDevice *on = device();
  const int64_t grid[3] = {gridX, gridY, gridZ};
  if (gridX && gridY && gridZ)
    check(on->launch(on->context, kernel, grid, blockX, clusterX, sharedBytes,
                     overlaps, params, numParams));
}

int64_t blockscaleGpuResidentBlocks(const char *kernel, int32_t blockX,
                                    int32_t sharedBytes) {
  const blockscaleDevice *on = device();
  int64_t blocks = 1;
  check(on->residentBlocks(on->context, kernel, blockX, sharedBytes, &blocks));
  return blocks;
}

void blockscaleGpuTensorMap(void *map, uint64_t base, int32_t elementType,
                            int32_t rank, const int64_t *sizes,
                            const int64_t *strideBytes, const int32_t *box,
                            int32_t swizzle) {
  const blockscaleDevice *on = device();
  check(on->tensorMap(on->context, map, base, elementType, rank, sizes,
                      strideBytes, box, swizzle));
}
