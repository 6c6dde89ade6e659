/*===-- Runtime.h - C API: run compiled libraries ------------------*- C
 * -*-===// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libblockscale_runtime.so loads shared libraries made by
 * `blockscale-compile --emit=shared` and calls their entries. It needs neither
 * LLVM nor MLIR. Every function may be called from any thread; handles are not
 * to be destroyed while another thread uses them.
 *
 *   BlockscaleLibrary *lib = blockscaleLibraryOpen("linear.so", "cpu");
 *   BlockscaleResults *out = blockscaleLibraryCall(lib, "linear", 2, inputs);
 *   if (!out) puts(blockscaleRuntimeLastError());
 *
 *===----------------------------------------------------------------------===*/
#ifndef BLOCKSCALE_C_RUNTIME_H
#define BLOCKSCALE_C_RUNTIME_H

#include <stdint.h>

#define BLOCKSCALE_RUNTIME_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded library. */
typedef struct BlockscaleLibrary BlockscaleLibrary;
/* What one call returned. */
typedef struct BlockscaleResults BlockscaleResults;

/* A row-major array as memory holds it. */
typedef struct {
  /* "u8", "bf16", "f32"...: the storage types of docs/Runtime.md. */
  const char *dtype;
  int64_t rank;
  const int64_t *shape; /* rank sizes; may be null if rank is 0 */
  void *data;
} BlockscaleArray;

/* The reason of this thread's last failure, valid until its next one. Never
 * null. */
BLOCKSCALE_RUNTIME_EXPORT const char *blockscaleRuntimeLastError(void);

/* Loads a compiled library for `device` ("cpu"). Null on failure. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleLibrary *
blockscaleLibraryOpen(const char *path, const char *device);

/* Unloads it. Results of its calls stay valid. Null is allowed. */
BLOCKSCALE_RUNTIME_EXPORT void
blockscaleLibraryDestroy(BlockscaleLibrary *library);

/* The manifest, as JSON; lives as long as the library. */
BLOCKSCALE_RUNTIME_EXPORT const char *
blockscaleLibraryGetManifest(BlockscaleLibrary *library);

/* Calls an entry. The inputs are only read, and only during the call. Null on
 * failure: a type or shape that does not fit, or an error of the function. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *
blockscaleLibraryCall(BlockscaleLibrary *library, const char *entry,
                      int64_t numInputs, const BlockscaleArray *inputs);

BLOCKSCALE_RUNTIME_EXPORT int64_t
blockscaleResultsGetNum(const BlockscaleResults *results);

/* Result `index`; its memory, shape and dtype live as long as `results`. An
 * index out of range gives a null dtype and data. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleArray
blockscaleResultsGet(BlockscaleResults *results, int64_t index);

/* Frees the results. Null is allowed. */
BLOCKSCALE_RUNTIME_EXPORT void
blockscaleResultsDestroy(BlockscaleResults *results);

#ifdef __cplusplus
}
#endif

#endif /* BLOCKSCALE_C_RUNTIME_H */
