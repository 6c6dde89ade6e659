# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Faults put into emitted PTX are caught: by the simulator's checks, or by a
result that differs from the CPU's.

Each fault changes one place of the PTX inside the compiled library, keeping its
length. The kernel is the block-scaled matmul of sm_120a with several steps and
two stages.
"""
import re
import tempfile
from pathlib import Path

from matmul_support import (check, compile_for, finish, np, os, random_codes,
                            subprocess)

import blockscale

M, N, K = 61, 70, 656
TEXT = f"""
#f = #blockscale.format<nvfp4>
func.func @f(%a: tensor<{M}x{K}xf4E2M1FN>, %as: tensor<{M}x{K // 16}xf8E4M3FN>, %ag: tensor<f32>,
             %b: tensor<{N}x{K}xf4E2M1FN>, %bs: tensor<{N}x{K // 16}xf8E4M3FN>, %bg: tensor<f32>)
    -> tensor<{M}x{N}xf32> {{
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<{M}x{K}xf4E2M1FN>, tensor<{M}x{K // 16}xf8E4M3FN>, tensor<f32> as #f)
      rhs(%b, %bs, %bg : tensor<{N}x{K}xf4E2M1FN>, tensor<{N}x{K // 16}xf8E4M3FN>, tensor<f32> as #f)
      {{blockscale.tile = array<i64: 64, 64, 128, 2>}} : tensor<{M}x{N}xf32>
  return %y : tensor<{M}x{N}xf32>
}}
"""
# What is replaced, where it stands in the PTX; every match is one fault.
FAULTS = {
    "a barrier removed": (rb"bar\.sync\s+0;", lambda m: b" " * len(m.group())),
    "a wait for copies removed": (rb"cp\.async\.wait_group\s+\d+;",
                                  lambda m: b" " * len(m.group())),
    "a fragment from the next row": (
        rb"(ldmatrix[^;]*\[%rd\d+\+)(\d+)(\];)",
        lambda m: m[1] + b"%0*d" % (len(m[2]), int(m[2]) + 64) + m[3]),
    "scales from the wrong place of a stage": (
        rb"(ld\.shared\.b32\s+%r\d+, \[%rd\d+\+)(\d+)(\];)",
        lambda m: m[1] + b"%0*d" % (len(m[2]), int(m[2]) + 4) + m[3]),
    "the scale of another thread": (
        rb"(mov\.b16\s+%rs\d+, )([01])(;)",
        lambda m: m[1] + (b"1" if m[2] == b"0" else b"0") + m[3]),
    "a bound one too large": (
        rb"(setp\.lt\.u32\s+%p\d+, %r\d+, )(70|41)(;)",
        lambda m: m[1] + b"%d" % (int(m[2]) + 1) + m[3]),
}


def outcome(library, inputs, expected):
    """Why a library fails, or nothing."""
    try:
        got = blockscale.load(str(library), device="sim").f(*inputs)
    except blockscale.Error as error:
        return str(error)
    if not np.allclose(got, expected, rtol=1e-5, atol=1e-4):
        return "differs from the CPU"
    return ""


rng = np.random.default_rng(3)
inputs = [random_codes(rng, "e2m1", (M, K)),
          rng.integers(40, 80, (M, K // 16)).astype(np.uint8),
          np.float32(0.5),
          random_codes(rng, "e2m1", (N, K)),
          rng.integers(40, 80, (N, K // 16)).astype(np.uint8),
          np.float32(0.25)]
expected = compile_for("cpu", TEXT)[0].f(*inputs)
with tempfile.TemporaryDirectory() as folder:
    whole = Path(folder) / "whole.so"
    source = whole.with_suffix(".mlir")
    source.write_text(TEXT)
    subprocess.run([os.environ["BLOCKSCALE_COMPILE"], source, "-o", whole,
                    "--target=sm_120a"], check=True, capture_output=True)
    image = whole.read_bytes()
    check("no fault, no failure", outcome(whole, inputs, expected) == "")
    for name, (pattern, change) in FAULTS.items():
        places = list(re.finditer(pattern, image))
        check(f"there is a place for {name}", len(places) > 0)
        caught = 0
        for number, place in enumerate(places[:6]):
            text = change(place)
            assert len(text) == len(place.group()), (name, place.group())
            broken = Path(folder) / f"{number}.so"
            broken.write_bytes(image[:place.start()] + text +
                               image[place.end():])
            why = outcome(broken, inputs, expected)
            caught += bool(why)
            print(f"{name}, place {number}: {why[:150] or 'NOT CAUGHT'}")
        # Some bounds guard what is multiplied by zero anyway.
        needed = 1 if "bound" in name else min(len(places), 6)
        check(f"{name}: caught", caught >= needed, f"in {caught} places")
finish(at_least=13)
