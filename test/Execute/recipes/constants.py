# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""A layer whose weight is a constant gives the bits of the layer whose weight is
an argument, for recipes of every kind, with weights large and small."""
from common import *

random = np.random.default_rng(4)


def constant(values):
    """A bf16 constant, large ones as a resource."""
    codes = blockscale.to_bf16(values)
    shape = "x".join(map(str, values.shape))
    if values.size * 2 < 1 << 12:
        body = ", ".join("[" + ", ".join(f"{v:e}" for v in row) + "]"
                         for row in blockscale.from_bf16(codes))
        return f"dense<[{body}]>", shape, ""
    blob = (b"\x02\x00\x00\x00" + codes.tobytes()).hex().upper()
    return "dense_resource<weight>", shape, \
        f'{{-#\n dialect_resources: {{ builtin: {{ weight: "0x{blob}" }} }}\n#-}}'


for recipe, n, k in [("weight_only", 16, 64), ("weight_only", 200, 256), ("te_nvfp4", 64, 128),
                     ("nf4", 96, 256), ("sinq", 128, 192), ("quartet", 128, 160),
                     ("nvint", 128, 160), ("fp4_all_the_way", 80, 352)]:
    w = random.standard_normal((n, k)).astype(np.float32)
    x = random.standard_normal((9, k)).astype(np.float32)
    dy = random.standard_normal((9, n)).astype(np.float32)
    value, shape, resources = constant(w)
    rows, wt = "tensor<?x{}xf32>", f"tensor<{shape}xbf16>"
    xt, yt = rows.format(k), rows.format(n)
    masked = f"with(%x : {xt})" if recipe == "quartet" else ""

    def body(weight):
        return f"""
  %y = blockscale.linear forward(%x, {weight} : {xt}, {wt}) seed(%s : tensor<i64>)
      recipe #blockscale.recipe<{recipe}> -> {yt}
  %dx = blockscale.linear dgrad(%dy, {weight} : {yt}, {wt}) {masked} seed(%s : tensor<i64>)
      recipe #blockscale.recipe<{recipe}> -> {xt}
  return %y, %dx : {yt}, {xt}"""

    library = compile(f"""
func.func @argument(%x: {xt}, %dy: {yt}, %w: {wt}, %s: tensor<i64>) -> ({yt}, {xt}) {{{body("%w")}
}}
func.func @constant(%x: {xt}, %dy: {yt}, %s: tensor<i64>) -> ({yt}, {xt}) {{
  %w = arith.constant {value} : {wt}{body("%w")}
}}
{resources}""")
    seed = np.int64(5)
    expected = library.argument(x, dy, blockscale.to_bf16(w), seed)
    actual = library.constant(x, dy, seed)
    same(f"{recipe} {n}x{k} y", bits(actual[0]), bits(expected[0]))
    same(f"{recipe} {n}x{k} dx", bits(actual[1]), bits(expected[1]))

# Scales in tiles: what the kernels read is what was folded.
library = compile("""
#fmt = #blockscale.format<mxfp4>
func.func @tiled(%x: tensor<?x64xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %s = arith.constant dense<[[1.0, 2.0], [4.0, 0.5], [0.25, 8.0], [1.0, 1.0]]> : tensor<4x2xf8E8M0FNU>
  %t = arith.constant dense<[[1.0, 2.0], [4.0, 0.5], [0.25, 8.0], [1.0, 1.0]]> : tensor<4x2xf8E8M0FNU, #blockscale.tiled_128x4>
  %q = arith.constant dense<1.5> : tensor<4x64xf4E2M1FN>
  %y = blockscale.scaled_matmul lhs(%x : tensor<?x64xf32>)
      rhs(%q, %s : tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU> as #fmt) : tensor<?x4xf32>
  %z = blockscale.scaled_matmul lhs(%x : tensor<?x64xf32>)
      rhs(%q, %t : tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU, #blockscale.tiled_128x4> as #fmt) : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}""")
x = random.integers(-8, 8, (3, 64)).astype(np.float32)
w = 1.5 * np.array([[1, 2], [4, .5], [.25, 8], [1, 1]]).repeat(32, 1)
for name, y in zip(("linear", "tiled"), library.tiled(x)):
    same(name, y, (x @ w.T).astype(np.float32))
finish(18)
