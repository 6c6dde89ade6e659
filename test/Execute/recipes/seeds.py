# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Derived seeds and random signs are those of their definitions, and no two
draws share a seed."""
import re

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

# A network of three layers: every draw of a step has a site of its own, also what
# is left to the roles, in two functions that share a base.
open_site = "#blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil>>"
for recipe in ("te_nvfp4", "fp4_all_the_way", "mxfp4_training", "quartet", "nvint",
               ", ".join(f"{role} = {open_site}" for role in ("dgrad_dy", "dgrad_w", "wgrad_dy", "wgrad_x"))):
    x = "tensor<128x128xf32>"
    masked = ("with(%x : tensor<128x128xf32>)", "with(%w : tensor<128x128xf32>)") if recipe == "quartet" else ("", "")
    text = f"func.func @step(%x: {x}, %w: {x}, %dy: {x}, %seed: tensor<i64>) -> ({', '.join([x] * 9)}) {{\n"
    for layer in range(3):
        for name, role, a, b, other in (("y", "forward", "%x", "%w", ""), ("dx", "dgrad", "%dy", "%w", masked[0]),
                                        ("dw", "wgrad", "%dy", "%x", masked[1])):
            text += f"""  %{name}{layer} = blockscale.linear {role}({a}, {b} : {x}, {x}) {other} seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<{recipe}> {{layer = {layer}}} -> {x}\n"""
    results = [f"%{name}{layer}" for layer in range(3) for name in ("y", "dx", "dw")]
    text += f"  return {', '.join(results)} : {', '.join([x] * 9)}\n}}\n"
    after, _ = rewrite(text, "--blockscale-stage-recipe", "--blockscale-stage-round")
    sites = dict(re.findall(r"(%\w+) = blockscale.derive_seed %\w+ \{site = (\d+)", after))
    drawn = [sites[name] for name in re.findall(r"round stochastic seed\((%\w+)", after)]
    signs = [sites[name] for name in re.findall(r"random_signs (%\w+)", after)]
    check(f"{recipe}: no draw shares its site", len(drawn + signs) == len(set(drawn + signs)), (drawn, signs))
    check(f"{recipe}: there are draws", len(drawn + signs) >= 6, (drawn, signs))
    check(f"{recipe}: nothing is open", "blockscale.role" not in after)
finish(86)
