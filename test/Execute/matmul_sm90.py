# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Hopper's matmuls, few rows and many, executed in the simulator; tails, both
scale layouts, batches, epilogues."""
from matmul_support import *

FEW, MANY = "exact via bf16 mma.m16n8k16", "exact via bf16 wgmma.m64k16"
EITHER = "exact via bf16 mma.m16n8k16 or wgmma.m64k16"

# Every format whose values are bf16 numbers; K with tails of every kind.
formats = ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3",
           "mxfp6_e3m2", "mxint4", "nvint4", "fp4_ue5m3", "fp4_e3m4",
           "fp4_e8m0"]
rows = [1, 2, 3, 5, 8, 9, 13, 16, 17, 33, 70, 150, 300]
for i, rhs in enumerate(formats):
    block = FORMATS[rhs][2]
    for j in range(3):
        m = rows[(3 * i + 5 * j) % len(rows)]
        tiled = (i + j) % 2 == 1
        # Whole words of scales, if they are linear.
        step = 2 * block if tiled else 4 * block
        k = max(step, 32) * (1 + (2 * i + 3 * j) % 7)
        n = (8, 40, 130, 200)[(i + j) % 4]
        dynamic = j == 2
        matmul_case("sm_90a", "bf16" if j else rhs, rhs, m, n, k, seed=i,
                    dynamic=dynamic, tiled=tiled, out=("f32", "bf16")[j % 2],
                    expected_remark=EITHER if dynamic else
                    FEW if m <= 16 else MANY)
# Every number of rows at which the kernel changes.
for m in rows:
    matmul_case("sm_90a", "bf16", "nvfp4", m, 72, 1088, dynamic=m % 2 == 1)
# Scales of several steps of K at a time, and clusters whose blocks start
# between them.
for rhs, k in (("nvfp4", 768), ("nvfp4", 1280), ("mxfp4", 1536)):
    matmul_case("sm_90a", "bf16", rhs, 40, 136, k)
# Batches, with weights of their own or shared.
for m in (3, 40):
    for shared in (False, True):
        matmul_case("sm_90a", "bf16", "mxfp4", m, 136, 256, batch=(3,),
                    shared=shared, acc="f32", alpha=True)
matmul_case("sm_90a", "nvfp4", "nvfp4", 20, 136, 256, batch=(2,), tiled=True)
BIAS = """{
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    %t = arith.truncf %s : f32 to bf16
    blockscale.yield %t : bf16
  }"""
for m in (1, 5, 16, 100):
    bias = np.random.default_rng(m).standard_normal(135).astype(np.float32)
    matmul_case("sm_90a", "bf16", "nvfp4", m, 135, 192, out="bf16",
                acc="bf16", epilogue=(BIAS, [("tensor<135xf32>", bias)]))
finish(at_least=50)
