# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Hopper's products whose operands are made bf16 before, in the simulator:
tails, every format, batches, more tiles than blocks, epilogues."""
from matmul_support import *

REMARK = "exact via bf16 wgmma.m64k16, rhs unpacked before"
CHOSEN = {"tile": "128, 256, 64, 4", "operands": "bf16"}
TILES = ["128, 256, 64, 4", "128, 160, 64, 3", "128, 32, 64, 2"]

formats = ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3",
           "mxfp6_e3m2", "mxint4", "nvint4", "fp4_ue5m3", "fp4_e3m4",
           "fp4_e8m0"]
# K with less than a stage, whole stages and more stages than the ring has.
sizes = [(1, 8, 32), (130, 264, 96), (64, 40, 128), (129, 72, 448),
         (7, 300, 320), (200, 16, 576)]
for i, rhs in enumerate(formats):
    for j in range(2):
        m, n, k = sizes[(i + 3 * j) % len(sizes)]
        k = -(-k // (2 * FORMATS[rhs][2])) * 2 * FORMATS[rhs][2]
        if not j:
            k = -(-k // (4 * FORMATS[rhs][2])) * 4 * FORMATS[rhs][2]
        matmul_case("sm_90a", rhs if j else "bf16", rhs, m, n, k, seed=i,
                    dynamic=i % 3 == 0, tiled=j == 1,
                    out=("f32", "bf16")[i % 2], expected_remark=REMARK,
                    tile=TILES[(i + j) % 3], operands="bf16")
# Blocks take several tiles: the ring goes on where it was.
for shared in (False, True):
    matmul_case("sm_90a", "bf16", "mxfp4", 3, 8, 256, batch=(150,),
                shared=shared, acc="f32", alpha=True, **CHOSEN)
matmul_case("sm_90a", "nvfp4", "nvfp4", 140, 24, 128, batch=(2,), tiled=True,
            **CHOSEN)
for m in (5, 140):
    bias = np.random.default_rng(m).standard_normal(135).astype(np.float32)
    matmul_case("sm_90a", "bf16", "nvfp4", m, 135, 192, out="bf16", acc="bf16",
                epilogue=(BIAS, [("tensor<135xf32>", bias)]), **CHOSEN)
finish(at_least=40)
