# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Derived seeds and random signs are those of their definitions, and no two
draws share a seed: not in loops, by calls, in several functions."""
import re

from common import *

SITES, SIZES = [0, 1, 7, 32768, 65535], [2, 3, 16, 30, 64, 256]
library = compile("".join(f"""
func.func @site{site}(%s: tensor<i64>) -> tensor<i64> {{
  %a = blockscale.derive_seed %s {{site = {site}}} : tensor<i64>
  return %a : tensor<i64>
}}
func.func @site{site}_of(%s: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {{
  %v = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %v : i64 to index
  %a = blockscale.derive_seed %s[%i] {{site = {site}}} : tensor<i64>
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
        for i in (0, 1, 65535):
            got = int(library.call(f"site{site}_of", np.int64(base), np.int64(i)).view(np.uint64))
            check(f"seed {base} site {site} iteration {i}", got == derive_seed(base & MASK64, site, i))
    for n in SIZES:
        same(f"signs {n} of {base}", library.call(f"signs{n}", np.int64(base)),
             random_signs(base & MASK64, n))

# mix is a bijection, so seeds collide only where base + site * stride does:
# never for fewer than 2^16 sites and bases less than 2^47 apart.
stride = 0x9E3779B97F4A7C15
closest = min(min(d * stride & MASK64, -d * stride & MASK64)
              for d in range(1, 1 << 16))
check("sites are far apart", closest >= 1 << 47, f"but got {closest}")
# Iterations below 2^16 of bases less than 2^31 apart stay within those 2^47.
check("iterations are near", (2**16 - 1) * 2**31 + 2**31 - 1 < 1 << 47)

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
# In loops, by calls, in several functions: each draw is that of the seed by
# random_c6, computed here, and drawn outside of any loop or call.
X, W, DY = "tensor<32x64xf32>", "tensor<64x64xf32>", "tensor<32x64xf32>"
DGRAD = "blockscale.linear dgrad(%dy, %w : tensor<32x64xf32>, tensor<64x64xf32>)"
BY = "recipe #blockscale.recipe<fp4_all_the_way>"
ROLE = "{blockscale.role = #blockscale.role<wgrad_dy>}"
SCALE = """%s, %g, %e = blockscale.scale %dy : tensor<32x64xf32> to #fmt by #rule
      -> tensor<32x4xf8E4M3FN>, tensor<f32>, tensor<32x4xf32>"""
QUANTIZE = """%q = blockscale.quantize %dy : tensor<32x64xf32> encode(%e : tensor<32x4xf32>) to #fmt {}
      -> tensor<32x64xf4E2M1FN>
  %d = blockscale.dequantize %q : tensor<32x64xf4E2M1FN> scales(%s : tensor<32x4xf8E4M3FN>) tensor(%g : tensor<f32>)
      from #fmt -> tensor<32x64xf32>"""
PRELUDE = """#fmt = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>
"""
CONSTANTS = "\n".join(f"  %c{i} = arith.constant {i} : index" for i in (0, 1, 2, 3, 5, 11)) + \
    "\n  %zero = arith.constant dense<0.0> : tensor<6x32x64xf32>"


def nested(body, number="%k", carried=""):
    """3 x 2 iterations that each put %d into a result; with steps and bounds."""
    return f"""{CONSTANTS}
  %r = scf.for %i = %c2 to %c11 step %c3 iter_args(%a = %zero) -> tensor<6x32x64xf32> {{
    %b = scf.for %j = %c1 to %c5 step %c2 iter_args(%t = %a) -> tensor<6x32x64xf32> {{
      %i0 = arith.subi %i, %c2 : index
      %i1 = arith.divui %i0, %c3 : index
      %i2 = arith.muli %i1, %c2 : index
      %j0 = arith.subi %j, %c1 : index
      %j1 = arith.divui %j0, %c2 : index
      %k = arith.addi %i2, %j1 : index
      {body}
      %n = tensor.insert_slice %d into %t[%k, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<32x64xf32> into tensor<6x32x64xf32>
      scf.yield %n : tensor<6x32x64xf32>
    }}
    scf.yield %b : tensor<6x32x64xf32>
  }}"""


text = PRELUDE + f"""
func.func @draw(%dy: {DY}, %seed: tensor<i64>) -> {DY} {{
  {SCALE}
  {QUANTIZE.format("round stochastic seed(%seed : tensor<i64>)")}
  return %d : {DY}
}}
func.func @dx(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> {DY} {{
  %d = {DGRAD} seed(%seed : tensor<i64>) {BY} -> {DY}
  return %d : {DY}
}}
func.func @role_in_loop(%dy: {DY}, %seed: tensor<i64> {{blockscale.seed}}) -> tensor<6x32x64xf32> {{
  {SCALE}
{nested(QUANTIZE.format(ROLE))}
  return %r : tensor<6x32x64xf32>
}}
func.func @derived_in_loop(%dy: {DY}, %seed: tensor<i64>) -> tensor<6x32x64xf32> {{
  {SCALE}
{nested("%u = blockscale.derive_seed %seed {site = 40000} : tensor<i64>" + chr(10) +
        QUANTIZE.format("seed(%u : tensor<i64>) " + ROLE))}
  return %r : tensor<6x32x64xf32>
}}
func.func @half_changes(%dy: {DY}, %seed: tensor<i64>) -> tensor<6x32x64xf32> {{
  {SCALE}
{nested("%u = blockscale.derive_seed %seed[%i] {site = 40001} : tensor<i64>" + chr(10) +
        QUANTIZE.format("seed(%u : tensor<i64>) " + ROLE))}
  return %r : tensor<6x32x64xf32>
}}
func.func @linear_in_loop(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> tensor<6x32x64xf32> {{
{nested(f"%d = {DGRAD} seed(%seed : tensor<i64>) {BY} -> {DY}")}
  return %r : tensor<6x32x64xf32>
}}
func.func private @layer(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> {DY} {{
  %d = {DGRAD} seed(%seed : tensor<i64>) {BY} -> {DY}
  return %d : {DY}
}}
func.func @calls(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> ({DY}, {DY}, {DY}) {{
  %a = func.call @layer(%dy, %w, %seed) : ({DY}, {W}, tensor<i64>) -> {DY}
  %b = func.call @layer(%dy, %w, %seed) : ({DY}, {W}, tensor<i64>) -> {DY}
  %c = {DGRAD} seed(%seed : tensor<i64>) {BY} -> {DY}
  return %a, %b, %c : {DY}, {DY}, {DY}
}}
func.func @calls_in_loop(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> tensor<6x32x64xf32> {{
{nested(f"%d = func.call @layer(%dy, %w, %seed) : ({DY}, {W}, tensor<i64>) -> {DY}")}
  return %r : tensor<6x32x64xf32>
}}
func.func @carried(%dy: {DY}, %seed: tensor<i64>) -> (tensor<6x32x64xf32>, tensor<i64>) {{
  {SCALE}
{CONSTANTS}
  %six = arith.constant 6 : index
  %r:3 = scf.while (%i = %c0, %t = %zero, %u = %seed) : (index, tensor<6x32x64xf32>, tensor<i64>)
      -> (index, tensor<6x32x64xf32>, tensor<i64>) {{
    %more = arith.cmpi ult, %i, %six : index
    scf.condition(%more) %i, %t, %u : index, tensor<6x32x64xf32>, tensor<i64>
  }} do {{
  ^bb0(%i: index, %t: tensor<6x32x64xf32>, %u: tensor<i64>):
    {QUANTIZE.format("seed(%u : tensor<i64>) " + ROLE)}
    %n = tensor.insert_slice %d into %t[%i, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<32x64xf32> into tensor<6x32x64xf32>
    %v = blockscale.derive_seed %u {{site = 40002}} : tensor<i64>
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %n, %v : index, tensor<6x32x64xf32>, tensor<i64>
  }}
  return %r#1, %r#2 : tensor<6x32x64xf32>, tensor<i64>
}}
func.func @calls_of_calls(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> ({DY}, {DY}) {{
  %a, %b = func.call @twice(%dy, %w, %seed) : ({DY}, {W}, tensor<i64>) -> ({DY}, {DY})
  return %a, %b : {DY}, {DY}
}}
func.func private @twice(%dy: {DY}, %w: {W}, %seed: tensor<i64>) -> ({DY}, {DY}) {{
  %u = blockscale.derive_seed %seed {{site = 40003}} : tensor<i64>
  %a = func.call @layer(%dy, %w, %u) : ({DY}, {W}, tensor<i64>) -> {DY}
  %b = func.call @layer(%dy, %w, %u) : ({DY}, {W}, tensor<i64>) -> {DY}
  return %a, %b : {DY}, {DY}
}}"""
library = compile(text)
after, _ = rewrite(text, "--blockscale-stage-recipe", "--blockscale-stage-round")
BASE = 1234


def sites_of(function):
    """The sites, from 32768 on, that the passes gave to a function."""
    body = re.search(rf"func.func (?:private )?@{function}\(.*?\n  }}\n", after, re.S).group(0)
    return [int(site) for site in re.findall(r"site = (3\d{4})", body)]


def signed(seed):
    return np.uint64(seed & MASK64).view(np.int64)[()]


dy, w = (random_normal.standard_normal(s).astype(np.float32)
         for random_normal in [np.random.default_rng(3)] for s in ((32, 64), (64, 64)))
draw = lambda seed: library.draw(dy, signed(seed))  # noqa: E731
dx = lambda seed: library.dx(dy, w, signed(seed))  # noqa: E731
(role_site,), (derived_site,), (half_site,), (loop_site,) = (
    sites_of(f) for f in ("role_in_loop", "derived_in_loop", "half_changes", "calls_in_loop"))
found = {
    "role_in_loop": (library.role_in_loop(dy, BASE), [draw(derive_seed(BASE, role_site, k)) for k in range(6)]),
    "derived_in_loop": (library.derived_in_loop(dy, BASE), [
        draw(derive_seed(derive_seed(BASE, 40000), derived_site, k)) for k in range(6)]),
    "half_changes": (library.half_changes(dy, BASE), [
        draw(derive_seed(derive_seed(BASE, 40001, 2 + 3 * (k // 2)), half_site, k % 2)) for k in range(6)]),
    "linear_in_loop": (library.linear_in_loop(dy, w, BASE), [dx(BASE + k * 2**31) for k in range(6)]),
    "calls": (library.calls(dy, w, BASE), [dx(derive_seed(BASE, site)) for site in sites_of("calls")] + [dx(BASE)]),
    "calls_in_loop": (library.calls_in_loop(dy, w, BASE), [dx(derive_seed(BASE, loop_site, k)) for k in range(6)]),
    "calls_of_calls": (library.calls_of_calls(dy, w, BASE), [
        dx(derive_seed(derive_seed(BASE, 40003), site)) for site in sites_of("twice")]),
}
carried, seed = [], BASE
for _ in range(6):
    carried.append(draw(seed))
    seed = derive_seed(seed, 40002)
found["carried"] = library.carried(dy, BASE)[0], carried
for name, (actual, expected) in found.items():
    actual = [np.asarray(a) for a in actual]
    check(f"{name}: count", len(actual) == len(expected))
    for k, (a, e) in enumerate(zip(actual, expected)):
        same(f"{name} {k}", a, e)
    check(f"{name}: all differ", all((a != b).any() for i, a in enumerate(actual) for b in actual[:i]))

# Two functions with one base, and a program that uses the first and the last
# free site: all are different.
pair = PRELUDE + "".join(f"""
func.func @f{i}(%dy: {DY}, %seed: tensor<i64>) -> (tensor<i64>, {DY}) {{
  %u = blockscale.derive_seed %seed {{site = {site}}} : tensor<i64>
  {SCALE}
  {QUANTIZE.format(ROLE)}
  return %u, %d : tensor<i64>, {DY}
}}""" for i, site in enumerate((32768, 65535)))
after, _ = rewrite(pair, "--blockscale-choose-rounding=seed=7")
sites = re.findall(r"site = (\d+)", after)
check("two functions share no site", len(sites) == 4 == len(set(sites)), sites)
finish(235)
