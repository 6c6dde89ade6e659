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

# NaNs of either sign and any payload, infinities and zeros that meet: the bits
# of what is folded are those that a program computes (real_c1).
values = np.uint32([0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFA00001, 0x7F800000, 0xFF800000,
                    0x80000000, 0x3F800000]).view(np.float32)
real = np.zeros((8, 64), np.float32)
real.view(np.uint32)[...] = np.array([np.roll(np.tile(values.view(np.uint32), 8), i * i) for i in range(8)])
real[4:, :32] = random.standard_normal((4, 32))
codes = np.tile(np.uint8([0x7C, 0xFC, 0x7F, 0xFE, 0x7D, 0x3C, 0x80, 0x00]), (8, 8))
factors = np.array([[0x7F, 0x7F], [0, 1], [0x38, 0x7F]] * 2 + [[0x38, 0x38]] * 2, np.uint8)
WIDE = "#blockscale.format<e5m2, block = 32, scale = ue4m3>"
RULES = {"two_level": "nvfp4", "svdquant": "e2m1, block = 16, scale = ue4m3", "rceil": "mxfp4"}
for dtype in ("f32", "bf16", "f16"):
    t = f"tensor<8x64x{dtype}>"
    bodies_of = {
        "dequantize": f"%r = blockscale.dequantize %q : tensor<8x64xf8E5M2> scales(%s : tensor<8x2xf8E4M3FN>) "
                      f"from {WIDE} -> {t}",
        "rotate16": f"%r = blockscale.rotate %v {{size = 16}} : {t}",
        "rotate_rows": f"%r = blockscale.rotate %v {{size = 8, axis = 0, signs = array<i8: 1, -1, -1, 1, 1, 1, -1, 1>}} : {t}",
        "inverse": f"%r = blockscale.rotate %v {{size = 32, signs = array<i8: {', '.join(['-1, 1'] * 16)}>, inverse}} : {t}",
        **{f"{kind}_{rule}": f"%r = blockscale.fake_quantize {kind if kind == 'residual' else ''} %v : {t} "
           f"to #blockscale.format<{f}> by #blockscale.scale_rule<{rule}>"
           for kind in ("value", "residual") for rule, f in RULES.items()}}
    if dtype != "f32":
        bodies_of["balance"] = f"%r0, %c = blockscale.balance %v {{block = 16, steps = 4}} : {t} -> tensor<8x64xf32>, " \
            f"tensor<64xf32>\n  %r = arith.truncf %r0 : tensor<8x64xf32> to {t}"
    narrow = {"f32": lambda v: v, "bf16": blockscale.to_bf16, "f16": np.float16}[dtype](real)
    raw = {name: (b"\4\0\0\0" + a.tobytes()).hex().upper() for name, a in
           (("v", narrow), ("q", codes), ("s", factors))}
    types = {"v": t, "q": "tensor<8x64xf8E5M2>", "s": "tensor<8x2xf8E4M3FN>"}
    text = "".join(f'''
func.func @{name}(%v: {t}, %q: {types["q"]}, %s: {types["s"]}) -> {t} {{
  {body}
  return %r : {t}
}}
func.func @{name}_folded() -> {t} {{
  %v = arith.constant dense_resource<v> : {types["v"]}
  %q = arith.constant dense_resource<q> : {types["q"]}
  %s = arith.constant dense_resource<s> : {types["s"]}
  {body}
  return %r : {t}
}}''' for name, body in bodies_of.items()) + "\n{-#\n dialect_resources: { builtin: { " + ", ".join(
        f'{name}: "0x{blob}"' for name, blob in raw.items()) + " } }\n#-}\n"
    library = compile(text)
    for name in bodies_of:
        words = np.uint32 if dtype == "f32" else np.uint16
        folded = library.call(f"{name}_folded").view(words)
        same(f"{name} {dtype} with NaNs", folded, library.call(name, narrow, codes, factors).view(words))
        nan = np.isnan(blockscale.from_bf16(folded) if dtype == "bf16" else
                       folded.view(np.float32 if dtype == "f32" else np.float16))
        canonical = {"f32": 0x7FC00000, "bf16": 0x7FC0, "f16": 0x7E00}[dtype]
        check(f"{name} {dtype}: one NaN", nan.any() and (folded[nan] == canonical).all(),
              set(map(hex, folded[nan].tolist())))
finish(78)
