//===-- Basics.cu - Kernels for the simulator's tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// Sum of a block's elements: shuffles, then shared memory.
extern "C" __global__ void reduce_sum(const float *x, float *y, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int offset = 16; offset; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0)
      y[blockIdx.x] = sum;
  }
}

extern "C" __global__ void transpose(const float *x, float *y, int rows,
                                     int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += blockDim.y)
    if (column < columns && row + i < rows)
      tile[i][threadIdx.x] = x[(row + i) * columns + column];
  __syncthreads();
  int outColumn = row + threadIdx.x, outRow = blockIdx.x * 32;
  for (int i = threadIdx.y; i < 32; i += blockDim.y)
    if (outColumn < rows && outRow + i < columns)
      y[(outRow + i) * rows + outColumn] = tile[threadIdx.x][i];
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins,
                                     int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

/// Inclusive prefix sum of a block of 1024, by warps.
extern "C" __global__ void scan(const int *x, int *y) {
  __shared__ int totals[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset)
      value += other;
  }
  if (lane == 31)
    totals[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int total = totals[lane];
    for (int offset = 1; offset < 32; offset *= 2) {
      int other = __shfl_up_sync(0xffffffff, total, offset);
      if (lane >= offset)
        total += other;
    }
    totals[lane] = total;
  }
  __syncthreads();
  if (warp > 0)
    value += totals[warp - 1];
  y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void half_math(const __half *a, const __half *b,
                                     __half *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = __hadd(__hfma(a[i], b[i], __hmul(a[i], a[i])), __hmax(a[i], b[i]));
}

extern "C" __global__ void bf16_math(const __nv_bfloat16 *a,
                                     const __nv_bfloat16 *b, __nv_bfloat16 *y,
                                     int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
  if (i < n) {
    auto x = *reinterpret_cast<const __nv_bfloat162 *>(a + i);
    auto z = *reinterpret_cast<const __nv_bfloat162 *>(b + i);
    *reinterpret_cast<__nv_bfloat162 *>(y + i) = __hfma2(x, z, __hmax2(x, z));
  }
}

__device__ __noinline__ double polynomial(const double *c, int n, double x) {
  double y = 0;
  for (int i = n - 1; i >= 0; --i)
    y = y * x + c[i];
  return y;
}

__constant__ double coefficients[4] = {1.0, -0.5, 0.25, 2.0};

/// Calls, local arrays, f64, a loop whose trips differ, integer division.
extern "C" __global__ void mixed(const double *x, double *y, int *steps,
                                 int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double local[4];
  for (int k = 0; k < 4; ++k)
    local[k] = coefficients[(k + i) % 4];
  y[i] = polynomial(local, 4, x[i]) / (1.0 + i % 7);
  unsigned value = i + 1, count = 0;
  while (value != 1) {
    value = value % 2 ? 3 * value + 1 : value / 2;
    ++count;
  }
  steps[i] = count;
}

/// expf, logf, sinf and the like, as nvcc expands them.
extern "C" __global__ void functions(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  y[i] = expf(v);
  y[n + i] = logf(fabsf(v) + 1.0f);
  y[2 * n + i] = sinf(v);
  y[3 * n + i] = tanhf(v);
  y[4 * n + i] = rsqrtf(fabsf(v) + 0.5f);
  y[5 * n + i] = erff(v);
  y[6 * n + i] = powf(fabsf(v), 1.5f);
}
