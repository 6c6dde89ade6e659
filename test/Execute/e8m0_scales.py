# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""The E8M0 scale of a block, by amax, element and rule."""
from support import *

rows = refs("e8m0_scale_vectors.json")["rows"]
RULES = {"floor": "floor", "ceil": "ceil", "rceil": "rceil", "even": "even",
         "rceil_satfinite": "rceil, satfinite = true"}


def scaler(name, element, rule, blocks):
    return f"""
func.func @{name}(%x: tensor<{blocks}x32xf32>) -> tensor<{blocks}x1xf8E8M0FNU> {{
  %s = blockscale.scale %x : tensor<{blocks}x32xf32>
      to #blockscale.format<{element}, block = 32, scale = e8m0>
      by #blockscale.scale_rule<{rule}> -> tensor<{blocks}x1xf8E8M0FNU>
  return %s : tensor<{blocks}x1xf8E8M0FNU>
}}"""


count = 0
for name in dict.fromkeys(row["elem"] for row in rows):
    mine = [row for row in rows if row["elem"] == name]
    rules = {key: rule for key, rule in RULES.items() if key in mine[0]}
    element = ELEMENTS.get(name, name)
    library = compile("".join(scaler(key, element, rule, len(mine))
                              for key, rule in rules.items()))
    amax = floats([row["amax"] for row in mine])
    # The largest magnitude anywhere in the block, of either sign.
    x = np.zeros((len(mine), 32), np.float32)
    for i, value in enumerate(amax):
        x[i, i % 32] = -value if i % 2 else value
        if np.isfinite(value):
            x[i, (i + 7) % 32] = value / 2
    for key in rules:
        expected = [row[key] for row in mine]
        # 3e38 and a fixed-point 1.75: the vectors round up to 255, NaN, but a
        # finite amax saturates at 254 (scale_c11).
        expected = [254 if code == 255 and np.isfinite(value) else code
                    for code, value in zip(expected, amax)]
        same(f"{name} {key}", library.call(key, x).view(np.uint8)[:, 0],
             expected)
        count += 1
finish(at_least=9 * 4)
