# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Programs before and after a rewrite, both compiled and run on random shapes and
formats: the same bits, or a stated bound. Canonicalization, round trips, layouts,
introduced rotations. (Rotations: rotation_algebra.py, rotation_moves.py; constants:
constants.py, simulation.py.)"""
from common import *

random = np.random.default_rng(31)

# Format, the rule to make it with, block, its types of elements and scales.
FORMATS = [("mxfp8_e4m3", "rceil", 32, "f8E4M3FN", "f8E8M0FNU"), ("mxfp8_e5m2", "floor", 32, "f8E5M2", "f8E8M0FNU"),
           ("mxfp6_e2m3", "ceil", 32, "f6E2M3FN", "f8E8M0FNU"), ("mxfp6_e3m2", "even", 32, "f6E3M2FN", "f8E8M0FNU"),
           ("mxfp4", "floor", 32, "f4E2M1FN", "f8E8M0FNU"), ("nvfp4", "two_level", 16, "f4E2M1FN", "f8E4M3FN"),
           ("mxint8", "rceil", 32, "i8", "f8E8M0FNU"), ("mxint4", "rceil", 32, "i4", "f8E8M0FNU"),
           ("nvint4", "two_level", 16, "i4", "f8E4M3FN"), ("fp4_e3m4", "two_level", 16, "f4E2M1FN", "i8"),
           ("nf4", "absmax", 64, "i4", "f32")]
TENSOR = {"nvfp4", "nvint4", "fp4_e3m4"}


def values(*shape):
    x = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape[:-1] + (1,)))
    return x.astype(np.float32)


def same_bits(name, actual, expected):
    actual, expected = (a if isinstance(a, tuple) else (a,) for a in (actual, expected))
    for i, (a, e) in enumerate(zip(actual, expected)):
        same(f"{name}, result {i}", np.ascontiguousarray(a).view(np.uint8),
             np.ascontiguousarray(e).view(np.uint8))


# Canonicalization of relayout, derive_seed and random_signs: exact. Of rotations:
# what goes are two roundings.
rows, cols = 200, 7
s, tiles = f"tensor<{rows}x{cols}xf8E4M3FN>", f"tensor<{rows}x{cols}xf8E4M3FN, #blockscale.tiled_128x4>"
text = f"""
func.func @chain(%s: {s}) -> ({s}, {tiles}) {{
  %a = blockscale.relayout %s : {s} -> {tiles}
  %b = blockscale.relayout %a : {tiles} -> {s}
  %c = blockscale.relayout %b : {s} -> {tiles}
  return %b, %c : {s}, {tiles}
}}
func.func @once(%s: {s}) -> {tiles} {{
  %a = blockscale.relayout %s : {s} -> {tiles}
  return %a : {tiles}
}}"""
after, _ = rewrite(text, "--canonicalize")
check("a chain is one conversion", after.split("@once")[0].count("blockscale.relayout") == 1, after)
library = compile(text)
codes = random.integers(0, 127, (rows, cols), np.uint8)
plain, tiled = library.chain(codes)
same("there and back", plain.view(np.uint8), codes)
same_bits("there, back and there", tiled, library.once(codes))

for size in (2, 16, 256):
    shape = (int(random.integers(1, 5)), size * int(random.integers(1, 3)))
    t, signs = f"tensor<{shape[0]}x{shape[1]}xf32>", np.where(random.random(size) < 0.5, -1, 1)
    seed = int(random.integers(1, 1 << 40))
    text = f"""
func.func @undone(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(signs)}}} : {t}
  %b = blockscale.rotate %a {{size = {size}{signs_text(signs, True)}}} : {t}
  return %b : {t}
}}
func.func @twice(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}}} : {t}
  %b = blockscale.rotate %a {{size = {size}}} : {t}
  return %b : {t}
}}
func.func @idle(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(np.ones(size, int), True)}}} : {t}
  return %a : {t}
}}
func.func @constant(%x: {t}) -> ({t}, tensor<i64>) {{
  %base = arith.constant dense<{seed}> : tensor<i64>
  %d = blockscale.derive_seed %base {{site = 77}} : tensor<i64>
  %s = blockscale.random_signs %d : tensor<i64> -> tensor<{size}xi8>
  %a = blockscale.rotate %x signs(%s : tensor<{size}xi8>) {{size = {size}}} : {t}
  return %a, %d : {t}, tensor<i64>
}}
func.func @argument(%x: {t}, %base: tensor<i64>) -> ({t}, tensor<i64>) {{
  %d = blockscale.derive_seed %base {{site = 77}} : tensor<i64>
  %s = blockscale.random_signs %d : tensor<i64> -> tensor<{size}xi8>
  %a = blockscale.rotate %x signs(%s : tensor<{size}xi8>) {{size = {size}}} : {t}
  return %a, %d : {t}, tensor<i64>
}}"""
    after, _ = rewrite(text, "--canonicalize")
    counts = [body.count("blockscale.rotate") for body in after.split("func.func")[1:]]
    check(f"rotations by {size} that stay", counts == [0, 0, 1, 1, 1], after)
    check("constants", "derive_seed" not in after.split("@argument")[0] and
          "inverse" not in after.split("@idle")[1].split("@constant")[0], after)
    library, x = compile(text), values(*shape)
    same("undone", library.undone(x), x)
    same("twice", library.twice(x), x)
    back = rotate(rotate(x, size, signs=signs), size, signs=signs, inverse=True)
    scale = np.abs(x).max(1, keepdims=True)
    check("undone: within its roundings", (np.abs(back - x) <= 2 ** -21 * np.sqrt(size) * scale).all())
    same_bits("idle options", library.idle(x), rotate(x, size))
    same_bits("constant signs", library.constant(x), library.argument(x, np.int64(seed)))

# quantize(dequantize(q)): the program without the pass gives what it leaves.
bodies, cases = "", []
for i, (f, rule, block, element, scale) in enumerate(FORMATS):
    shape = (int(random.integers(1, 20)), block * int(random.integers(1, 6)))
    real = ["f32", "bf16"][i % 2] if f != "nf4" else "f32"
    q = f"tensor<?x{shape[1]}x{element}>"
    s, x = f"tensor<?x{shape[1] // block}x{scale}>", f"tensor<?x{shape[1]}x{real}>"
    g = "tensor(%g : tensor<f32>)" if f in TENSOR else ""
    arguments = f"%q: {q}, %s: {s}" + (", %g: tensor<f32>" if g else "")
    bodies += f"""
func.func @trip{i}({arguments}) -> {q} {{
  %x = blockscale.dequantize %q : {q} scales(%s : {s}) {g} from #blockscale.format<{f}> -> {x}
  %r = blockscale.quantize %x : {x} scales(%s : {s}) {g} to #blockscale.format<{f}> -> {q}
  return %r : {q}
}}
func.func @make{i}(%x: tensor<?x{shape[1]}xf32>) -> ({q}, {s}{", tensor<f32>" if g else ""}) {{
  %s{", %g, %e" if g else ""} = blockscale.scale %x : tensor<?x{shape[1]}xf32> to #blockscale.format<{f}>
      by #blockscale.scale_rule<{rule}> -> {s}{f", tensor<f32>, tensor<?x{shape[1] // block}xf32>" if g else ""}
  %q = blockscale.quantize %x : tensor<?x{shape[1]}xf32>
      {f"encode(%e : tensor<?x{shape[1] // block}xf32>)" if g else f"scales(%s : {s})"} to #blockscale.format<{f}> -> {q}
  return %q, %s{", %g" if g else ""} : {q}, {s}{", tensor<f32>" if g else ""}
}}"""
    cases.append((i, f, shape, real))
after, _ = rewrite(bodies, "--blockscale-fold-round-trips", "--canonicalize")
check("round trips go", "dequantize" not in after, after)
before, folded = compile(bodies), compile(after)
for i, f, shape, real in cases:
    # Blocks of one size: a scale that is 0 does not come back.
    quantized = before.call(f"make{i}", random.standard_normal(shape).astype(np.float32))
    name = f"round trip of {f} through {real} {shape}"
    same_bits(f"{name}, done", before.call(f"trip{i}", *quantized), quantized[0])
    same_bits(f"{name}, folded", folded.call(f"trip{i}", *quantized), quantized[0])

# fresh-scales keeps old scales, where a fresh choice would move some elements.
t, s = "tensor<?x96xf32>", "tensor<?x3xf8E8M0FNU>"
q = "tensor<?x96xf4E2M1FN>"
text = f"""
func.func @again(%q: {q}, %s: {s}) -> ({q}, {s}) {{
  %x = blockscale.dequantize %q : {q} scales(%s : {s}) from #blockscale.format<mxfp4> -> {t}
  %n = blockscale.scale %x : {t} to #blockscale.format<mxfp4> by #blockscale.scale_rule<floor> -> {s}
  %r = blockscale.quantize %x : {t} scales(%n : {s}) to #blockscale.format<mxfp4> -> {q}
  return %r, %n : {q}, {s}
}}
func.func @value(%q: {q}, %s: {s}) -> {t} {{
  %x = blockscale.dequantize %q : {q} scales(%s : {s}) from #blockscale.format<mxfp4> -> {t}
  return %x : {t}
}}"""
after, _ = rewrite(text, "--blockscale-fold-round-trips=fresh-scales", "--canonicalize")
before, kept = compile(text), compile(after)
codes = random.integers(0, 256, (9, 48), np.uint8)
scales = random.integers(100, 140, (9, 3), np.uint8)
same_bits("kept scales", kept.again(codes, scales), (codes, scales))
value, fresh = before.value(codes, scales), before.value(*before.again(codes, scales))
step = np.abs(value).reshape(9, 3, 32).max(2).repeat(32, 1) / 2
check("fresh scales are as near as the pass says", (np.abs(fresh - value) <= step).all())

# Layouts of scales: whoever asks, products and what is returned have the same bits.
for f, rule, block, element, scale in FORMATS[:-1]:
    n, k = int(random.integers(1, 300)), block * int(random.integers(1, 12))
    m, batch = int(random.integers(1, 200)), int(random.integers(1, 3))
    blocks = k // block
    x, w = f"tensor<{batch}x{m}x{k}xf32>", f"tensor<{n}x{k}xf32>"
    xq, wq = f"tensor<{batch}x{m}x{k}x{element}>", f"tensor<{n}x{k}x{element}>"
    xs, ws = f"tensor<{batch}x{m}x{blocks}x{scale}>", f"tensor<{n}x{blocks}x{scale}>"
    wt, y = ws[:-1] + ", #blockscale.tiled_128x4>", f"tensor<{batch}x{m}x{n}xf32>"
    two, fmt = f in TENSOR, f"#blockscale.format<{f}>"
    more = lambda s: f", tensor<f32>, {s[:-len(scale) - 1]}f32>" if two else ""  # noqa: E731
    by = lambda v, s: f"encode(%{v}e : {s[:-len(scale) - 1]}f32>)" if two else f"scales(%{v}s : {s})"  # noqa: E731
    def side(v, qt, st):
        return f"%{v}q, %{v}s{f', %{v}g' if two else ''} : {qt}, {st}{', tensor<f32>' if two else ''} as {fmt}"
    names = lambda v: f"%{v}s" + (f", %{v}g, %{v}e" if two else "")  # noqa: E731
    rule_text = f"by #blockscale.scale_rule<{rule}>"
    text = f"""
func.func @layer(%x: {x}, %w: {w}) -> ({y}, {y}, {ws}, {w}) {{
  {names("x")} = blockscale.scale %x : {x} to {fmt} {rule_text} -> {xs}{more(xs)}
  %xq = blockscale.quantize %x : {x} {by("x", xs)} to {fmt} -> {xq}
  {names("w")} = blockscale.scale %w : {w} to {fmt} {rule_text} -> {ws}{more(ws)}
  %wq = blockscale.quantize %w : {w} {by("w", ws)} to {fmt} -> {wq}
  %wt = blockscale.relayout %ws : {ws} -> {wt}
  %wl = blockscale.relayout %wt : {wt} -> {ws}
  %y = blockscale.scaled_matmul lhs({side("x", xq, xs)}) rhs({side("w", wq, ws)}) : {y}
  %z = blockscale.scaled_matmul lhs({side("x", xq, xs)}) rhs({side("w", wq, ws).replace("%ws", "%wl")}) : {y}
  %v = blockscale.dequantize %wq : {wq} scales(%ws : {ws}) {"tensor(%wg : tensor<f32>)" if two else ""} from {fmt} -> {w}
  return %y, %z, %wl, %v : {y}, {y}, {ws}, {w}
}}
func.func @stored(%x: {x}, %wq: {wq}, %ws: {ws}{", %wg: tensor<f32>" if two else ""}) -> ({y}, {y}) {{
  %y = blockscale.scaled_matmul lhs(%x : {x}) rhs({side("w", wq, ws)}) : {y}
  %z = blockscale.scaled_matmul lhs(%x : {x}) rhs({side("w", wq, ws)}) : {y}
  return %y, %z : {y}, {y}
}}"""
    given = values(batch, m, k), values(n, k)
    stored = (given[0], random.integers(0, 256, (n, k // 2 if "4" in element[:3] else k), np.uint8) & 0x77,
              random.integers(110, 120, (n, blocks), np.uint8)) + ((np.float32(0.5),) if two else ())
    expected = None
    for scales in ("any", "linear", "tiled_128x4"):
        after, _ = rewrite(text, f"--blockscale-choose-layouts=scales={scales}", "--cse")
        layer, weights = (after.split("func.func")[i].count("blockscale.relayout") for i in (1, 2))
        name = f"{f} {batch}x{m}x{n}x{k}, {scales}"
        # The returned scales are linear: made so, or by one conversion.
        check(f"{name}: conversions", layer == (scales == "tiled_128x4") and
              weights == (scales == "tiled_128x4"), (layer, weights, after))
        library = compile(after)
        results = library.layer(*given) + library.stored(*stored)
        expected = expected or results
        same_bits(name, results, expected)

# Introduced rotations: the exact product stays, so the quantized one stays near.
t, w, y = "tensor<64x256xf32>", "tensor<48x256xf32>", "tensor<64x48xf32>"
text = f"""
#fmt = #blockscale.format<mxint4>
func.func @product(%x: {t}, %w: {w}) -> {y} {{
  %xs = blockscale.scale %x : {t} to #fmt by #blockscale.scale_rule<rceil> -> tensor<64x8xf8E8M0FNU>
  %xq = blockscale.quantize %x : {t} scales(%xs : tensor<64x8xf8E8M0FNU>) to #fmt -> tensor<64x256xi4>
  %ws = blockscale.scale %w : {w} to #fmt by #blockscale.scale_rule<rceil> -> tensor<48x8xf8E8M0FNU>
  %wq = blockscale.quantize %w : {w} scales(%ws : tensor<48x8xf8E8M0FNU>) to #fmt -> tensor<48x256xi4>
  %y = blockscale.scaled_matmul lhs(%xq, %xs : tensor<64x256xi4>, tensor<64x8xf8E8M0FNU> as #fmt)
      rhs(%wq, %ws : tensor<48x256xi4>, tensor<48x8xf8E8M0FNU> as #fmt) : {y}
  return %y : {y}
}}"""
x, weight = random.standard_normal((64, 256)), random.standard_normal((48, 256))
x[:, 5::32] *= 20
x, weight = x.astype(np.float32), weight.astype(np.float32)
exact, errors = np.float64(x) @ weight.T, {0: relative_error(compile(text).product(x, weight), np.float64(x) @ weight.T)}
for size in (16, 32, 128):
    after, remarks = rewrite(text, f"--blockscale-fuse-rotations=introduce={size} introduce-seed=9")
    check(f"introduced {size}", after.count("blockscale.rotate") == 2 and "alike" in remarks, after)
    errors[size] = relative_error(compile(after).product(x, weight), exact)
print("introduced rotations:", {size: round(float(e), 4) for size, e in errors.items()})
check("rotations help against outliers", all(errors[size] < 0.75 * errors[0] for size in (16, 32, 128)))
after, remarks = rewrite(text, "--blockscale-fuse-rotations=introduce=256")
check("the whole row", after.count("blockscale.rotate") == 2)
finish(170)
