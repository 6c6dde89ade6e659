# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every preset, other formats and plain sides by bf16 mma.sync, executed in the
simulator."""
from matmul_support import *

rng = np.random.default_rng(11)
names = list(FORMATS)
for i, lhs in enumerate(names):
    for rhs in (lhs, names[(5 * i + 3) % len(names)], PLAIN[i % 3]):
        block = int(np.lcm.reduce([FORMATS[x][2] for x in (lhs, rhs)
                                   if x in FORMATS]))
        k = block * int(rng.integers(1, max(2, 400 // block)))
        m, n = int(rng.integers(1, 301)), int(rng.integers(1, 150))
        tileable = all(x in PLAIN or mlir_type(FORMATS[x][3]) not in
                       ("f16", "bf16", "f32") for x in (lhs, rhs))
        matmul_case("sm_80", lhs, rhs, m, n, k, seed=i, dynamic=i % 3 == 1,
                    tiled=tileable and i % 2 == 1,
                    expected_remark="emulated via bf16 mma.m16n8k16" + (
                        "" if lhs not in ROUNDED and rhs not in ROUNDED else
                        ", both sides rounded" if lhs in ROUNDED and
                        rhs in ROUNDED else ", lhs rounded"
                        if lhs in ROUNDED else ", rhs rounded"))
# Plain sides: rows that 16, 4 and 2 bytes divide.
for lhs in PLAIN:
    for k in (1, 7, 33, 34, 72, 200):
        matmul_case("sm_80", lhs, PLAIN[k % 3], 19, 21, k, seed=k)
# The pairs that sm_120a does not know take the same way there.
for lhs, rhs in [("nvint4", "nvint4"), ("nvfp4", "mxfp4"), ("nf4", "bf16"),
                 ("fp4_ue5m3", "nvfp4"), ("bf16", "nvfp4"),
                 ("fp4_e8m0", "fp4_e8m0")]:
    matmul_case("sm_120a", lhs, rhs, 70, 30, 192,
                expected_remark="emulated via bf16 mma.m16n8k16")
# e4m3 and e5m2 by the chip's conversion to f16.
for chip in "sm_89", "sm_120a":
    for lhs, rhs in [("mxfp8_e4m3", "bf16"), ("f16", "mxfp8_e5m2"),
                     ("mxfp8_e5m2", "nvfp4")]:
        matmul_case(chip, lhs, rhs, 70, 33, 224,
                    expected_remark="emulated via bf16 mma.m16n8k16")
for m in (16, 32, 64, 128):
    for n in (64, 128):
        matmul_case("sm_89", "mxint8", "bf16", 150, 140, 416,
                    tile=f"{m}, {n}, 64, 2")
        matmul_case("sm_80", "uint4", "nvfp4", 150, 140, 448,
                    tile=f"{m}, {n}, 64, 4")
finish(at_least=186)
