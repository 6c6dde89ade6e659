# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Each preset's three products: near the exact ones by its own measure, exact
where nothing is quantized, reproducible by the seed."""
from common import *

random = np.random.default_rng(5)
M, N, K = 128, 128, 256
x = random.standard_normal((M, K)).astype(np.float32)
w = (random.standard_normal((N, K)) / 16).astype(np.float32)
dy = random.standard_normal((M, N)).astype(np.float32)
exact = [x @ w.T, dy @ w, dy.T @ x]

# Relative errors of y, dx, dw: largest expected ones, by the bits and rounding
# of each site. A 4-bit operand rounded to nearest errs by about 0.095 (nvfp4) or
# 0.115 (mxfp4), 0.16 (mxfp4 by rms, whose power of two is below the best scale),
# drawn by some 1.5 times as much; two operands add as squares.
BOUNDS = {"bf16": (1e-6, 1e-6, 1e-6), "te_nvfp4": (.15, .2, .2),
          "fp4_all_the_way": (.15, .2, .23), "ue5m3": (.16, .2, .2),
          "mxfp4_training": (1e-6, .32, .32), "quartet": (.25, .4, .4),
          "quest": (.17, .15, .15), "mxint": (.02, .02, .02), "nvint": (.13, .13, .13),
          "weight_only": (.1, .1, 1e-6), "sinq": (.11, .11, 1e-6), "nf4": (.1, .1, 1e-6)}


def layer(recipe, extra=""):
    xt, wt, yt = f"tensor<{M}x{K}xf32>", f"tensor<{N}x{K}xf32>", f"tensor<{M}x{N}xf32>"
    masks = recipe in ("quartet", "quest")
    held = recipe == "ue5m3"
    with_x = f"with(%x : {xt})" if masks else ""
    with_w = f"with(%w : {wt})" if masks else ""
    held_in = "held(%a, %b, %step : tensor<f32>, tensor<f32>, tensor<i64>)" if held else ""
    more = ", tensor<f32>, tensor<f32>" if held else ""
    results = lambda name: f"{name}" + (f", {name}a, {name}b" if held else "")  # noqa: E731
    attr = f"#blockscale.recipe<{recipe}{extra}>"
    return f"""
func.func @layer(%x: {xt}, %w: {wt}, %dy: {yt}, %seed: tensor<i64>,
                 %a: tensor<f32>, %b: tensor<f32>, %step: tensor<i64>) -> ({yt}, {xt}, {wt}) {{
  {results("%y")} = blockscale.linear forward(%x, %w : {xt}, {wt}) {held_in}
      seed(%seed : tensor<i64>) recipe {attr} -> {yt}{more}
  {results("%dx")} = blockscale.linear dgrad(%dy, %w : {yt}, {wt}) {with_x} {held_in}
      seed(%seed : tensor<i64>) recipe {attr} -> {xt}{more}
  {results("%dw")} = blockscale.linear wgrad(%dy, %x : {yt}, {xt}) {with_w} {held_in}
      seed(%seed : tensor<i64>) recipe {attr} -> {wt}{more}
  return %y, %dx, %dw : {yt}, {xt}, {wt}
}}"""


def run(library, seed):
    zero = np.float32(0)
    return library.layer(x, w, dy, np.int64(seed), zero, zero, np.int64(100))


for recipe, bounds in BOUNDS.items():
    library = compile(layer(recipe))
    first, again, other = run(library, 1), run(library, 1), run(library, 2)
    for name, a, b, e, bound in zip(("y", "dx", "dw"), first, again, exact, bounds):
        same(f"{recipe} {name} again", bits(a), bits(b))
        error = relative_error(a, e)
        check(f"{recipe} {name}", error <= bound, f"error {error:.4f}, at most {bound}")
        print(f"{recipe:16} {name:2} {error:.4f}")
        if bound > .1 and recipe not in ("weight_only", "nf4", "sinq"):
            check(f"{recipe} {name} is not exact", error > bound / 5, f"{error}")
    draws = recipe in ("te_nvfp4", "fp4_all_the_way", "ue5m3", "mxfp4_training", "quartet")
    check(f"{recipe}: another seed, another draw",
          (first[2] != other[2]).any() == (draws or recipe in ("mxint", "nvint")))

# Quantization-aware finetuning: forward quantized, backward exact.
finetune = run(compile(layer("fp4_all_the_way", ", backward = plain")), 1)
quantized = run(compile(layer("fp4_all_the_way")), 1)
same("QAF forward", bits(finetune[0]), bits(quantized[0]))
check("QAF dx", relative_error(finetune[1], exact[1]) < 1e-6)
check("QAF dw", relative_error(finetune[2], exact[2]) < 1e-6)

# SVDQuant: a weight of rank 32 and a little rest. The rest is quantized, the
# branch is not, so the error is that of the rest. Gradients see the whole weight,
# also where the rest is reused as the forward product saw it, rotated.
down = random.standard_normal((32, K)).astype(np.float32)
up = random.standard_normal((N, 32)).astype(np.float32)
rest = (random.standard_normal((N, K)) / 8).astype(np.float32)
smooth = np.exp2(random.integers(-2, 3, K)).astype(np.float32)
xt, wt, yt = f"tensor<{M}x{K}xf32>", f"tensor<{N}x{K}xf32>", f"tensor<{M}x{N}xf32>"
site = "#blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round nearest_even rotate 16>"
for name, recipe in (("svdquant", "svdquant"),
                     ("rotated and reused", f"low_rank = 32, fprop_x = {site}, fprop_w = {site}, "
                      "dgrad_w = #blockscale.site<plain reuse>")):
    library = compile(f"""
func.func @layer(%x: {xt}, %w: {wt}, %dy: {yt}, %c: tensor<{K}xf32>, %d: tensor<32x{K}xf32>,
                 %u: tensor<{N}x32xf32>) -> ({yt}, {xt}, {wt}) {{
  %y = blockscale.linear forward(%x, %w : {xt}, {wt}) columns(%c : tensor<{K}xf32>)
      low_rank(%d, %u : tensor<32x{K}xf32>, tensor<{N}x32xf32>)
      recipe #blockscale.recipe<{recipe}> -> {yt}
  %dx = blockscale.linear dgrad(%dy, %w : {yt}, {wt}) columns(%c : tensor<{K}xf32>)
      low_rank(%d, %u : tensor<32x{K}xf32>, tensor<{N}x32xf32>)
      recipe #blockscale.recipe<{recipe}> -> {xt}
  %dw = blockscale.linear wgrad(%dy, %x : {yt}, {xt}) columns(%c : tensor<{K}xf32>)
      recipe #blockscale.recipe<{recipe}> -> {wt}
  return %y, %dx, %dw : {yt}, {xt}, {wt}
}}""")
    y, dx, dw = library.layer(x, rest, dy, smooth, down, up)
    weight = np.float64(rest) + np.float64(up) @ down
    whole, direct = (x * smooth) @ weight.T, (x * smooth) @ rest.T
    check(f"{name}: the branch is exact", np.linalg.norm(y - whole) < .2 * np.linalg.norm(direct)
          and np.linalg.norm(y - whole) < .02 * np.linalg.norm(whole))
    gradient, of_rest = dy @ weight * smooth, dy @ rest * smooth
    check(f"{name}: dx has the branch",
          np.linalg.norm(dx - gradient) < (.2 if "site" in recipe else 1e-5) * np.linalg.norm(of_rest))
    check(f"{name}: dw is that of the rest", relative_error(dw, np.float64(dy).T @ (x * smooth)) < 1e-6)
finish(80)
