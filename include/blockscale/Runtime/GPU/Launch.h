/*===-- Launch.h - What compiled GPU libraries' host code calls -*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions of libblockscale_gpu.a, which is linked into every shared
 * library compiled for a GPU. Plain C, no CUDA: all of them dispatch to the
 * device that the runtime sets, so that one library runs on the driver and on
 * the simulator. Each library carries its own, hidden copy.
 *
 * An error of the device ends the entry through blockscaleFail().
 *
 *===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_RUNTIME_GPU_LAUNCH_H
#define BLOCKSCALE_RUNTIME_GPU_LAUNCH_H

#include "blockscale/Runtime/Fail.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device and the stream on which a call's work is enqueued. Functions that
 * return text return null, or what went wrong; it is copied at once. */
typedef struct blockscaleDevice {
  void *context; /* The first argument of each function. */
  void *(*alloc)(void *context, uint64_t bytes); /* null: out of memory */
  void (*free)(void *context, void *pointer);
  const char *(*fill)(void *context, uint64_t pointer, int32_t byte,
                      uint64_t bytes);
  const char *(*launch)(void *context, const char *kernel,
                        const int64_t grid[3], int32_t blockX, int32_t clusterX,
                        int32_t sharedBytes, int32_t overlaps, void **params,
                        int64_t numParams);
  const char *(*residentBlocks)(void *context, const char *kernel,
                                int32_t blockX, int32_t sharedBytes,
                                int64_t *blocks);
  const char *(*tensorMap)(void *context, void *map, uint64_t base,
                           int32_t elementType, int32_t rank,
                           const int64_t *sizes, const int64_t *strideBytes,
                           const int32_t *box, int32_t swizzle);
  const char *(*result)(void *context, int32_t index, uint64_t bytes,
                        void **memory);
} blockscaleDevice;

/* Exported by the compiled library: the calling thread's entries use `device`
 * (copied; null: none) from now on. */
void blockscale_set_device(const blockscaleDevice *device);

/* Device memory, in the order of the stream: what a launch uses may be freed
 * right after it. Alignment: at least 256 bytes. */
void *_mlir_memref_to_llvm_alloc(uint64_t bytes);
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes);
void _mlir_memref_to_llvm_free(void *pointer); /* null is allowed */

/* The memory of the entry's result `index`: the caller's, where it gave some of
 * exactly that size, else as from _mlir_memref_to_llvm_alloc. To be asked for
 * at most once in a call, and returned as that result. Alignment: at least 16
 * bytes. */
void *blockscaleGpuResult(int32_t index, uint64_t bytes);

/* Sets `bytes` bytes of device memory. */
void blockscaleGpuFill(uint64_t pointer, int32_t byte, uint64_t bytes);

/* Enqueues a kernel of the library's module. params[i] points to the value of
 * parameter i. A grid with a zero extent is nothing to do. `overlaps`, if not
 * zero: its blocks may start before the kernel enqueued before it has ended,
 * for whose results they wait themselves (griddepcontrol.wait). */
void blockscaleGpuLaunch(const char *kernel, int64_t gridX, int64_t gridY,
                         int64_t gridZ, int32_t blockX, int32_t clusterX,
                         int32_t sharedBytes, int32_t overlaps, void **params,
                         int64_t numParams);

/* How many blocks of a kernel the whole device runs at the same time, at least
 * 1: the grid of a kernel whose blocks loop over the work. */
int64_t blockscaleGpuResidentBlocks(const char *kernel, int32_t blockX,
                                    int32_t sharedBytes);

/* Writes a CUtensorMap, 128 bytes, at `map` (aligned to 64). elementType and
 * swizzle are the driver API's numbers; rank is 1 to 5; sizes are innermost
 * first, strideBytes[i] is the stride of dimension i + 1. Out of bounds reads
 * are zero. */
void blockscaleGpuTensorMap(void *map, uint64_t base, int32_t elementType,
                            int32_t rank, const int64_t *sizes,
                            const int64_t *strideBytes, const int32_t *box,
                            int32_t swizzle);

#ifdef __cplusplus
}
#endif

#endif /* BLOCKSCALE_RUNTIME_GPU_LAUNCH_H */
