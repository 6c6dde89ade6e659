# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Mistakes of numbers that others made; a check is named by their report."""
from support import *


def quantizing(name, format, rule, element, scale, block, columns,
               returns="s q y", amax=False, tiled=False):
    """A function from rows of f32 to scales, elements and values; the rule has
    encode factors, the format a tensor scale, if and only if it is two-level
    (or `reciprocal`, without the latter)."""
    tensor = "two_level" in rule or rule.startswith("ue5m3")
    encode = rule in ("two_level", "reciprocal", "ue5m3")
    blocks = -(-columns // block)
    layout = ", #blockscale.tiled_128x4" if tiled else ""
    x, y = f"tensor<?x{columns}xf32>", f"tensor<?x{blocks * block}xf32>"
    q = f"tensor<?x{blocks * block}x{mlir_type(element)}>"
    s = f"tensor<?x{blocks}x{mlir_type(scale)}{layout}>"
    e = f"tensor<?x{blocks}xf32>"
    pad = " {pad}" if columns % block else ""
    level = " tensor(%g : tensor<f32>)" if tensor else ""
    by = f"encode(%e : {e})" if encode else f"scales(%s : {s}){level}"
    names = "%s" + (", %g" if tensor else "") + (", %e" if encode else "")
    types = s + (", tensor<f32>" if tensor else "") + (f", {e}" if encode
                                                       else "")
    what = {"s": s, "q": q, "y": y, "g": "tensor<f32>"}
    kept = returns.split()
    held = ("amax(%a : tensor<f32>) ", ", %a: tensor<f32>") if amax \
        else ("", "")
    return f"""
func.func @{name}(%x: {x}{held[1]}) -> ({", ".join(what[k] for k in kept)}) {{
  {names} = blockscale.scale %x : {x} {held[0]}to #blockscale.format<{format}>
      by #blockscale.scale_rule<{rule}>{pad} -> {types}
  %q = blockscale.quantize %x : {x} {by} to #blockscale.format<{format}>{pad} -> {q}
  %y = blockscale.dequantize %q : {q} scales(%s : {s}){level}
      from #blockscale.format<{format}> -> {y}
  return {", ".join("%" + k for k in kept)} : {", ".join(what[k] for k in kept)}
}}"""


def blocks_of(values, block):
    """A block for each value, which is its largest."""
    x = np.zeros((len(values), block), np.float32)
    x[:, 0] = values
    return x


mx = compile(
    quantizing("mxfp4_rceil", "mxfp4", "rceil", "e2m1", "e8m0", 32, 32)
    + quantizing("mxfp8_rceil", "mxfp8_e4m3", "rceil", "e4m3", "e8m0", 32, 32)
    + quantizing("mxfp8_ceil", "mxfp8_e4m3", "ceil", "e4m3", "e8m0", 32, 32)
    + quantizing("e2m3_rceil", "mxfp6_e2m3", "rceil", "e2m3", "e8m0", 32, 32)
    + quantizing("cast", "int2, block = 8, scale = e8m0", "reciprocal", "int2",
                 "e8m0", 8, 8))

# The exponent of amax / 6 was one too low.
scales = mx.mxfp4_rceil(blocks_of([2.7, 5.5, 1.2], 32))[0].view(np.uint8)
same("vllm#43557", 2.0 ** (scales[:, 0].astype(float) - 127), [.5, 1, .25])

# rceil and ceil are different rules.
same("torchao#2035 rceil",
     mx.mxfp8_rceil(blocks_of([150], 32))[0].view(np.uint8), [[126]])
same("torchao#2035 ceil",
     mx.mxfp8_ceil(blocks_of([150], 32))[0].view(np.uint8), [[127]])

# A scale rounded to the nearest power of two clips up to 29 % of the maximum.
maxima = np.arange(1, 2, 2.0 ** -12, dtype=np.float32)
values = mx.mxfp8_rceil(blocks_of(maxima, 32))[2][:, 0]
loss = (maxima - values.astype(np.float64)) / maxima
check("mlx#4353", 0.058 < loss.max() <= 1 / 17 + 1e-12, loss.max())

# The maximum of E2M3 is 7.5.
scales, _, values = mx.e2m3_rceil(blocks_of([7.5, 7.6], 32))
same("FlyDSL#590 scale", scales.view(np.uint8)[:, 0], [127, 128])
same("FlyDSL#590 value", values[0, 0], np.float32(7.5))

# A tie between powers of two goes to the even exponent.
same("ml_dtypes#398", mx.cast(blocks_of([3, 6], 8))[0].view(np.uint8)[:, 0],
     [128, 130])

# A scale of 3 is 3, not 2.
library = compile("""
#f = #blockscale.format<e2m1, block = 8, scale = f32>
func.func @f(%x: tensor<1x8xf32>, %s: tensor<1x1xf32>) -> tensor<1x8xf32> {
  %q = blockscale.quantize %x : tensor<1x8xf32> scales(%s : tensor<1x1xf32>)
      to #f -> tensor<1x8xf4E2M1FN>
  %y = blockscale.dequantize %q : tensor<1x8xf4E2M1FN>
      scales(%s : tensor<1x1xf32>) from #f -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}""")
x = np.array([[3, 6, 9, 18, -3, 1.5, 0, 12]], np.float32)
same("llvm#215295", library.f(x, np.array([[3]], np.float32)), x)

# Zeros stay zeros, with finite scales: a whole tensor, and rows among others.
for format, rule, element, scale, block in [
        ("mxfp4", "rceil", "e2m1", "e8m0", 32),
        ("mxfp8_e4m3", "floor", "e4m3", "e8m0", 32),
        ("mxint8", "even", "int8q6", "e8m0", 32),
        ("nvfp4", "two_level", "e2m1", "ue4m3", 16),
        ("nvfp4", "torchao_two_level", "e2m1", "ue4m3", 16),
        ("nvint4", "two_level", "int4", "ue4m3", 16),
        ("fp4_ue5m3", "reciprocal", "e2m1", "ue5m3", 16),
        ("fp4_ue5m3, tensor = f32", "ue5m3", "e2m1", "ue5m3", 16),
        ("nf4", "division", "nf4", "f32", 64)]:
    tensor = "two_level" in rule or rule == "ue5m3"
    returns = "s q y g" if tensor else "s q y"
    library = compile(quantizing("f", format, rule, element, scale, block, 128,
                                 returns))
    zeros = np.zeros((4, 128), np.float32)
    results = library.f(zeros)
    same(f"Model-Optimizer#1397 {format} {rule}", results[2], zeros)
    check(f"Model-Optimizer#1397 {format} {rule}: scales",
          scale == "f32" or (results[0].view(np.uint8) < 0x7F).all())
    if tensor:
        same(f"TensorRT-LLM#16447 {format} {rule}", results[3], np.float32(1))
    x = np.random.default_rng(1).normal(size=(4, 128)).astype(np.float32)
    x[2] = 0
    same(f"flashinfer#5031 {format} {rule}", library.f(x)[2][2], zeros[2])

# A held amax of zero does not poison the layer.
x = np.random.default_rng(2).normal(size=(2, 64)).astype(np.float32)
for rule in ("two_level", "torchao_two_level", "ue5m3"):
    library = compile(quantizing("f", "nvfp4", rule, "e2m1", "ue4m3", 16, 64,
                                 "y", amax=True))
    check(f"TensorRT-LLM#16447 held by {rule}",
          np.isfinite(library.f(x, np.float32(0))).all())

# Subnormal E4M3 scales were decoded up to 4.5 times too large.
nv = compile(quantizing("f", "nvfp4", "two_level", "e2m1", "ue4m3", 16, 32,
                        "s q y g"))
x = np.full((1, 32), 1e-4, np.float32)
x[0, 0] = 6
scales, _, values, level = nv.f(x)
check("flashinfer#3932 is subnormal", 0 < scales.view(np.uint8)[0, 1] < 8)
check("flashinfer#3932", np.abs(values[0, 16:] - 1e-4).max() < 1e-5)

# bf16 of 0.5 under the E8M0 byte 0, which is 2^-127.
library = compile("""
func.func @f(%q: tensor<1x32xf4E2M1FN>, %s: tensor<1x1xf8E8M0FNU>) -> tensor<1x32xbf16> {
  %y = blockscale.dequantize %q : tensor<1x32xf4E2M1FN>
      scales(%s : tensor<1x1xf8E8M0FNU>) from #blockscale.format<mxfp4>
      -> tensor<1x32xbf16>
  return %y : tensor<1x32xbf16>
}""")
codes = pack(np.full((1, 32), 1, np.uint8), "e2m1")
same("vllm#46676", library.f(codes, np.zeros((1, 1), np.uint8)),
     np.full((1, 32), 0x0020, np.uint16))

# Ties of E2M1 go to the even code.
x = np.zeros((1, 32), np.float32)
x[0, :9] = [.25, 1.25, 2.5, 5, .75, 1.75, 3.5, 6, -2.5]
same("aiter#3992", mx.mxfp4_rceil(x)[2][0, :9],
     np.array([0, 1, 2, 4, 1, 2, 4, 6, -2], np.float32))

# Small gradients survive stochastic rounding.
library = compile("""
#f = #blockscale.format<nvfp4>
func.func @f(%x: tensor<16x256xbf16>, %seed: tensor<i64>) -> tensor<16x256xf32> {
  %s, %g, %e = blockscale.scale %x : tensor<16x256xbf16> to #f
      by #blockscale.scale_rule<two_level>
      -> tensor<16x16xf8E4M3FN>, tensor<f32>, tensor<16x16xf32>
  %q = blockscale.quantize %x : tensor<16x256xbf16> encode(%e : tensor<16x16xf32>)
      to #f round stochastic seed(%seed : tensor<i64>) -> tensor<16x256xf4E2M1FN>
  %y = blockscale.dequantize %q : tensor<16x256xf4E2M1FN>
      scales(%s : tensor<16x16xf8E4M3FN>) tensor(%g : tensor<f32>) from #f
      -> tensor<16x256xf32>
  return %y : tensor<16x256xf32>
}""")
x = blockscale.to_bf16(np.random.default_rng(4).normal(0, 1e-6, (16, 256)))
wide = blockscale.from_bf16(x).astype(np.float64)
y = library.f(x, np.int64(17)).astype(np.float64)
check("TransformerEngine#3281", (y == 0).mean() < 0.2)
check("TransformerEngine#3281 projection",
      abs((y * wide).sum() / (wide * wide).sum() - 1) < 0.02)

# The tensor scale multiplies: amax / (6 * 448), not its reciprocal.
x = np.random.default_rng(5).normal(size=(32, 32)).astype(np.float32)
_, _, values, level = nv.f(x)
check("modular#6600", abs(level / (np.abs(x).max() / 2688) - 1) < 1e-6, level)
check("modular#6600 values", np.abs(values - x).max() < 0.6)

# Blocks of 48 and 96 keep their tails.
for block in (48, 96, 24, 120):
    library = compile(quantizing("f", f"nvfp4, block = {block}", "two_level",
                                 "e2m1", "ue4m3", block, 2 * block))
    x = np.random.default_rng(block).normal(size=(3, 2 * block)).astype(
        np.float32)
    x[:, block - 1] = 50  # the last element decides the first block
    values = library.f(x)[2]
    check(f"tilelang#2324 block {block}",
          (np.abs(values[:, block - 1] - 50) < 2).all())
    check(f"tilelang#2324 block after {block}",
          np.abs(values[:, block:] - x[:, block:]).max() < 1)

# MXFP8 with K no multiple of 128, and what lies behind the last column.
for k in (32, 96, 160, 224, 40, 200):
    library = compile(quantizing("f", "mxfp8_e4m3", "rceil", "e4m3", "e8m0",
                                 32, k))
    x = np.full((8, k), np.nan, np.float32)
    x[:5] = np.random.default_rng(k).normal(size=(5, k))
    values = library.f(x[:5])[2]  # NaN follows in memory
    check(f"pytorch#152665 K = {k}",
          (np.abs(values[:, :k] - x[:5]) <= np.abs(x[:5]) / 16 + 1e-2).all())
    check(f"TransformerEngine#3070 K = {k}",
          np.isfinite(values).all() and (values[:, k:] == 0).all())

# Scales in tiles: what no scale maps to is zero.
library = compile(quantizing("f", "nvfp4", "two_level", "e2m1", "ue4m3", 16,
                             80, "s", tiled=True))
x = np.ones((130, 80), np.float32)
memory = library.f(x).view(np.uint8)
same("vllm#45739 size", memory.shape, (2 * 2 * 512,))
same("vllm#45739", np.unique(memory, return_counts=True),
     ([0, 0x7E], [2048 - 650, 650]))
finish(at_least=70)
