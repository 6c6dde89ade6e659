//===-- Matmul.cu - Kernels for the simulator's tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

static __device__ void copyAsync(void *to, const void *from) {
  unsigned address = __cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address),
               "l"(from));
}

/// C (M x N, f32) = A (M x K) * B (N x K)^T; tiles of 64 x 64 x 32, 4 warps, a
/// pipeline of two stages.
extern "C" __global__ void matmul_bf16(const __nv_bfloat16 *a,
                                       const __nv_bfloat16 *b, float *c, int m,
                                       int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 tileA[2][64][40], tileB[2][64][40];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  float sums[8][4] = {};
  auto load = [&](int stage, int k0) {
    for (int i = threadIdx.x; i < 256; i += 128) {
      int r = i / 4, q = i % 4 * 8;
      copyAsync(&tileA[stage][r][q], a + (row0 + r) * k + k0 + q);
      copyAsync(&tileB[stage][r][q], b + (column0 + r) * k + k0 + q);
    }
    asm volatile("cp.async.commit_group;");
  };
  load(0, 0);
  int steps = k / 32;
  for (int step = 0; step < steps; ++step) {
    int stage = step % 2;
    if (step + 1 < steps) {
      load(stage ^ 1, (step + 1) * 32);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned fa[4];
      unsigned address = __cvta_generic_to_shared(
          &tileA[stage][warp * 16 + lane % 16][kk + lane / 16 * 8]);
      asm volatile(
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
          : "r"(address));
      for (int j = 0; j < 8; ++j) {
        unsigned fb[2];
        address = __cvta_generic_to_shared(
            &tileB[stage][j * 8 + lane % 8][kk + lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(address));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]),
                       "+f"(sums[j][3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]),
                       "r"(fb[0]), "r"(fb[1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) {
      int r = row0 + warp * 16 + lane / 4 + i / 2 * 8;
      int q = column0 + j * 8 + lane % 4 * 2 + i % 2;
      c[r * n + q] = sums[j][i];
    }
}
