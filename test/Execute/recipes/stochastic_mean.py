# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Stochastic rounding is unbiased to 5 sigma over 2^22 draws in every named
format: sums of what is drawn, of it times x (a wrong slope), and of each of
960 values; and it only draws the two neighbours of a value."""
from common import *

ROWS, COLS = 4096, 1024
FORMATS = {"rceil": ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8",
                     "mxint6", "mxint4"],
           "two_level": ["nvfp4", "nvint4", "fp4_e1m6", "fp4_e2m5", "fp4_e3m4", "fp4_e4m3",
                         "fp4_e5m2", "fp4_e6m1", "fp4_e8m0"],
           "ue5m3": ["fp4_ue5m3, tensor = f32"], "absmax": ["nf4", "midrise4, block = 32, scale = f32"],
           "minmax": ["uint4", "uint4, zero = f16"], "division": ["fp4_ue5m3", "e3m0, block = 32, scale = f32"]}
CASES = [(f, rule) for rule, formats in FORMATS.items() for f in formats]

t = f"tensor<{ROWS}x{COLS}xf32>"
library = compile("".join(f"""
func.func @draw{i}(%x: {t}, %seed: tensor<i64>) -> {t} {{
  %q = blockscale.fake_quantize %x : {t} to #blockscale.format<{f}>
      by #blockscale.scale_rule<{rule}> round stochastic seed(%seed : tensor<i64>)
  return %q : {t}
}}""" for i, (f, rule) in enumerate(CASES)))

random = np.random.default_rng(11)
# A row of values of both signs and many sizes; the first of each 16 bounds its
# block, so that the scale, wherever it is rounded to, clips none of the others.
row = random.uniform(-0.7, 0.7, COLS) * np.exp2(-random.integers(0, 3, COLS))
row[::16] = np.where(np.arange(COLS // 16) % 2, -1, 1)
row = row.astype(np.float32)
x = np.broadcast_to(row, (ROWS, COLS)).copy()
kept = np.arange(COLS) % 16 != 0
exact = np.float64(row[kept])
for i, (f, rule) in enumerate(CASES):
    drawn = library.call(f"draw{i}", x, np.int64(1000 + i))[:, kept]
    low, high = np.float64(drawn.min(0)), np.float64(drawn.max(0))
    two = ((drawn == drawn.min(0)) | (drawn == drawn.max(0))).all()
    errors = np.float64(drawn.mean(0, dtype=np.float64)) - exact
    # Of a draw between two neighbours; about 0 where the other one was missed in
    # 4096 draws.
    variance = np.maximum((high - exact) * (exact - low), 0) / ROWS
    whole = errors.sum() / np.sqrt(variance.sum())
    slope = (errors * exact).sum() / np.sqrt((variance * exact ** 2).sum())
    often = variance * ROWS > (high - low) ** 2 * 0.05
    single = np.abs(errors[often]) / np.sqrt(variance[often])
    name = f"{f} {rule}"
    print(f"{name:36} sum {whole:5.2f}, slope {slope:5.2f}, values up to {single.max():4.2f} "
          f"sigma, rms {np.sqrt(np.mean(single ** 2)):.3f}")
    check(f"{name}: two neighbours", two and (low[often] < exact[often]).all()
          and (high[often] > exact[often]).all())
    check(f"{name}: most values are drawn", often.mean() > 0.7, often.mean())
    check(f"{name}: sum", abs(whole) < 5, whole)
    check(f"{name}: slope", abs(slope) < 5, slope)
    # 20,000 of them in all: one above 5 sigma is in 160 tests.
    check(f"{name}: each value", single.max() < 5.5, single.max())
finish(5 * len(CASES))
