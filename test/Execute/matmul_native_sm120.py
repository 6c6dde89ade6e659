# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every pair that sm_120a multiplies natively, at random sizes, executed in the
simulator."""
from matmul_support import *

rng = np.random.default_rng(7)
MX = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"]


def size(block):
    return (int(rng.integers(1, 301)), int(rng.integers(1, 150)),
            block * int(rng.integers(1, 12)))


for i, (lhs, rhs) in enumerate((x, y) for x in MX for y in MX):
    kind = "mxf4 scale_vec::2X" if lhs == rhs == "mxfp4" else "mxf8f6f4"
    matmul_case("sm_120a", lhs, rhs, *size(32), seed=i, tiled=i % 2 == 1,
                dynamic=i % 3 == 0, expected_remark="native, mma.m16n8k" + (
                    "64 " if kind[3] == "4" else "32 ") + kind)
for i in range(12):
    matmul_case("sm_120a", "nvfp4", "nvfp4", *size(16), seed=i,
                tiled=i % 2 == 1, dynamic=i % 3 == 0,
                expected_remark="native, mma.m16n8k64 mxf4nvf4 scale_vec::4X")
# Every tile, with more steps than stages and with fewer; blocks of 16 rows.
for m in (16, 32, 64, 128):
    for n in (64, 128):
        matmul_case("sm_120a", "nvfp4", "nvfp4", 150, 140, 656,
                    tile=f"{m}, {n}, 128, 3")
        matmul_case("sm_120a", "mxfp8_e4m3", "mxfp4", 150, 140, 480,
                    tile=f"{m}, {n}, 128, 2")
        matmul_case("sm_120a", "nvfp4, block = 16x16", "nvfp4", 61, 70, 208,
                    tile=f"{m}, {n}, 128, 4", tiled=m == 64)
for m in (1, 2, 15, 16, 17):
    matmul_case("sm_120a", "mxfp4", "mxfp4", m, 33, 96, dynamic=True)
finish(at_least=95)
