/*===-- Runtime.h - C API: run compiled libraries ---------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/* Loads a compiled library for `device`: "cpu", "cuda", "cuda:1", "sim" or
 * "sim:7", with that seed; null or empty for what the library was compiled for.
 * Null on failure. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleLibrary *
blockscaleLibraryOpen(const char *path, const char *device);

/* Unloads it. Results of its calls stay valid. Null is allowed. */
BLOCKSCALE_RUNTIME_EXPORT void
blockscaleLibraryDestroy(BlockscaleLibrary *library);

/* The manifest, as JSON; lives as long as the library. */
BLOCKSCALE_RUNTIME_EXPORT const char *
blockscaleLibraryGetManifest(BlockscaleLibrary *library);

/* The device it runs on, "cuda:0"; lives as long as the library. */
BLOCKSCALE_RUNTIME_EXPORT const char *
blockscaleLibraryGetDevice(BlockscaleLibrary *library);

/* Calls an entry with arrays on the host; where the library runs on a GPU, they
 * are copied there and the results back. The inputs are only read, and only
 * during the call. Null on failure: a type or shape that does not fit, or an
 * error of the function. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *
blockscaleLibraryCall(BlockscaleLibrary *library, const char *entry,
                      int64_t numInputs, const BlockscaleArray *inputs);

/* The same with arrays in the memory of the library's GPU, without copies and
 * without waiting: the work is enqueued on `stream`, a CUstream of the primary
 * context (null: the default stream). The results' data are pointers of the
 * device, written in the order of that stream. The inputs must stay until the
 * work is done; an error of it shows at a later call. Each begins at a multiple
 * of 16 bytes, one of a single element at a multiple of its size. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *
blockscaleLibraryCallDevice(BlockscaleLibrary *library, const char *entry,
                            int64_t numInputs, const BlockscaleArray *inputs,
                            void *stream);

/* The same with results in memory of the caller: results[i] is the array on the
 * device that result i is written to, or has a null dtype where memory is to be
 * allocated. numResults is the number of results, or 0 for none of them. A
 * given array must have the dtype of the result, its sizes exactly, an address
 * that is a multiple of 16, and no byte in common with an input or another
 * result; this is an error before anything is enqueued, except for dynamic
 * sizes that take as many bytes as the right ones, or of a result that must be
 * copied there. The returned results include
 * the given arrays, which stay the caller's and must stay until the work is
 * done. Where all are given, the call allocates nothing but what its kernels
 * need between them. Null on failure; then the given arrays' contents are
 * unspecified. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *blockscaleLibraryCallDeviceInto(
    BlockscaleLibrary *library, const char *entry, int64_t numInputs,
    const BlockscaleArray *inputs, int64_t numResults,
    const BlockscaleArray *results, void *stream);

/* Copies of arrays of the host in the memory of the library's GPU, for
 * blockscaleLibraryCallDevice(); weights, most often. They are there when this
 * returns, and freed in the order of `stream`. Null on failure. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *
blockscaleLibraryUpload(BlockscaleLibrary *library, int64_t numArrays,
                        const BlockscaleArray *arrays, void *stream);

/* Waits until all work on `stream` is done. 0, or -1 if any of it failed. */
BLOCKSCALE_RUNTIME_EXPORT int
blockscaleLibrarySynchronize(BlockscaleLibrary *library, void *stream);

/* Copies of the results on the host, once they are there. Null on failure. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleResults *
blockscaleResultsDownload(const BlockscaleResults *results);

BLOCKSCALE_RUNTIME_EXPORT int64_t
blockscaleResultsGetNum(const BlockscaleResults *results);

/* Result `index`; its memory, shape and dtype live as long as `results`. An
 * index out of range gives a null dtype and data. */
BLOCKSCALE_RUNTIME_EXPORT BlockscaleArray
blockscaleResultsGet(BlockscaleResults *results, int64_t index);

/* Frees the results: on a GPU in the order of their stream, so that work that
 * was enqueued there before may still use them. Null is allowed. */
BLOCKSCALE_RUNTIME_EXPORT void
blockscaleResultsDestroy(BlockscaleResults *results);

#ifdef __cplusplus
}
#endif

#endif /* BLOCKSCALE_C_RUNTIME_H */
