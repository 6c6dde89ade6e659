# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Batches, alpha, C and epilogues of GPU matmuls, executed in the simulator."""
from matmul_support import *

rng = np.random.default_rng(3)


def real(*shape):
    return rng.standard_normal(shape).astype(np.float32)


BIAS_RELU = """{
  ^bb0(%acc: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %acc, %b : f32
    %r = arith.maximumf %s, %zero : f32
    %t = arith.truncf %r : f32 to bf16
    blockscale.yield %t : bf16
  }"""
SILU = """{
  ^bb0(%acc: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %acc : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %r = arith.divf %acc, %d : f32
    blockscale.yield %r : f32
  }"""
SCALES = """{
  ^bb0(%acc: f32, %row: f32, %col: bf16, %all: f32, %keep: i1):
    %c = arith.extf %col : bf16 to f32
    %zero = arith.constant 0.0 : f32
    %x = arith.mulf %acc, %row : f32
    %y = arith.mulf %x, %c : f32
    %z = arith.addf %y, %all : f32
    %k = arith.select %keep, %z, %zero : f32
    %t = arith.truncf %k : f32 to f16
    blockscale.yield %t : f16
  }"""
PASS = """{
  ^bb0(%acc: f32, %x: f32):
    %s = arith.addf %acc, %x : f32
    blockscale.yield %s : f32
  }"""

for target, lhs, rhs in [("sm_120a", "nvfp4", "nvfp4"),
                         ("sm_120a", "mxfp6_e3m2", "mxfp4"),
                         ("sm_80", "nvfp4", "bf16")]:
    # N that 4 divides, that 2 divides, odd; M != N in batches.
    for m, n in [(5, 64), (33, 70), (130, 67)]:
        matmul_case(target, lhs, rhs, m, n, 160, out="bf16",
                    epilogue=(BIAS_RELU, [(f"tensor<{n}xf32>", real(n))]))
        matmul_case(target, lhs, rhs, m, n, 96, epilogue=(SILU, []))
        matmul_case(target, lhs, rhs, m, n, 96, out="f16", epilogue=(SCALES, [
            (f"tensor<{m}x1xf32>", np.abs(real(m, 1)) / 64),
            (f"tensor<{n}xbf16>", blockscale.to_bf16(np.tanh(real(n)) / 16)),
            ("tensor<f32>", np.array(0.5, np.float32)),
            (f"tensor<{m}x{n}xi1>", rng.random((m, n)) < 0.7)]))
        matmul_case(target, lhs, rhs, m, n, 96, batch=(3,), alpha=True,
                    acc="f32")
        matmul_case(target, lhs, rhs, m, n, 32, batch=(2, 3), shared=True,
                    acc="bf16", out="bf16")
        matmul_case(target, lhs, rhs, m, n, 32, batch=(2, 3), tiled="plain"
                    not in (lhs, rhs) and rhs != "bf16", dynamic=True,
                    acc="f16", alpha=True)
        for shape in [(2, 1, m, n), (3, 1, n), (2, 3, m, 1), (1, 3, 1, n),
                      (m, n)]:
            dims = "".join(f"{d}x" for d in shape)
            matmul_case(target, lhs, rhs, m, n, 32, batch=(2, 3),
                        epilogue=(PASS, [(f"tensor<{dims}f32>",
                                          real(*shape))]))
finish(at_least=95)
