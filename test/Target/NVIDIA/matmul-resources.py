# REQUIRES: blockscale-compile, numpy, ptxas
# RUN: %python %s
"""ptxas assembles the matmuls of every chip without spills; their PTX stays
below 5,000 lines a kernel and their shared memory within the chip's."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHARED = {"sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10,
          "sm_90": 227 << 10, "sm_90a": 227 << 10, "sm_120a": 101376,
          "sm_120f": 101376, "sm_121a": 101376}
SIDES = {"nvfp4": "f4E2M1FN 16 f8E4M3FN g", "mxfp4": "f4E2M1FN 32 f8E8M0FNU",
         "mxfp8_e4m3": "f8E4M3FN 32 f8E8M0FNU", "nvint4": "i4 16 f8E4M3FN g",
         "mxfp6_e3m2": "f6E3M2FN 32 f8E8M0FNU", "nf4": "i4 64 f32",
         "uint4": "i4 64 f16 z", "bf16": "bf16"}
GELU = """epilogue(%bias : tensor<4096xf32>) {
  ^bb0(%acc: f32, %b: f32):
    %x = arith.addf %acc, %b : f32
    %c = arith.constant 0.70710677 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %s = arith.mulf %x, %c : f32
    %e = math.erf %s : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %x, %half : f32
    %r = arith.mulf %h, %p : f32
    %t = arith.truncf %r : f32 to bf16
    blockscale.yield %t : bf16
  }"""
failures = 0


def side(name, kind):
    element, *rest = SIDES[kind].split()
    types = [f"tensor<?x4096x{element}>"] if name == "a" else \
        [f"tensor<4096x4096x{element}>"]
    rows = "?" if name == "a" else "4096"
    if rest:
        blocks = 4096 // int(rest[0])
        types.append(f"tensor<{rows}x{blocks}x{rest[1]}>")
        types += {"g": ["tensor<f32>"], "z": [f"tensor<{rows}x{blocks}xi8>"]}.get(
            rest[2] if len(rest) > 2 else "", [])
    names = [f"%{name}{i}" for i in range(len(types))]
    clause = ", ".join(names) + " : " + ", ".join(types)
    if rest:
        clause += f" as #blockscale.format<{kind}>"
    return [f"{n}: {t}" for n, t in zip(names, types)], clause


# The result in another format, as the lines after the matmul.
TO_MXFP8 = """
  %s = blockscale.scale %y : tensor<?x4096xbf16> to #blockscale.format<mxfp8_e4m3>
      by #blockscale.scale_rule<rceil> -> tensor<?x128xf8E8M0FNU>
  %q = blockscale.quantize %y : tensor<?x4096xbf16>
      scales(%s : tensor<?x128xf8E8M0FNU>)
      to #blockscale.format<mxfp8_e4m3> -> tensor<?x4096xf8E4M3FN>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>"""
TO_NVFP4 = """
  %s, %g, %e = blockscale.scale %y : tensor<?x4096xbf16> amax(%amax : tensor<f32>)
      to #blockscale.format<nvfp4> by #blockscale.scale_rule<four_over_six>
      -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
  %q = blockscale.quantize %y : tensor<?x4096xbf16>
      encode(%e : tensor<?x256xf32>)
      to #blockscale.format<nvfp4> -> tensor<?x4096xf4E2M1FN>
  return %q, %s : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>"""


def assemble(chip, lhs, rhs, tile="", epilogue="", tail=None):
    global failures
    (pa, a), (pb, b) = side("a", lhs), side("b", rhs)
    attribute = f"{{blockscale.tile = array<i64: {tile}>}}" if tile else ""
    parameters = pa + pb + ["%bias: tensor<4096xf32>", "%amax: tensor<f32>"]
    tail = tail or "\n  return %y : tensor<?x4096xbf16>"
    results = tail.rsplit(" : ", 1)[1]
    with tempfile.TemporaryDirectory() as folder:
        source, ptx = Path(folder) / "a.mlir", Path(folder) / "a.ptx"
        source.write_text(f"""
func.func @f({', '.join(parameters)}) -> ({results}) {{
  %y = blockscale.scaled_matmul lhs({a}) rhs({b}) {epilogue} {attribute}
      : tensor<?x4096xbf16>{tail}
}}""")
        subprocess.run(["blockscale-compile", source, f"--target={chip}", "--emit=ptx", "-o",
                        ptx], check=True, stderr=subprocess.DEVNULL)
        text = ptx.read_text()
        kernels = subprocess.run(
            ["blockscale-opt", source,
             f"-blockscale-lower-to-nvidia=chip={chip}"], check=True, text=True,
            capture_output=True).stdout
        done = subprocess.run(
            [os.environ["PTXAS"], "-v", f"-arch={chip}", ptx, "-o",
             Path(folder) / "a.cubin"], text=True, capture_output=True)
    lines = len(text.splitlines())
    report = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads",
                        report)
    shared = [int(x) for x in re.findall(r"shared = (\d+) : i32", kernels)]
    registers = re.findall(r"Used (\d+) registers", report)
    good = (done.returncode == 0 and spills and
            lines < 5000 * len(registers) and
            all(x == ("0", "0") for x in spills) and
            shared and max(shared) <= SHARED[chip])
    failures += not good
    print("ok    " if good else "FAILED", chip, lhs, rhs, tile, f"{lines} lines,"
          f" {registers} registers, {max(shared)} bytes of shared memory", "" if good else report)


for chip in ("sm_120a", "sm_120f", "sm_121a"):
    assemble(chip, "nvfp4", "nvfp4", "128, 128, 128, 4", GELU)
    assemble(chip, "mxfp4", "mxfp4", "128, 128, 128, 4")
    assemble(chip, "mxfp8_e4m3", "mxfp4", "128, 128, 128, 3")
    assemble(chip, "mxfp6_e3m2", "mxfp8_e4m3")
    assemble(chip, "nvfp4", "nvfp4", "128, 128, 128, 4", GELU, TO_MXFP8)
    assemble(chip, "nvfp4", "nvfp4", "128, 128, 128, 4", tail=TO_NVFP4)
assemble("sm_90a", "mxfp4", "mxfp4", "", GELU)
assemble("sm_90a", "mxfp6_e3m2", "mxfp6_e3m2")
for chip in SHARED:
    assemble(chip, "nf4", "uint4", "128, 128, 64, 2", GELU)
    assemble(chip, "bf16", "nvint4")
    assemble(chip, "nvfp4", "mxfp4", "128, 128, 64, 2", GELU, TO_MXFP8)
sys.exit(failures)
