# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""MXFP4 training: with 3/4 before the draw and 16/9 after, the mean of the
product is the exact product to 5 sigma; without 3/4, large elements are clipped
and it is not. Every format on its own: stochastic_mean.py."""
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

finish(4)
