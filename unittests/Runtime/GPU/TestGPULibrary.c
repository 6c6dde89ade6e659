/*===-- TestGPULibrary.c - A GPU library, written by hand -------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Follows the binary interface of docs/Runtime.md, without a compiler. Its
 * kernels are real: they run on sm_90a devices, in the simulator, and, done by
 * FakeDriver.c, where there is neither. TEST_... macros make broken variants.
 *
 *===----------------------------------------------------------------------===*/
#include "../Memref.h"
#include "blockscale/Runtime/GPU/Launch.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

#define T(type, shape)                                                         \
  "{\"type\":\"" type "\",\"dtype\":\"f32\",\"shape\":" shape                  \
  ",\"storage\":{\"dtype\":\"f32\",\"shape\":" shape                           \
  "},\"layout\":\"linear\"}"
#define MATRIX T("tensor<?x4xf32>", "[-1,4]")
#define WIDE T("tensor<?x8xf32>", "[-1,8]")
#define SQUARE T("tensor<8x8xf32>", "[8,8]")
#define ANY T("tensor<?x?xf32>", "[-1,-1]")
#define SCALAR T("tensor<f32>", "[]")
#define ENTRY(name, inputs, results)                                           \
  "{\"name\":\"" name "\",\"inputs\":[" inputs "],\"results\":[" results "]}"

#ifndef TEST_TARGET
#define TEST_TARGET "sm_90a"
#endif
#ifndef TEST_SHARED_BYTES
#define TEST_SHARED_BYTES "61568"
#endif

EXPORT const char blockscale_manifest[] =
    "{\"version\":3,\"target\":\"" TEST_TARGET "\",\"entries\":["
    /* clang-format off */
    ENTRY("scale_rows", MATRIX "," SCALAR, MATRIX) ","
    ENTRY("tile", WIDE, SQUARE) ","
    ENTRY("zeros", "", ANY) ","
    ENTRY("same", MATRIX, MATRIX "," MATRIX "," MATRIX) ","
    ENTRY("fail_size", MATRIX, "") ","
    ENTRY("too_large", "", MATRIX) ","
    ENTRY("no_kernel", "", "") ","
    ENTRY("wide_grid", "", "") ","
    ENTRY("unwritten", "", MATRIX) ","
    ENTRY("transposed", "", MATRIX)
    "],\"kernels\":["
    "{\"name\":\"scale_rows\",\"block\":[32,1,1],\"cluster\":[1,1,1],"
    "\"shared_bytes\":0},"
    "{\"name\":\"tile\",\"block\":[32,1,1],\"cluster\":[2,1,1],"
    "\"shared_bytes\":" TEST_SHARED_BYTES "}]}";
/* clang-format on */

EXPORT const char blockscale_ptx[] =
#ifdef TEST_BAD_PTX
    ".version 99.1\n.target sm_90a\n";
#else
    ".version 8.0\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".extern .shared .align 128 .b8 dynamic[];\n"
    "\n"
    ".visible .entry scale_rows(.param .u64 in, .param .u64 factor,\n"
    "                           .param .u64 out, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %p1;\n"
    "  .reg .b32 %r<6>;\n"
    "  .reg .b64 %a<8>;\n"
    "  .reg .f32 %f<4>;\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r5, [count];\n"
    "  setp.ge.u32 %p1, %r4, %r5;\n"
    "  @%p1 ret;\n"
    "  ld.param.u64 %a1, [in];\n"
    "  ld.param.u64 %a2, [factor];\n"
    "  ld.param.u64 %a3, [out];\n"
    "  mul.wide.u32 %a4, %r4, 4;\n"
    "  add.s64 %a5, %a1, %a4;\n"
    "  add.s64 %a6, %a3, %a4;\n"
    "  ld.global.f32 %f1, [%a5];\n"
    "  ld.global.f32 %f2, [%a2];\n"
    "  mul.rn.f32 %f3, %f1, %f2;\n"
    "  st.global.f32 [%a6], %f3;\n"
    "  ret;\n"
    "}\n"
    "\n"
    ".visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out)\n"
    "{\n"
    "  .reg .pred %p<3>;\n"
    "  .reg .b32 %r<8>;\n"
    "  .reg .b64 %a<5>;\n"
    "  .shared .align 8 .b64 barrier;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  shl.b32 %r3, %r2, 2;\n"
    "  mov.u32 %r4, barrier;\n"
    "  mov.u32 %r5, dynamic;\n"
    "  add.u32 %r5, %r5, 61440;\n"
    "  mov.u32 %r6, 0;\n"
    "  setp.ne.u32 %p1, %r1, 0;\n"
    "  @%p1 bra INITIALIZED;\n"
    "  mbarrier.init.shared.b64 [%r4], 1;\n"
    "  fence.mbarrier_init.release.cluster;\n"
    "INITIALIZED:\n"
    "  bar.sync 0;\n"
    "  @%p1 bra WAIT;\n"
    "  mbarrier.arrive.expect_tx.shared.b64 %a1, [%r4], 128;\n"
    "  mov.b64 %a2, map;\n"
    "  cvta.param.u64 %a2, %a2;\n"
    "  "
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx:"
    ":bytes [%r5], [%a2, {%r6, %r3}], [%r4];\n"
    "WAIT:\n"
    "  mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0;\n"
    "  @!%p2 bra WAIT;\n"
    "  shl.b32 %r7, %r1, 2;\n"
    "  add.u32 %r5, %r5, %r7;\n"
    "  ld.shared.b32 %r6, [%r5];\n"
    "  ld.param.u64 %a3, [out];\n"
    "  shl.b32 %r3, %r2, 5;\n"
    "  add.u32 %r3, %r3, %r1;\n"
    "  mul.wide.u32 %a4, %r3, 4;\n"
    "  add.s64 %a3, %a3, %a4;\n"
    "  st.global.b32 [%a3], %r6;\n"
    "  ret;\n"
    "}\n";
#endif

static Memref2 newMatrix(int64_t rows, int64_t columns) {
  void *memory =
      _mlir_memref_to_llvm_alloc((uint64_t)(rows * columns) * sizeof(float));
  return (Memref2){memory, memory, 0, {rows, columns}, {columns, 1}};
}

/* The same for result 0, in the caller's memory where it gave some. */
static Memref2 newResult(int64_t rows, int64_t columns) {
  void *memory =
      blockscaleGpuResult(0, (uint64_t)(rows * columns) * sizeof(float));
  return (Memref2){memory, memory, 0, {rows, columns}, {columns, 1}};
}

/* matrix * scalar. */
EXPORT void blockscale_entry_scale_rows(void **args) {
  Memref2 *in = args[1];
  Memref0 *factor = args[2];
  Memref2 result = newResult(in->sizes[0], 4);
  uint32_t count = (uint32_t)in->sizes[0] * 4;
  void *params[] = {&in->aligned, &factor->aligned, &result.aligned, &count};
  blockscaleGpuLaunch("scale_rows", (count + 31) / 32, 1, 1, 32, 1, 0, 0,
                      params, 4);
  *(Memref2 *)args[0] = result;
}

/* The first 8 rows, by tensor copies; rows that are not there are zero. */
EXPORT void blockscale_entry_tile(void **args) {
  const Memref2 *in = args[1];
  Memref2 result = newResult(8, 8);
  blockscaleGpuFill((uint64_t)result.aligned, 0xff, 8 * 8 * sizeof(float));
  _Alignas(64) char map[128];
  const int64_t sizes[] = {8, in->sizes[0]}, strideBytes[] = {32};
  const int32_t box[] = {8, 4};
  enum { Float32 = 7, NoSwizzle = 0 };
  blockscaleGpuTensorMap(map, (uint64_t)in->aligned, Float32, 2, sizes,
                         strideBytes, box, NoSwizzle);
  void *params[] = {map, &result.aligned};
  blockscaleGpuLaunch("tile", 2, 1, 1, 32, 2, 61568, 1, params, 2);
  *(Memref2 *)args[0] = result;
}

EXPORT void blockscale_entry_zeros(void **args) {
  Memref2 result = newResult(2, 4);
  blockscaleGpuFill((uint64_t)result.aligned, 0, 2 * 4 * sizeof(float));
  *(Memref2 *)args[0] = result;
}

/* What compiled code must not return, but the runtime survives: its input, and
 * the same memory twice. */
EXPORT void blockscale_entry_same(void **args) {
  Memref2 *results = args[0];
  void *temporary = _mlir_memref_to_llvm_aligned_alloc(64, 100);
  blockscaleGpuFill((uint64_t)temporary, 0, 100);
  _mlir_memref_to_llvm_free(temporary);
  _mlir_memref_to_llvm_free(NULL);
  results[0] = *(const Memref2 *)args[1];
  results[1] = results[2] = newMatrix(2, 4);
  blockscaleGpuFill((uint64_t)results[1].aligned, 0, 2 * 4 * sizeof(float));
}

/* A check at run time, when there is memory to give back. */
EXPORT void blockscale_entry_fail_size(void **args) {
  const Memref2 *in = args[1];
  newMatrix(2, 2);
  blockscaleFailSize("rows of operand 0", 3, in->sizes[0]);
}

EXPORT void blockscale_entry_too_large(void **args) {
  *(Memref2 *)args[0] = newMatrix((int64_t)1 << 57, 4);
}

EXPORT void blockscale_entry_no_kernel(void **args) {
  (void)args;
  blockscaleGpuLaunch("absent", 0, 1, 1, 32, 1, 0, 0, NULL,
                      0); /* Does nothing. */
  blockscaleGpuLaunch("absent", 1, 1, 1, 32, 1, 0, 0, NULL, 0);
}

EXPORT void blockscale_entry_wide_grid(void **args) {
  (void)args;
  blockscaleGpuLaunch("scale_rows", 1, 65536, 1, 32, 1, 0, 0, NULL, 0);
}

EXPORT void blockscale_entry_unwritten(void **args) {
  *(Memref2 *)args[0] = newMatrix(1, 4);
}

EXPORT void blockscale_entry_transposed(void **args) {
  Memref2 result = newMatrix(4, 4);
  blockscaleGpuFill((uint64_t)result.aligned, 0, 4 * 4 * sizeof(float));
  result.strides[0] = 1;
  result.strides[1] = 4;
  *(Memref2 *)args[0] = result;
}
