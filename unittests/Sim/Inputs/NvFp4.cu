//===-- NvFp4.cu - Kernels for the simulator's tests ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

/// C (M x N, f32) = A (M x K) * B (N x K)^T, e2m1 with a ue4m3 scale per 16;
/// tiles of 128 x 128 x 64, 8 warps of 32 x 64, two stages.
extern "C" __global__ void __launch_bounds__(256)
    matmul_nvfp4(const unsigned char *a, const unsigned *scaleA,
                 const unsigned char *b, const unsigned *scaleB, float *c,
                 int n, int k) {
  // Rows of 32 bytes padded to 48, so that eight of them meet all banks.
  __shared__ __align__(16) unsigned char tileA[2][128][48], tileB[2][128][48];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row0 = blockIdx.y * 128, column0 = blockIdx.x * 128;
  int warpRow = warp % 4 * 32, warpColumn = warp / 4 * 64;
  float sums[2][8][4] = {};
  auto load = [&](int stage, int step) {
    int r = threadIdx.x / 2, q = threadIdx.x % 2 * 16;
    unsigned to = __cvta_generic_to_shared(&tileA[stage][r][q]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(a + (row0 + r) * (k / 2) + step * 32 + q));
    to = __cvta_generic_to_shared(&tileB[stage][r][q]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(b + (column0 + r) * (k / 2) + step * 32 + q));
    asm volatile("cp.async.commit_group;");
  };
  int steps = k / 64;
  load(0, 0);
  for (int step = 0; step < steps; ++step) {
    int stage = step % 2;
    if (step + 1 < steps) {
      load(stage ^ 1, step + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    unsigned fa[2][4], sa[2];
    for (int i = 0; i < 2; ++i) {
      int row = warpRow + i * 16;
      unsigned from = __cvta_generic_to_shared(
          &tileA[stage][row + lane % 16][lane / 16 * 16]);
      asm volatile(
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
          : "r"(from));
      sa[i] = scaleA[(row0 + row + lane / 4 + lane % 2 * 8) * steps + step];
    }
    for (int j = 0; j < 8; ++j) {
      int column = warpColumn + j * 8;
      unsigned fb[2];
      unsigned from = __cvta_generic_to_shared(
          &tileB[stage][column + lane % 8][lane / 8 % 2 * 16]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                   : "=r"(fb[0]), "=r"(fb[1])
                   : "r"(from));
      unsigned sb = scaleB[(column0 + column + lane / 4) * steps + step];
      for (int i = 0; i < 2; ++i)
        asm volatile(
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale."
            "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, "
            "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, %10, {0, 0}, %11, {0, 0};"
            : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]),
              "+f"(sums[i][j][3])
            : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]),
              "r"(fb[0]), "r"(fb[1]), "r"(sa[i]), "r"(sb));
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 8; ++j)
      for (int e = 0; e < 4; ++e) {
        int r = row0 + warpRow + i * 16 + lane / 4 + e / 2 * 8;
        int q = column0 + warpColumn + j * 8 + lane % 4 * 2 + e % 2;
        c[r * n + q] = sums[i][j][e];
      }
}
