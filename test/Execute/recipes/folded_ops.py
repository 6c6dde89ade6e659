# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every op that is evaluated when its operands are constant gives the bits that its
kernel gives: random formats, rules, roundings, shapes (batches, several rows in a
block, partial blocks, one row), types, with zeros, infinities, NaN, subnormals."""
from common import *

random = np.random.default_rng(41)
# Format, rule, types of elements and scales, block, rounding, shape.
CASES = [("mxfp8_e4m3", "rceil", "f8E4M3FN", "f8E8M0FNU", (1, 32), "nearest_even", (3, 5, 64)),
         ("mxfp8_e5m2", "even", "f8E5M2", "f8E8M0FNU", (1, 32), "toward_zero", (7, 96)),
         ("mxfp6_e3m2", "floor", "f6E3M2FN", "f8E8M0FNU", (1, 32), "nearest_away", (9, 100)),
         ("mxfp6_e2m3", "ceil", "f6E2M3FN", "f8E8M0FNU", (1, 32), "stochastic", (9, 64)),
         ("mxfp4", "rms", "f4E2M1FN", "f8E8M0FNU", (1, 32), "nearest_zero", (1, 320)),
         ("nvfp4", "two_level", "f4E2M1FN", "f8E4M3FN", (1, 16), "stochastic", (2, 33, 48)),
         ("nvfp4, block = 16x16", "two_level", "f4E2M1FN", "f8E4M3FN", (16, 16), "nearest_even", (2, 35, 40)),
         ("nvfp4", "four_over_six", "f4E2M1FN", "f8E4M3FN", (1, 16), "nearest_even", (40, 256)),
         ("nvint4", "two_level", "i4", "f8E4M3FN", (1, 16), "nearest_even", (6, 50)),
         ("fp4_ue5m3, tensor = f32", "ue5m3", "f4E2M1FN", "i8", (1, 16), "stochastic", (5, 64)),
         ("mxint8", "rceil", "i8", "f8E8M0FNU", (1, 32), "nearest_even", (300, 320)),
         ("nf4", "absmax", "i4", "f32", (1, 64), "nearest_even", (4, 128)),
         ("uint4", "minmax", "i4", "f16", (1, 64), "nearest_even", (3, 130)),
         ("uint4, zero = f16", "minmax", "i4", "f16", (1, 64), "stochastic", (5, 64)),
         ("midrise4, block = 32, scale = f32", "absmax", "i4", "f32", (1, 32), "nearest_even", (4, 96))]


def literal(a, dtype):
    """A constant of any bits."""
    raw = blockscale.to_bf16(a) if dtype == "bf16" else a
    return f'dense<"0x{np.ascontiguousarray(raw).tobytes().hex().upper()}">'


def module(i, case, x, dtype, seed):
    f, rule, element, scale, (high, wide), rounding, shape = case
    blocks = -(-shape[-1] // wide)
    lead = "x".join(map(str, shape[:-1]))
    scale_lead = "x".join(map(str, (*shape[:-2], -(-shape[-2] // high))))
    t, q = f"tensor<{lead}x{shape[-1]}x{dtype}>", f"tensor<{lead}x{blocks * wide}x{element}>"
    v = f"tensor<{lead}x{blocks * wide}xf32>"
    tensor = f.split(",")[0] in ("nvfp4", "nvint4") or "tensor" in f
    zero = "f16" if "zero" in f else "i8" if f == "uint4" else None
    encode = tensor and rule != "torchao_two_level"
    names, types, by, given = scale_results(f"{scale_lead}x{blocks}", scale,
                                            tensor, zero, encode)
    s = types[0]
    pad = "{pad}" if shape[-1] % wide else ""
    draw = "seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    format, rule = f"#blockscale.format<{f}>", f"#blockscale.scale_rule<{rule}>"
    tiled = f"tensor<{scale_lead}x{blocks}x{scale}, #blockscale.tiled_128x4>"
    can_tile = scale not in ("f32", "f16")
    results = [q, *types, v, t, t, "tensor<f32>"] + ([tiled] if can_tile else [])
    relayout = f"%tile = blockscale.relayout %s : {s} -> {tiled}" if can_tile else ""

    def body(name, arguments, prologue):
        return f"""
func.func @{name}{i}({arguments}) -> ({", ".join(results)}) {{
  {prologue}
  {", ".join(names)} = blockscale.scale %x : {t} to {format} by {rule} {pad} -> {", ".join(types)}
  %q = blockscale.quantize %x : {t} {by} to {format} round {rounding} {draw} {pad} -> {q}
  %v = blockscale.dequantize %q : {q} {given} from {format} -> {v}
  %f = blockscale.fake_quantize %x : {t} to {format} by {rule} round {rounding} {draw}
  %r = blockscale.fake_quantize residual %x : {t} to {format} by {rule} round {rounding} {draw}
  %a = blockscale.amax %x : {t} -> tensor<f32>
  {relayout}
  return %q, {", ".join(names)}, %v, %f, %r, %a{", %tile" if can_tile else ""} : {", ".join(results)}
}}"""
    return body("kernel", f"%x: {t}, %seed: tensor<i64>", "") + body(
        "folded", "", f"%x = arith.constant {literal(x, dtype)} : {t}\n"
        f"  %seed = arith.constant dense<{seed}> : tensor<i64>")


text, inputs = "", []
for i, case in enumerate(CASES):
    shape, dtype = case[-1], ["f32", "bf16"][i % 2]
    x = (random.standard_normal(shape) * np.exp2(random.integers(-8, 9, shape[:-1] + (1,)))).astype(np.float32)
    flat = x.reshape(-1, shape[-1])
    if i % 3 != 1:
        flat[0, :20] = [0, -0.0, np.inf, np.nan, -np.inf, 1e-40, 3e38, -1e-45, 6, 2.5] * 2
    if i % 3 == 1 and len(flat) > 1:
        flat[-1] = 0
    x = x if dtype == "f32" else blockscale.from_bf16(blockscale.to_bf16(x))
    inputs.append((x, dtype, 1000 + i))
    text += module(i, case, *inputs[-1])
after, _ = rewrite(text, "--blockscale-fold-constants")
for body in after.split("func.func")[1:]:
    if body.lstrip().startswith("@folded"):
        check("nothing is left to do: " + body.split("(")[0].strip(), "= blockscale." not in body, body[:2000])
library = compile(text)
for i, (case, (x, dtype, seed)) in enumerate(zip(CASES, inputs)):
    stored = x if dtype == "f32" else blockscale.to_bf16(x)
    kernel = library.call(f"kernel{i}", stored, np.int64(seed))
    folded = library.call(f"folded{i}")
    for j, (a, e) in enumerate(zip(folded, kernel)):
        a, e = np.ascontiguousarray(a), np.ascontiguousarray(e)
        if a.dtype == np.float32:  # NaN has one meaning and many bits.
            a, e = bits(a), bits(e)
        same(f"{case[0]} {case[1]} {case[5]} {case[6]} {dtype}, result {j}", a.view(np.uint8), e.view(np.uint8))
finish(15 + 15 * 6)
