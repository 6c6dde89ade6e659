# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""MXFP4 training: with 3/4 before the draw and 16/9 after, the mean of the
product is the exact product to 5 sigma; without 3/4, large elements are clipped
and it is not. Rotated or not, the seeds of a hundred products share no bits."""
from common import *

random = np.random.default_rng(6)
M, N, K = 32, 64, 64
DRAWS = 2048


def library_for(multiplier):
    site = ("#blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<floor"
            f"{multiplier}> round stochastic rotate 64 signs seeded>")
    return compile(f"""
func.func @dgrad(%dy: tensor<{M}x{N}xf32>, %w: tensor<{N}x{K}xf32>, %seed: tensor<i64>) -> tensor<{M}x{K}xf32> {{
  %dx = blockscale.linear dgrad(%dy, %w : tensor<{M}x{N}xf32>, tensor<{N}x{K}xf32>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<dgrad_dy = {site}, dgrad_w = {site}>
      -> tensor<{M}x{K}xf32>
  return %dx : tensor<{M}x{K}xf32>
}}""")


dy = random.standard_normal((M, N)).astype(np.float32)
w = random.standard_normal((N, K)).astype(np.float32)
exact = np.float64(dy) @ np.float64(w)


def z_scores(library):
    total, squares = np.zeros((M, K)), np.zeros((M, K))
    for seed in range(DRAWS):
        dx = np.float64(library.dgrad(dy, w, np.int64(seed)))
        total += dx
        squares += dx * dx
    mean = total / DRAWS
    sigma = np.sqrt((squares / DRAWS - mean ** 2) / DRAWS)
    return (mean - exact) / sigma, np.vdot(mean, exact) / np.vdot(exact, exact)


with_factor, slope = z_scores(library_for(", pre_multiplier = 0.75"))
print(f"3/4: largest {np.abs(with_factor).max():.2f} sigma, rms {np.sqrt(np.mean(with_factor**2)):.3f},"
      f" slope {slope:.5f}")
check("unbiased, each element", np.abs(with_factor).max() < 5.5)
check("unbiased, together", abs(np.mean(with_factor ** 2) - 1) < 5 * np.sqrt(2 / with_factor.size))
check("unbiased, slope", abs(slope - 1) < 1e-3, f"{slope}")

without, slope = z_scores(library_for(""))
print(f"1: largest {np.abs(without).max():.2f} sigma, slope {slope:.5f}")
check("biased without 3/4", slope < 0.995 and np.mean(without ** 2) > 2, f"{slope}")

# 5 sigma over 2^22 draws for every format: a constant tensor between two codes
# of each; its mean.
COUNT = 1 << 22
for name, block, scale, x in [("mxfp4", 32, "f8E8M0FNU", 1.3), ("mxfp6_e2m3", 32, "f8E8M0FNU", 1.03),
                              ("mxfp6_e3m2", 32, "f8E8M0FNU", 1.1), ("mxfp8_e4m3", 32, "f8E8M0FNU", 1.02),
                              ("mxfp8_e5m2", 32, "f8E8M0FNU", 1.15), ("mxint8", 32, "f8E8M0FNU", 0.7123),
                              ("mxint6", 32, "f8E8M0FNU", 0.7123), ("mxint4", 32, "f8E8M0FNU", 0.7123)]:
    t = f"tensor<{COUNT // 1024}x1024xf32>"
    library = compile(f"""
func.func @draw(%x: {t}, %seed: tensor<i64>) -> tensor<2xf64> {{
  %e = blockscale.quantization_error %x : {t} to #blockscale.format<{name}>
      by #blockscale.scale_rule<floor> round stochastic seed(%seed : tensor<i64>) -> tensor<2xf64>
  return %e : tensor<2xf64>
}}
func.func @values(%x: {t}, %seed: tensor<i64>) -> {t} {{
  %e = blockscale.fake_quantize %x : {t} to #blockscale.format<{name}>
      by #blockscale.scale_rule<floor> round stochastic seed(%seed : tensor<i64>)
  return %e : {t}
}}""")
    values = library.values(np.full((COUNT // 1024, 1024), x, np.float32), np.int64(77))
    low, high = values.min(), values.max()
    chance = (np.float64(np.float32(x)) - low) / (high - low)
    sigma = (high - low) * np.sqrt(chance * (1 - chance) / COUNT)
    off = (np.mean(values, dtype=np.float64) - np.float64(np.float32(x))) / sigma
    check(f"{name}: two neighbours", len(np.unique(values)) == 2 and low < x < high)
    check(f"{name}: unbiased", abs(off) < 5, f"{off:.2f} sigma")
finish(20)
