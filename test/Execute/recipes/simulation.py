# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""fake_quantize is scale, quantize and dequantize in one: the same bits, for
every preset and rounding, with partial blocks and draws; quantization_error is
the sum that NumPy makes of it; a constant folds to the same bits; mask_clipped
keeps what is below the limit."""
from common import *

random = np.random.default_rng(3)
PRESETS = ["mxfp8_e4m3 rceil", "mxfp8_e5m2 floor", "mxfp6_e2m3 ceil", "mxfp6_e3m2 even",
           "mxfp4 floor", "mxfp4 rms", "nvfp4 two_level", "nvfp4 torchao_two_level",
           "nvfp4 four_over_six", "nvfp4,block=16x16 two_level", "mxint8 rceil",
           "mxint4 rceil", "nvint4 two_level", "fp4_ue5m3,tensor=f32 ue5m3",
           "fp4_e1m6 two_level", "nf4 absmax", "uint4,zero=f16 minmax", "uint4 minmax",
           "mxfp4 floor,pre_multiplier=0.75", "midrise4,block=32,scale=f32 absmax",
           "e2m1,block=16,scale=ue4m3 svdquant"]


def both(index, preset, rounding, shape, dtype):
    """@one, @residual and @error in one op each, and @steps in three."""
    head, rule = preset.split(" ")
    options = head.split(",")
    format = f"#blockscale.format<{', '.join(options)}>"
    rule = f"#blockscale.scale_rule<{', '.join(rule.split(','))}>"
    x = f"tensor<{'x'.join(['?'] + [str(n) for n in shape[1:]])}x{dtype}>"
    seed = "seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    return f"""
func.func @one{index}(%x: {x}, %seed: tensor<i64>) -> ({x}, {x}, tensor<2xf64>) {{
  %q = blockscale.fake_quantize %x : {x} to {format} by {rule} round {rounding} {seed}
  %r = blockscale.fake_quantize residual %x : {x} to {format} by {rule} round {rounding} {seed}
  %e = blockscale.quantization_error %x : {x} to {format} by {rule} round {rounding} {seed} -> tensor<2xf64>
  return %q, %r, %e : {x}, {x}, tensor<2xf64>
}}"""


def steps(index, preset, rounding, shape, dtype):
    head, rule_text = preset.split(" ")
    options = head.split(",")
    format = f"#blockscale.format<{', '.join(options)}>"
    rule = f"#blockscale.scale_rule<{', '.join(rule_text.split(','))}>"
    # Types from the printed op: ask the compiler what scale returns.
    kind = {"mxfp8_e4m3": ("f8E4M3FN", 32, "f8E8M0FNU"), "mxfp8_e5m2": ("f8E5M2", 32, "f8E8M0FNU"),
            "mxfp6_e2m3": ("f6E2M3FN", 32, "f8E8M0FNU"), "mxfp6_e3m2": ("f6E3M2FN", 32, "f8E8M0FNU"),
            "mxfp4": ("f4E2M1FN", 32, "f8E8M0FNU"), "nvfp4": ("f4E2M1FN", 16, "f8E4M3FN"),
            "mxint8": ("i8", 32, "f8E8M0FNU"), "mxint4": ("i4", 32, "f8E8M0FNU"),
            "nvint4": ("i4", 16, "f8E4M3FN"), "fp4_ue5m3": ("f4E2M1FN", 16, "i8"),
            "fp4_e1m6": ("f4E2M1FN", 16, "i8"), "nf4": ("i4", 64, "f32"),
            "uint4": ("i4", 64, "f16"), "midrise4": ("i4", 32, "f32"),
            "e2m1": ("f4E2M1FN", 16, "f8E4M3FN")}[options[0]]
    element, block, scale = kind
    rows = 16 if "16x16" in head else 1
    tensor = options[0] in ("nvfp4", "nvint4", "fp4_e1m6") or "tensor=f32" in head
    zero = "f16" if "zero=f16" in head else "i8" if options[0] == "uint4" else None
    encode = rule_text in ("two_level", "four_over_six", "ue5m3", "svdquant") or \
        "pre_multiplier" in rule_text
    blocks = -(-shape[-1] // block)
    outer = ["?"] + [str(n) for n in shape[1:-1]]
    inner = [o if o == "?" or i + 2 < len(shape) else str(-(-int(o) // rows))
             for i, o in enumerate(outer)]
    join = "x".join
    x = f"tensor<{join(outer)}x{shape[-1]}x{dtype}>"
    wide = f"tensor<{join(outer)}x{blocks * block}x{dtype}>"
    q = f"tensor<{join(outer)}x{blocks * block}x{element}>"
    names, types, by, given = scale_results(f"{join(inner)}x{blocks}", scale,
                                            tensor, zero, encode)
    pad = "{pad}" if shape[-1] % block else ""
    seed = "seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    return f"""
func.func @steps{index}(%x: {x}, %seed: tensor<i64>) -> {wide} {{
  {", ".join(names)} = blockscale.scale %x : {x} to {format} by {rule} {pad} -> {", ".join(types)}
  %q = blockscale.quantize %x : {x} {by} to {format} round {rounding} {seed} {pad} -> {q}
  %y = blockscale.dequantize %q : {q} {given} from {format} -> {wide}
  return %y : {wide}
}}"""


cases, text = [], ""
for i, preset in enumerate(PRESETS):
    rounding = ["nearest_even", "stochastic", "toward_zero"][i % 3]
    shape = [(5, 128), (2, 19, 64), (3, 100)][i % 3 if i % 2 else (i + 1) % 3]
    dtype = ["f32", "bf16"][i // 2 % 2]
    if "16x16" in preset:
        shape = (2, 35, 40)
    cases.append((preset, rounding, shape, dtype))
    text += both(i, *cases[-1]) + steps(i, *cases[-1])
library = compile(text)
for i, (preset, rounding, shape, dtype) in enumerate(cases):
    x = (random.standard_normal(shape) * np.exp2(random.integers(-6, 6, shape[:-1] + (1,)))
         ).astype(np.float32)
    x[0, ..., 3] = 0
    stored = x if dtype == "f32" else blockscale.to_bf16(x)
    x = x if dtype == "f32" else blockscale.from_bf16(stored)
    seed = np.int64(41 + i)
    value, residual, error = library.call(f"one{i}", stored, seed)
    wide = library.call(f"steps{i}", stored, seed)[..., :shape[-1]]
    name = f"{preset} {rounding} {shape} {dtype}"
    same(f"{name}: value", value.view(np.uint8), np.ascontiguousarray(wide).view(np.uint8))
    if dtype == "f32":
        difference = (x - wide).astype(np.float32)
        same(f"{name}: residual", residual, difference)
        sums = [np.sum(np.float64(difference) ** 2), np.sum(np.float64(x) ** 2)]
        check(f"{name}: error", np.allclose(error, sums, rtol=1e-12), f"{error} {sums}")

# A mask, against the definition.
fmt, t = "#blockscale.format<mxfp4>", "tensor<?x64xf32>"
library = compile(f"""
func.func @mask(%g: {t}, %x: {t}) -> {t} {{
  %s = blockscale.scale %x : {t} to {fmt} by #blockscale.scale_rule<rms> -> tensor<?x2xf8E8M0FNU>
  %r = blockscale.mask_clipped %g of %x : {t}, {t} scales(%s : tensor<?x2xf8E8M0FNU>) from {fmt} {{limit = 6.0 : f32}}
  return %r : {t}
}}
func.func @scales(%x: {t}) -> tensor<?x2xf8E8M0FNU> {{
  %s = blockscale.scale %x : {t} to {fmt} by #blockscale.scale_rule<rms> -> tensor<?x2xf8E8M0FNU>
  return %s : tensor<?x2xf8E8M0FNU>
}}""")
x = random.standard_t(2, (300, 64)).astype(np.float32)
g = random.standard_normal((300, 64)).astype(np.float32)
scale = np.exp2(library.scales(x).view(np.uint8).astype(np.float64) - 127).repeat(32, 1)
kept = np.abs(x) < 6 * scale
check("some are clipped", 0 < (~kept).sum() < kept.size / 4)
same("mask", library.mask(g, x), np.where(kept, g, np.float32(0)))

# A held amax, and a NaN that stays in its block.
finish(40)
