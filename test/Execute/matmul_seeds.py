# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Hopper's kernels for one row, some and many, in the simulator: no order of
warps and of copies that land late is reported or changes a result."""
from matmul_support import *

for device in ("sim:2", "sim:3"):
    os.environ["BLOCKSCALE_GPU_DEVICE"] = device
    for m, n, k in ((1, 64, 4096), (60, 128, 1536), (150, 136, 768)):
        matmul_case("sm_90a", "bf16", "nvfp4", m, n, k)
    matmul_case("sm_90a", "mxfp8_e4m3", "mxfp4", 150, 72, 512)
finish(at_least=8)
