/*===-- TestLibrary.c - A compiled library, written by hand -----*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Follows the binary interface of docs/Runtime.md exactly, without a compiler:
 * what the runtime's tests load. TEST_... macros make broken variants.
 *
 *===----------------------------------------------------------------------===*/
#include "Memref.h"
#include "blockscale/Runtime/CPU/ParallelFor.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define T(type, dtype, shape, storage, storageShape, layout)                   \
  "{\"type\":\"" type "\",\"dtype\":\"" dtype "\",\"shape\":" shape            \
  ",\"storage\":{\"dtype\":\"" storage "\",\"shape\":" storageShape            \
  "},\"layout\":\"" layout "\"}"
#define MATRIX T("tensor<?x4xf32>", "f32", "[-1,4]", "f32", "[-1,4]", "linear")
#define VECTOR T("tensor<?xbf16>", "bf16", "[-1]", "bf16", "[-1]", "linear")
#define SCALAR T("tensor<f32>", "f32", "[]", "f32", "[]", "linear")
#define PACKED                                                                 \
  T("tensor<?x6xf4E2M1FN>", "f4E2M1FN", "[-1,6]", "u8", "[-1,3]", "linear")
#define TILED                                                                  \
  T("tensor<?x4xf8E4M3FN, #blockscale.tiled_128x4>", "f8E4M3FN", "[-1,4]",     \
    "u8", "[-1]", "tiled_128x4")

EXPORT const char blockscale_manifest[] =
#if defined(TEST_BAD_JSON)
    "{";
#elif defined(TEST_NO_ENTRY)
    "{\"version\":3,\"target\":\"cpu\",\"entries\":["
    "{\"name\":\"absent\",\"inputs\":[],\"results\":[]}]}";
#elif defined(TEST_OTHER_TARGET)
    "{\"version\":3,\"target\":\"sm_120a\",\"entries\":[],\"kernels\":[]}";
#else
    "{\"version\":3,\"target\":\"cpu\",\"entries\":["
    "{\"name\":\"scale_rows\",\"inputs\":[" MATRIX "," SCALAR
    "],\"results\":[" MATRIX "," SCALAR "]},"
    "{\"name\":\"unpack\",\"inputs\":[" PACKED "],\"results\":[" VECTOR "]},"
    "{\"name\":\"count_tiles\",\"inputs\":[" TILED "],\"results\":[" SCALAR
    "]},"
    "{\"name\":\"odd_results\",\"inputs\":[" MATRIX "],\"results\":[" MATRIX
    "," MATRIX "," MATRIX "," SCALAR "]},"
    "{\"name\":\"add_same\",\"inputs\":[" VECTOR "," VECTOR
    "],\"results\":[" VECTOR "]},"
    "{\"name\":\"wrong_size\",\"inputs\":[],\"results\":[" MATRIX "]},"
    "{\"name\":\"nothing\",\"inputs\":[],\"results\":[]}"
    "]}";
#endif

static Memref0 newScalar(float value) {
  float *memory = malloc(sizeof(float));
  *memory = value;
  return (Memref0){memory, memory, 0};
}

static Memref2 newMatrix(int64_t rows, int64_t columns) {
  /* MLIR aligns by hand, so that the two pointers differ. */
  char *memory = malloc((size_t)(rows * columns) * sizeof(float) + 64);
  char *aligned = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  return (Memref2){memory, aligned, 0, {rows, columns}, {columns, 1}};
}

typedef struct {
  const float *in;
  float *out;
  int64_t columns;
  float factor;
} Scaling;

static void scaleRows(void *context, int64_t begin, int64_t end) {
  const Scaling *s = context;
  for (int64_t i = begin * s->columns; i < end * s->columns; ++i)
    s->out[i] = s->in[i] * s->factor;
}

/* (matrix * scalar, -scalar), on all threads. */
EXPORT void blockscale_entry_scale_rows(void **args) {
  struct {
    Memref2 matrix;
    Memref0 scalar;
  } *results = args[0];
  const Memref2 *in = args[1];
  const Memref0 *factor = args[2];
  float by = ((const float *)factor->aligned)[factor->offset];
  results->matrix = newMatrix(in->sizes[0], in->sizes[1]);
  results->scalar = newScalar(-by);
  Scaling scaling = {(const float *)in->aligned + in->offset,
                     results->matrix.aligned, in->sizes[1], by};
  blockscaleParallelFor(in->sizes[0], 4, scaleRows, &scaling);
}

/* The bytes of each row, as bf16: 3.0 is 0x4040. */
EXPORT void blockscale_entry_unpack(void **args) {
  Memref1 *result = args[0];
  const Memref2 *in = args[1];
  int64_t rows = in->sizes[0];
  uint16_t *memory = malloc((size_t)rows * sizeof(uint16_t) + 1);
  for (int64_t i = 0; i < rows; ++i)
    memory[i] = in->sizes[1] == 3 ? 0x4040 : 0;
  *result = (Memref1){memory, memory, 0, {rows}, {1}};
}

EXPORT void blockscale_entry_count_tiles(void **args) {
  Memref0 *result = args[0];
  const Memref1 *in = args[1];
  *result = newScalar((float)in->sizes[0] / 512);
}

/* What compiled code must not return, but the runtime survives: its input, a
 * transposed view, the same memory twice, and a constant. */
EXPORT void blockscale_entry_odd_results(void **args) {
  struct {
    Memref2 same, first, second;
    Memref0 constant;
  } *results = args[0];
  static float constant = 42;
  results->same = *(const Memref2 *)args[1];
  Memref2 transposed = newMatrix(4, 4);
  for (int i = 0; i < 16; ++i)
    ((float *)transposed.aligned)[i] = (float)i;
  transposed.strides[0] = 1;
  transposed.strides[1] = 4;
  results->first = results->second = transposed;
  results->constant = (Memref0){(void *)0xdeadbeef, &constant, 0};
}

/* A check at run time: the sizes must agree. */
EXPORT void blockscale_entry_add_same(void **args) {
  Memref1 *result = args[0];
  const Memref1 *a = args[1], *b = args[2];
  if (a->sizes[0] != b->sizes[0])
    blockscaleFail("expects equal sizes of operands 0 and 1");
  uint16_t *memory = malloc((size_t)a->sizes[0] * sizeof(uint16_t) + 1);
  memcpy(memory, a->aligned, (size_t)a->sizes[0] * sizeof(uint16_t));
  *result = (Memref1){memory, memory, 0, {a->sizes[0]}, {1}};
}

EXPORT void blockscale_entry_wrong_size(void **args) {
  *(Memref2 *)args[0] = newMatrix(2, 5);
}

EXPORT void blockscale_entry_nothing(void **args) { (void)args; }
