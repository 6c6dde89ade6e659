# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Derived seeds and random signs are those of their definitions, and no two
draws share a seed."""
from common import *

SITES, SIZES = [0, 1, 7, 32768, 65535], [2, 3, 16, 30, 64, 256]
library = compile("".join(f"""
func.func @site{site}(%s: tensor<i64>) -> tensor<i64> {{
  %a = blockscale.derive_seed %s {{site = {site}}} : tensor<i64>
  return %a : tensor<i64>
}}""" for site in SITES) + "".join(f"""
func.func @signs{n}(%s: tensor<i64>) -> tensor<{n}xi8> {{
  %a = blockscale.random_signs %s : tensor<i64> -> tensor<{n}xi8>
  return %a : tensor<{n}xi8>
}}""" for n in SIZES))

for base in [0, 1, 1234567, 2**40 + 5, 2**63 - 1, -1]:
    for site in SITES:
        got = int(library.call(f"site{site}", np.int64(base)).view(np.uint64))
        check(f"seed {base} site {site}", got == derive_seed(base & MASK64, site))
    for n in SIZES:
        same(f"signs {n} of {base}", library.call(f"signs{n}", np.int64(base)),
             random_signs(base & MASK64, n))

# mix is a bijection, so seeds collide only where base + site * stride does:
# never for fewer than 2^16 sites and bases less than 2^47 apart.
stride = 0x9E3779B97F4A7C15
closest = min(min(d * stride & MASK64, -d * stride & MASK64)
              for d in range(1, 1 << 16))
check("sites are far apart", closest >= 1 << 47, f"but got {closest}")

# Fair coins: 5 sigma over 64 seeds of 256 signs.
mean = np.mean([random_signs(derive_seed(9, s), 256) for s in range(64)])
check("signs are fair", abs(mean) < 5 / np.sqrt(64 * 256), f"mean {mean}")
finish(68)
