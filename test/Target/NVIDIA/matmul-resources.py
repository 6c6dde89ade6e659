# REQUIRES: blockscale-compile, numpy, ptxas
# RUN: %python %s
"""ptxas assembles the matmuls of every chip without spills; their PTX stays
below 5,000 lines a kernel and their shared memory within the chip's.

    matmul-resources.py [COUNT] [--seed SEED] [--all]

checks the cases below and COUNT of all others, or all of them (hours)."""
import argparse
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from matmul_module import EPILOGUES, RESULTS, module

SHARED = {"sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10,
          "sm_90": 227 << 10, "sm_90a": 227 << 10, "sm_120a": 101376,
          "sm_120f": 101376, "sm_121a": 101376}
KINDS = ("nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp6_e3m2", "nvint4", "mxint8",
         "nf4", "uint4", "bf16", "f16", "f32")
# The chips that differ in more than the version of PTX.
CHIPS = ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_120a")
AFTER = [("", ""), *((e, "") for e in EPILOGUES),
         *(("", q) for q in RESULTS), ("gelu", "mxfp8_e4m3")]
# Rows, columns and K: many tiles, few, one row, and a size that nothing
# divides.
SIZES = ((4096, 1024, 4096), ("?", 4096, 4096), (512, 1024, 4096),
         (16, 4096, 4096), (1000, 1056, 1088))
MOST_LINES = 5000
failures = 0


def run(command):
    return subprocess.run(command, check=True, text=True,
                          capture_output=True).stdout


def shared_bytes(source, chip):
    kernels = run(["blockscale-opt", source,
                   f"-blockscale-lower-to-nvidia=chip={chip}"])
    return max(int(x) for x in re.findall(r"shared = (\d+) : i32", kernels))


def assemble(chip, lhs, rhs, size=("?", 4096, 4096), epilogue="", quantized="",
             tile="", looks_at_shared=True):
    global failures
    with tempfile.TemporaryDirectory() as folder:
        source, ptx = Path(folder) / "a.mlir", Path(folder) / "a.ptx"
        source.write_text(module(lhs, rhs, *size, epilogue, quantized, tile))
        run(["blockscale-compile", source, f"--target={chip}", "--emit=ptx",
             "-o", ptx])
        text = ptx.read_text()
        shared = shared_bytes(source, chip) if looks_at_shared else 0
        done = subprocess.run(
            [os.environ.get("PTXAS", "ptxas"), "-v", f"-arch={chip}", ptx, "-o",
             Path(folder) / "a.cubin"], text=True, capture_output=True)
    lines = [len(x.splitlines()) for x in text.split(".visible .entry")[1:]]
    report = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads",
                        report)
    registers = re.findall(r"Used (\d+) registers", report)
    good = (done.returncode == 0 and spills and
            max(lines) < MOST_LINES and
            all(x == ("0", "0") for x in spills) and shared <= SHARED[chip])
    failures += not good
    print("ok    " if good else "FAILED", chip, lhs, rhs,
          "x".join(map(str, size)), epilogue, quantized, tile,
          f"lines {lines}, registers {registers}, {shared} bytes of shared "
          "memory", "" if good else report, flush=True)


def named():
    for chip in ("sm_120a", "sm_120f", "sm_121a"):
        large = "128, 128, 128, 4"
        assemble(chip, "nvfp4", "nvfp4", epilogue="gelu", tile=large)
        assemble(chip, "mxfp4", "mxfp4", tile=large)
        assemble(chip, "mxfp8_e4m3", "mxfp4", tile="128, 128, 128, 3")
        assemble(chip, "mxfp6_e3m2", "mxfp8_e4m3")
        assemble(chip, "nvfp4", "nvfp4", epilogue="gelu",
                 quantized="mxfp8_e4m3", tile=large)
        assemble(chip, "nvfp4", "nvfp4", quantized="nvfp4", tile=large)
    assemble("sm_90a", "mxfp4", "mxfp4", epilogue="gelu")
    assemble("sm_90a", "mxfp6_e3m2", "mxfp6_e3m2")
    # Blocks of a cluster share K.
    assemble("sm_90a", "bf16", "nvfp4", ("?", 1024, 4096), "gelu")
    # Scales come for one step of K at a time.
    assemble("sm_90a", "nvfp4", "nvfp4", (1000, 1056, 1088), "silu")
    for chip in SHARED:
        assemble(chip, "nf4", "uint4", epilogue="gelu", tile="128, 128, 64, 2")
        assemble(chip, "bf16", "nvint4")
        assemble(chip, "nvfp4", "mxfp4", epilogue="gelu",
                 quantized="mxfp8_e4m3", tile="128, 128, 64, 2")
    # Little is left beside the sums, or much to be dequantized.
    static = (4096, 1024, 4096)
    assemble("sm_120a", "bf16", "nvint4", static, "gelu")
    assemble("sm_120a", "f32", "f32", static)
    assemble("sm_120a", "nf4", "nf4", static, quantized="mxfp8_e4m3")
    assemble("sm_80", "nvint4", "f32", static, "gelu")
    assemble("sm_80", "mxfp8_e4m3", "f32", static, "silu")
    assemble("sm_90", "uint4", "nvint4", static, "gelu")
    assemble("sm_90", "f32", "bf16", static, "gelu")


def sampled(count, seed):
    cases = list(itertools.product(CHIPS, KINDS, KINDS, SIZES, AFTER))
    random.Random(seed).shuffle(cases)
    for chip, lhs, rhs, size, (epilogue, quantized) in cases[:count]:
        assemble(chip, lhs, rhs, size, epilogue, quantized,
                 looks_at_shared=False)


parser = argparse.ArgumentParser()
parser.add_argument("count", type=int, nargs="?", default=40)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--all", action="store_true")
options = parser.parse_args()
named()
sampled(None if options.all else options.count, options.seed)
sys.exit(failures > 0)
