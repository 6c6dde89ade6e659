//===-- Wmma.cu - nvcuda::wmma for the simulator's tests ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda::wmma;

/// D = 2 (A B + C), one tile of M x N, K in steps of `k`. A is row-major, B as
/// `LayoutB` says, C and D row-major. C comes through shared memory.
template <int m, int n, int k, class Fragment, class LayoutB, class Memory,
          class Sum>
static __device__ void tile(const Memory *a, const Memory *b, const Sum *c,
                            Sum *d, int depth) {
  __shared__ __align__(32) Sum sums[m * n];
  for (int i = threadIdx.x; i < m * n; i += 32)
    sums[i] = c[i];
  __syncwarp();
  fragment<accumulator, m, n, k, Sum> acc;
  load_matrix_sync(acc, sums, n, mem_row_major);
#pragma unroll 1
  for (int at = 0; at < depth; at += k) {
    fragment<matrix_a, m, n, k, Fragment, row_major> fa;
    fragment<matrix_b, m, n, k, Fragment, LayoutB> fb;
    constexpr bool isRow = std::is_same<LayoutB, row_major>::value;
    load_matrix_sync(fa, a + at, depth);
    load_matrix_sync(fb, isRow ? b + at * n : b + at, isRow ? n : depth);
    mma_sync(acc, fa, fb, acc);
  }
  for (int i = 0; i < acc.num_elements; ++i)
    acc.x[i] = acc.x[i] + acc.x[i];
  __syncwarp();
  store_matrix_sync(sums, acc, n, mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < m * n; i += 32)
    d[i] = sums[i];
}

#define KERNEL(name, m, n, k, Fragment, LayoutB, Memory, Sum)                  \
  extern "C" __global__ void name(const Memory *a, const Memory *b,            \
                                  const Sum *c, Sum *d, int depth) {           \
    tile<m, n, k, Fragment, LayoutB>(a, b, c, d, depth);                       \
  }
KERNEL(f16_f32, 16, 16, 16, half, col_major, half, float)
KERNEL(f16_f16, 32, 8, 16, half, row_major, half, half)
KERNEL(f16_wide, 8, 32, 16, half, col_major, half, float)
KERNEL(bf16, 16, 16, 16, __nv_bfloat16, row_major, __nv_bfloat16, float)
KERNEL(bf16_tall, 32, 8, 16, __nv_bfloat16, col_major, __nv_bfloat16, float)
KERNEL(bf16_wide, 8, 32, 16, __nv_bfloat16, row_major, __nv_bfloat16, float)
KERNEL(s8, 16, 16, 16, signed char, col_major, signed char, int)
KERNEL(u8_tall, 32, 8, 16, unsigned char, row_major, unsigned char, int)
KERNEL(s8_wide, 8, 32, 16, signed char, col_major, signed char, int)
KERNEL(tf32, 16, 16, 8, precision::tf32, col_major, float, float)
KERNEL(f64, 8, 8, 4, double, row_major, double, double)
