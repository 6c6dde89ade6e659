# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Functions of epilogues that are instructions or questions, not polynomials:
of every combination of ordinary and special values, against NumPy."""
from support import *

SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, -2.75, 1e-40, -1e-40, 1.17549435e-38, 3e38, -3e38,
           np.inf, -np.inf, np.nan, 65504.0, 7.0, -8.0, 0.3]
x, e = np.array(SPECIAL, np.float32), np.array(SPECIAL, np.float32)
a, b = np.broadcast_arrays(x[:, None], e[None, :])


def bits(v):
    return np.ascontiguousarray(v).view(np.uint32)


def count(v, f):
    return np.array([f(format(int(u), "032b")) for u in v.reshape(-1)], np.float32).reshape(v.shape)


def as_f32(v):
    return np.where(v, np.float32(1), np.float32(0))


def choose(question):
    return f"%q = {question} : f32\n    %o = arith.constant 1.0 : f32\n    %z = arith.constant 0.0 : f32\n" \
        "    %r = arith.select %q, %o, %z : f32"


def of_bits(op):
    return f"%i = arith.bitcast %acc : f32 to i32\n    %c = math.{op} %i : i32\n    %r = arith.uitofp %c : i32 to f32"


magnitude = np.abs(a)
with np.errstate(all="ignore"):
    cases = {
        "copysign": ("%r = math.copysign %acc, %e : f32", np.copysign(a, b)),
        "isnan": (choose("math.isnan %acc"), as_f32(np.isnan(a))),
        "isinf": (choose("math.isinf %acc"), as_f32(np.isinf(a))),
        "isfinite": (choose("math.isfinite %acc"), as_f32(np.isfinite(a))),
        "isnormal": (choose("math.isnormal %acc"),
                     as_f32(np.isfinite(a) & (magnitude >= np.finfo(np.float32).tiny))),
        "ctpop": (of_bits("ctpop"), count(bits(a), lambda t: t.count("1"))),
        "ctlz": (of_bits("ctlz"), count(bits(a), lambda t: len(t) - len(t.lstrip("0")))),
        "cttz": (of_bits("cttz"), count(bits(a), lambda t: len(t) - len(t.rstrip("0")))),
        "absi": (of_bits("absi"), np.abs(np.int64(bits(a).view(np.int32))).astype(np.float32)),
        "cube": ("%n = arith.constant 3 : i32\n    %r = math.fpowi %acc, %n : f32, i32",
                 (np.float64(a) ** 3).astype(np.float32)),
        "inverse": ("%n = arith.constant -2 : i32\n    %r = math.fpowi %acc, %n : f32, i32",
                    (np.float64(a) ** -2.0).astype(np.float32)),
        "power": ("%i = arith.bitcast %e : f32 to i32\n    %c = math.ctpop %i : i32\n"
                  "    %r = math.fpowi %acc, %c : f32, i32",
                  (np.float64(a) ** count(bits(b), lambda t: t.count("1"))).astype(np.float32)),
        "clampf": ("%l = arith.constant -1.0 : f32\n    %h = arith.constant 1.25 : f32\n"
                   "    %r = math.clampf %acc to [%l, %h] : f32", np.clip(a, np.float32(-1), np.float32(1.25))),
        "sincos": ("%s, %c = math.sincos %acc : f32\n    %t = arith.mulf %s, %s : f32\n"
                   "    %u = arith.mulf %c, %c : f32\n    %r = arith.addf %t, %u : f32",
                   np.where(np.isfinite(a), np.float32(1), np.float32(np.nan))),
        "bf16": ("%n = arith.truncf %acc : f32 to bf16\n    %o = arith.truncf %e : f32 to bf16\n"
                 "    %s = math.copysign %n, %o : bf16\n    %r = arith.extf %s : bf16 to f32",
                 np.copysign(blockscale.from_bf16(blockscale.to_bf16(a)), b)),
    }
m = len(SPECIAL)
library = compile("".join(f"""
func.func @{name}(%x: tensor<{m}x32xf32>, %w: tensor<{m}x32xf32>, %b: tensor<{m}xf32>) -> tensor<{m}x{m}xf32> {{
  %y = blockscale.scaled_matmul lhs(%x : tensor<{m}x32xf32>) rhs(%w : tensor<{m}x32xf32>) epilogue(%b : tensor<{m}xf32>) {{
  ^bb0(%acc: f32, %e: f32):
    {body}
    blockscale.yield %r : f32
  }} : tensor<{m}x{m}xf32>
  return %y : tensor<{m}x{m}xf32>
}}""" for name, (body, _) in cases.items()))
# The product is x[row], save for -0, which a sum that starts at 0 loses.
lhs, rhs = np.zeros((m, 32), np.float32), np.zeros((m, 32), np.float32)
lhs[:, 0], rhs[:, 0] = x, 1
for name, (_, expected) in cases.items():
    got, expected = library.call(name, lhs, rhs, e), np.array(expected, np.float32)
    rows = [i for i in range(m) if not (x[i] == 0 and np.signbit(x[i]))]
    got, expected = got[rows], expected[rows]
    if name == "sincos":
        close = np.isclose(got, expected, rtol=3e-7, atol=0, equal_nan=True)
    elif name in ("cube", "inverse", "power"):
        close = np.isclose(got, expected, rtol=1.2e-7, atol=1e-45, equal_nan=True)
    else:
        close = (bits(got) == bits(expected)) | (np.isnan(got) & np.isnan(expected))
    check(name, close.all(), (got[~close][:4], expected[~close][:4]))
finish(len(cases))
