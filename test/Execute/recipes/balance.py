# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Balanced weights: the factors of SINQ's published sinkhorn_log, redone here in
float64; odd sizes, zero rows, NaN, one row; constants fold to the same bits; and
the recipe, from a plain weight to codes, zero points and two scale vectors."""
from common import *

random = np.random.default_rng(12)


def sinkhorn_log(m, order):
    """Factors of the columns, as sinq/sinkhorn.py computes them."""
    def spread(x, axis):
        return x.std(axis, ddof=1)

    def imbalance(x):
        s = np.concatenate([spread(x, 1), spread(x, 0)])
        return s.max() / max(s.min(), 1e-12)

    m = np.float64(m)
    target = np.clip(np.concatenate([spread(m, 1), spread(m, 0)]), 1e-3, 1e3).min() + 1e-6
    log1, log2 = np.zeros(m.shape[1]), np.zeros((m.shape[0], 1))
    least, best, gate = imbalance(m), np.exp(log1), 0.0
    for _ in range(order):
        x = m / np.exp(log1) / np.exp(log2)
        now = imbalance(x)
        if now <= least:
            best = np.exp(log1)
        least = min(least, now)
        gate = min(gate + (now > least), 1.0)
        step1 = np.log(np.clip(np.clip(spread(x, 0), 1e-3, 1e3) / target, 0.7, 2))
        step2 = np.log(np.clip(np.clip(spread(x, 1), 1e-3, 1e3) / target, 0.7, 2))
        log1 = np.clip(log1 + step1 * (1 - gate), -0.3, 10)
        log2 = np.clip(log2 + step2[:, None] * (1 - gate), -0.3, 10)
    return best


def module(name, n, k, block, steps, dtype="f32"):
    w, c = f"tensor<{n}x{k}x{dtype}>", f"tensor<{k}xf32>"
    return f"""
func.func @{name}(%w: {w}) -> (tensor<{n}x{k}xf32>, {c}) {{
  %b, %c = blockscale.balance %w {{block = {block}, steps = {steps}}} : {w} -> tensor<{n}x{k}xf32>, {c}
  return %b, %c : tensor<{n}x{k}xf32>, {c}
}}"""


def weight(n, k):
    w = random.standard_normal((n, k)) * np.exp(random.normal(0, 0.5, k)) \
        * np.exp(random.normal(0, 0.5, (n, 1)))
    w[:, k // 3] *= 15
    return w.astype(np.float32)


CASES = [(128, 256, 64, 16), (96, 64, 64, 16), (40, 130, 64, 8), (33, 57, 16, 3), (17, 24, 128, 16),
         (64, 64, 64, 1), (200, 66, 64, 30)]
library = compile("".join(module(f"case{i}", "?" if i % 2 else case[0], *case[1:])
                          for i, case in enumerate(CASES)) + module("bf16", 64, 128, 64, 16, "bf16"))
for i, (n, k, block, steps) in enumerate(CASES):
    w = weight(n, k)
    balanced, columns = library.call(f"case{i}", w)
    expected = np.concatenate([sinkhorn_log(w[:, c:c + block], steps) for c in range(0, k, block)])
    name = f"{n}x{k} by {block}, {steps} steps"
    check(f"{name}: factors", np.allclose(columns, expected, rtol=1e-4),
          np.abs(columns / expected - 1).max())
    same(f"{name}: balanced", balanced, w / columns)
    if steps > 1:
        check(f"{name}: an outlier column is smaller", columns[k // 3] > 3)

# What is not a number stays in its tile; rows and columns of zeros do no harm.
w = weight(64, 128)
for name, change in {"NaN": np.nan, "infinity": np.inf, "overflow": 3e38}.items():
    broken = w.copy()
    broken[5, 7] = change
    columns = compile(module("f", 64, 128, 64, 16)).f(broken)[1]
    same(f"{name}: its tile is left alone", columns[:64], np.ones(64, np.float32))
    check(f"{name}: the other is not", np.allclose(columns[64:], sinkhorn_log(w[:, 64:], 16), rtol=1e-4))
zeros = w.copy()
zeros[3], zeros[:, 9] = 0, 0
columns = compile(module("f", 64, 128, 64, 16)).f(zeros)[1]
# Their deviation of 0 leaves the end to rounding: a step, 0.1 %, more or less.
check("zeros", np.allclose(columns[:64], sinkhorn_log(zeros[:, :64], 16), rtol=2e-3))
for n in (0, 1):
    balanced, columns = compile(module("f", "?", 128, 64, 16)).f(w[:n])
    check(f"{n} rows", np.isfinite(columns).all() and balanced.shape == (n, 128))

# Constants: the same bits, of either type.
stored = blockscale.to_bf16(w)
values = blockscale.from_bf16(stored)
body = ", ".join("[" + ", ".join(f"{v:e}" for v in row) + "]" for row in values)
folded = compile(f"""
func.func @constant() -> (tensor<64x128xf32>, tensor<128xf32>) {{
  %w = arith.constant dense<[{body}]> : tensor<64x128xbf16>
  %b, %c = blockscale.balance %w {{block = 64, steps = 16}} : tensor<64x128xbf16> -> tensor<64x128xf32>, tensor<128xf32>
  return %b, %c : tensor<64x128xf32>, tensor<128xf32>
}}""").constant()
for name, a, e in zip(("balanced", "columns"), folded, library.bf16(stored)):
    same(f"constant {name}", bits(a), bits(e))

# The recipe: what it multiplies is (q - z) s c, with s of a block's extremes.
N, K, M = 96, 256, 32
w, x = weight(N, K), random.standard_normal((M, K)).astype(np.float32)
dy = random.standard_normal((M, N)).astype(np.float32)
xt, wt, yt = f"tensor<{M}x{K}xf32>", f"tensor<{N}x{K}xf32>", f"tensor<{M}x{N}xf32>"


def layer(recipe):
    return compile(f"""
func.func @layer(%x: {xt}, %w: {wt}, %dy: {yt}) -> ({yt}, {xt}, {wt}) {{
  %y = blockscale.linear forward(%x, %w : {xt}, {wt}) recipe #blockscale.recipe<{recipe}> -> {yt}
  %dx = blockscale.linear dgrad(%dy, %w : {yt}, {wt}) recipe #blockscale.recipe<{recipe}> -> {xt}
  %dw = blockscale.linear wgrad(%dy, %x : {yt}, {xt}) recipe #blockscale.recipe<{recipe}> -> {wt}
  return %y, %dx, %dw : {yt}, {xt}, {wt}
}}""").layer(x, w, dy)


columns = np.concatenate([sinkhorn_log(w[:, c:c + 64], 16) for c in range(0, K, 64)])
blocks = (w / columns.astype(np.float32)).reshape(N, -1, 64)
low, high = blocks.min(2, keepdims=True), blocks.max(2, keepdims=True)
scale = np.float64(np.float16((high - low) / 15))
q = np.clip(np.round(blocks / scale) - np.round(low / scale), 0, 15)
near = ((q + np.round(low / scale)) * scale).reshape(N, K) * columns
y, dx, dw = layer("sinq")
print("sinq:", relative_error(y, np.float64(x) @ near.T), "from the definition,",
      relative_error(y, x @ w.T), "from the exact product; without balance",
      relative_error(layer("sinq, balance = 0")[0], x @ w.T))
check("y is by (q - z) s c", relative_error(y, np.float64(x) @ near.T) < 0.02)
check("dx is by (q - z) s c", relative_error(dx, np.float64(dy) @ near) < 0.02)
check("dw is exact", relative_error(dw, np.float64(dy).T @ x) < 1e-6)
check("a second scale is better", relative_error(y, x @ w.T) <
      0.75 * relative_error(layer("sinq, balance = 0")[0], x @ w.T))

# With a branch: its part of dx is not multiplied by the factors of the balanced
# weight. With 8 bits what is left is quantized well, so dx is that of the whole.
down = random.standard_normal((8, K)).astype(np.float32)
up = random.standard_normal((N, 8)).astype(np.float32)
recipe = ("balance = 16, low_rank = 8, fprop_w = #blockscale.site<#blockscale.format<int8, block = 32, scale = f32> "
          "by #blockscale.scale_rule<absmax> round nearest_even>, dgrad_w = #blockscale.site<plain reuse>")
operands = f"low_rank(%d, %u : tensor<8x{K}xf32>, tensor<{N}x8xf32>) recipe #blockscale.recipe<{recipe}>"
y, dx = compile(f"""
func.func @branch(%x: {xt}, %w: {wt}, %dy: {yt}, %d: tensor<8x{K}xf32>, %u: tensor<{N}x8xf32>) -> ({yt}, {xt}) {{
  %y = blockscale.linear forward(%x, %w : {xt}, {wt}) {operands} -> {yt}
  %dx = blockscale.linear dgrad(%dy, %w : {yt}, {wt}) {operands} -> {xt}
  return %y, %dx : {yt}, {xt}
}}""").branch(x, w, dy, down, up)
whole = np.float64(w) + np.float64(up) @ down
check("a branch: y", relative_error(y, x @ whole.T) < 0.02, relative_error(y, x @ whole.T))
check("a branch: dx", relative_error(dx, dy @ whole) < 0.02, relative_error(dx, dy @ whole))
finish(34)
