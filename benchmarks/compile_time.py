#!/usr/bin/env python3
"""How long one matmul takes from its text to PTX and to a cubin for sm_120a,
process start included, and how long the PTX is: blockscale-compile, Triton's
tl.dot_scaled (TRITON_PYTHON names a Python that has it; no GPU is needed) and
nvcc on a plain CUDA kernel. Peers that are not there are left out.

    benchmarks/compile_time.py [RUNS]
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matmul_module

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD", ROOT / "build"))
COMPILE = BUILD / "bin" / "blockscale-compile"
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
M = N = K = 4096

TRITON = '''
import sys, time
start = time.perf_counter()
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def matmul(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        kk = k0 // 2 + tl.arange(0, BK // 2)
        ks = k0 // 32 + tl.arange(0, BK // 32)
        av = tl.load(a + m[:, None] * (K // 2) + kk[None, :])
        bv = tl.load(b + n[None, :] * (K // 2) + kk[:, None])
        sav = tl.load(sa + m[:, None] * (K // 32) + ks[None, :])
        sbv = tl.load(sb + n[:, None] * (K // 32) + ks[None, :])
        acc = tl.dot_scaled(av, sav, "e2m1", bv, sbv, "e2m1", acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))

names = matmul.arg_names
types = dict(zip(names, ["*u8"] * 4 + ["*bf16"] + ["i32"] * 3 +
                 ["constexpr"] * 3))
values = {(names.index(k),): v
          for k, v in {"BM": 128, "BN": 128, "BK": 128}.items()}
# As Triton specializes pointers and sizes that 16 divides.
divisible = {(i,): [["tt.divisibility", 16]] for i in range(8)}
source = ASTSource(matmul, types, values, divisible)
ready = time.perf_counter()
kernel = triton.compile(source, target=GPUTarget("cuda", 120, 32),
                        options={"num_warps": 8, "num_stages": 3})
print(time.perf_counter() - ready)
open(sys.argv[1], "w").write(kernel.asm["ptx"])
'''
CUDA = '''
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul(const __nv_bfloat16 *a, const __nv_bfloat16 *b,
                                  float *c, int n, int k) {
  __shared__ __nv_bfloat16 sa[64 * 32], sb[64 * 32];
  int warp = threadIdx.x / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4];
  for (auto &f : acc) wmma::fill_fragment(f, 0.0f);
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int i = threadIdx.x; i < 64 * 32; i += 128) {
      sa[i] = a[(row + i / 32) * k + k0 + i % 32];
      sb[i] = b[(col + i / 32) * k + k0 + i % 32];
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, sa + warp * 16 * 32 + kk, 32);
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
        wmma::load_matrix_sync(fb, sb + j * 16 * 32 + kk, 32);
        wmma::mma_sync(acc[j], fa, fb, acc[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    wmma::store_matrix_sync(c + (row + warp * 16) * n + col + j * 16, acc[j], n,
                            wmma::mem_row_major);
}
'''


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command, environments=None):
    """Of each run, milliseconds from the start of the process to its end and of
    processors; and the last output."""
    times = []
    for run in range(RUNS):
        start, used = time.perf_counter(), cpu_seconds()
        done = subprocess.run(command, capture_output=True, text=True,
                              env=environments and environments(run))
        times.append(((time.perf_counter() - start) * 1e3,
                      (cpu_seconds() - used) * 1e3))
        if done.returncode:
            sys.exit(done.stderr)
    return times, done.stdout


def shown(times):
    wall, cpu = zip(*times)
    return f"{statistics.median(wall):.0f}, {statistics.median(cpu):.0f}"


def lines(path):
    return len(path.read_text().splitlines())


def ours(folder):
    def module(lhs, rhs, m=M, **more):
        return matmul_module.module(lhs, rhs, m, N, K, **more)

    cases = [("nvfp4 x nvfp4", module("nvfp4", "nvfp4")),
             ("mxfp4 x mxfp4", module("mxfp4", "mxfp4")),
             ("mxfp8_e4m3 x mxfp4", module("mxfp8_e4m3", "mxfp4")),
             ("bf16 x nvfp4", module("bf16", "nvfp4")),
             ("nf4 x nf4", module("nf4", "nf4")),
             ("nvfp4 x nvfp4, bias and gelu",
              module("nvfp4", "nvfp4", epilogue="gelu")),
             ("nvfp4 x nvfp4, quantized to mxfp4",
              module("nvfp4", "nvfp4", quantized="mxfp4")),
             ("nvfp4 x nvfp4, run-time M (two kernels)",
              module("nvfp4", "nvfp4", m="?")),
             ("nf4 x nf4, run-time M (two kernels)",
              module("nf4", "nf4", m="?"))]
    for name, text in cases:
        source, out = folder / "a.mlir", folder / "a.out"
        source.write_text(text)
        command = [COMPILE, source, "--target=sm_120a", "-o", out]
        ptx, _ = timed([*command, "--emit=ptx"])
        count = lines(out)
        cubin = "-"
        if shutil.which("ptxas"):
            cubin = shown(timed([*command, "--emit=cubin"])[0])
        print(f"| blockscale-compile, {name} | {shown(ptx)} | {cubin} | "
              f"{count} |", flush=True)


def triton(folder):
    python = os.environ.get("TRITON_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import triton"],
                      capture_output=True).returncode:
        return
    script, ptx = folder / "t.py", folder / "t.ptx"
    script.write_text(TRITON)
    # Every run finds an empty cache.
    whole, printed = timed([python, script, ptx], lambda run: {
        **os.environ, "TRITON_CACHE_DIR": str(folder / str(run))})
    inside = float(printed.split()[-1]) * 1e3
    native = "block_scale" in ptx.read_text()
    print(f"| Triton, mxfp4 x mxfp4{'' if native else ', emulated'} | - | "
          f"{shown(whole)} | {lines(ptx)} |")
    print(f"| of which triton.compile() | - | {inside:.0f} | |", flush=True)


def nvcc(folder):
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(compiler).exists():
        return
    source, out = folder / "a.cu", folder / "a.out"
    source.write_text(CUDA)
    command = [compiler, "-arch=sm_120a", "-O3", source, "-o", out]
    ptx, _ = timed([*command, "-ptx"])
    count = lines(out)
    cubin, _ = timed([*command, "-cubin"])
    print(f"| nvcc, bf16 by wmma | {shown(ptx)} | {shown(cubin)} | {count} |")


def main():
    print(f"Milliseconds from start to end and of processor time, medians of "
          f"{RUNS} runs; {M}x{N}x{K}, tile 128x128.\n")
    print("| | to PTX | to cubin | lines of PTX |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        ours(Path(folder))
        triton(Path(folder))
        nvcc(Path(folder))


main()
