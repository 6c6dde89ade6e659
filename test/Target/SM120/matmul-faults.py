# REQUIRES: blockscale-compile, blockscale-sim, numpy
# RUN: %python %s
"""A matmul's PTX gives the product in the simulator, and no longer does, or is
reported, once a fault is put into it."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

M, N, K = 70, 100, 656
folder = tempfile.TemporaryDirectory()
root = Path(folder.name)
rng = np.random.default_rng(5)
failures = 0

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate([E2M1, -E2M1])
UE4M3 = np.array([code / 512 if code < 8 else
                  (8 + code % 8) * 2.0 ** (code // 8 - 10)
                  for code in range(127)])


def side(rows):
    codes = rng.integers(0, 16, (rows, K))
    scales = rng.integers(1, 127, (rows, K // 16))
    values = E2M1[codes] * np.repeat(UE4M3[scales], 16, 1)
    packed = codes[:, 0::2] | codes[:, 1::2] << 4
    return values, packed.astype(np.uint8), scales.astype(np.uint8)


a, codes_a, scales_a = side(M)
b, codes_b, scales_b = side(N)
expected = a @ b.T * 0.75
arguments = []
for name, array in [("a", codes_a), ("as", scales_a), ("b", codes_b),
                    ("bs", scales_b)]:
    np.save(root / f"{name}.npy", array)
    arguments.append(f"in:{root / name}.npy")
np.save(root / "ga.npy", np.array([1.5], np.float32))
np.save(root / "gb.npy", np.array([0.5], np.float32))
output = root / "y.npy"
arguments += [f"i64:{M}", f"i64:{N}", "i64:4", f"out:{output}:f32:{M}x{N}",
              f"in:{root}/ga.npy", f"in:{root}/gb.npy"]

a_type, b_type = f"tensor<{M}x{K}xf4E2M1FN>", f"tensor<{N}x{K}xf4E2M1FN>"
as_type, bs_type = (f"tensor<{r}x{K // 16}xf8E4M3FN>" for r in (M, N))
(root / "f.mlir").write_text(f"""
func.func @f(%a: {a_type}, %as: {as_type}, %ag: tensor<f32>, %b: {b_type},
             %bs: {bs_type}, %bg: tensor<f32>) -> tensor<{M}x{N}xf32> {{
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : {a_type}, {as_type}, tensor<f32>
          as #blockscale.format<nvfp4>)
      rhs(%b, %bs, %bg : {b_type}, {bs_type}, tensor<f32>
          as #blockscale.format<nvfp4>)
      {{blockscale.tile = array<i64: 64, 64, 128, 3>}} : tensor<{M}x{N}xf32>
  return %y : tensor<{M}x{N}xf32>
}}""")
subprocess.run(["blockscale-compile", root / "f.mlir", "--target=sm_120a",
                "--emit=ptx", "-o", root / "f.ptx"], check=True,
               stderr=subprocess.DEVNULL)
ptx = (root / "f.ptx").read_text()


def run(text):
    """Why the text is wrong; empty if it is right."""
    (root / "g.ptx").write_text(text)
    output.unlink(missing_ok=True)
    done = subprocess.run(["blockscale-sim", root / "g.ptx", "--grid", "3",
                           "--block", "256", "--shared", "65536", *arguments],
                          text=True, capture_output=True)
    if done.returncode:
        return (done.stdout + done.stderr).strip().splitlines()[0]
    error = np.abs(np.load(output) - expected)
    bound = (K / 16 + 4) * 2.0 ** -23 * (np.abs(a) @ np.abs(b).T)
    return "" if (error <= bound).all() else f"{(error > bound).sum()} wrong"


def expect(name, text, faulty=True):
    global failures
    why = run(text)
    good = bool(why) == faulty and (not faulty or text != ptx)
    failures += not good
    print("ok    " if good else "FAILED", name, why)


def replaced(pattern, replacement, which=0):
    """The PTX with one match of `pattern` replaced."""
    found = list(re.finditer(pattern, ptx))[which]
    return ptx[:found.start()] + found.expand(replacement) + ptx[found.end():]


expect("as it is", ptx, faulty=False)
expect("no barrier before a stage is read", replaced(r"bar\.sync \t0;", ""))
expect("no barrier before the next tile's stages are brought",
       replaced(r"bar\.sync \t0;", "", 1))
expect("no barrier before the result is read",
       replaced(r"bar\.sync \t0;", "", 2))
expect("no barrier before the next rows are staged",
       replaced(r"bar\.sync \t0;", "", 3))
expect("a copy is not waited for",
       replaced(r"wait_group \t1;", "wait_group \t2;"))
wrap = r"(setp\.eq\.b32 \t%p\d+, %r\d+, )(\d{4,});"
for which in range(2):
    expect(f"a stage index wraps too early ({which})",
           replaced(wrap, r"\g<1>0;", which))
expect("the scales of other rows", replaced(r"(mov\.b16 \t%rs\d+, )1;",
                                            r"\g<1>0;"))
# Rows of 41 scales begin anywhere in a word: four bytes of two are selected.
expect("two scales of a word are swapped",
       replaced(r"(mad\.lo\.s32 \t%r\d+, %r\d+, 4369, )12816;",
                r"\g<1>12801;"))
expect("the scales of the blocks before",
       replaced(r"(mad\.lo\.s32 \t%r\d+, %r\d+, 4369, )12816;",
                r"\g<1>8463;", 1))
expect("a row too many is written",
       replaced(rf"(setp\.gt\.u32 \t%p\d+, %r\d+, ){M - 1};",
                rf"\g<1>{M};"))
expect("a row too many is read",
       replaced(rf"(setp\.lt\.u32 \t%p\d+, %r\d+, ){M};", rf"\g<1>{M + 1};"))
expect("columns too many are read",
       replaced(rf"(setp\.lt\.u32 \t%p\d+, %r\d+, ){K // 2};",
                rf"\g<1>{K // 2 + 8};", 1))  # the upper half of a chunk
sys.exit(failures)
