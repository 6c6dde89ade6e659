"""Compiles MLIR with blockscale-compile and runs it with blockscale-run.

What the examples share. Arrays go through .npy files, so this needs numpy and
the two tools, nothing else.
"""
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD", ROOT / "build"))
CACHE = BUILD / "examples"


def tool(name):
    path = BUILD / "bin" / name
    if not path.exists():
        sys.exit(f"error: expects {path}, but it is not there; "
                 f"run scripts/build {name}, or set BLOCKSCALE_BUILD to the "
                 "build directory")
    return path


def call(command):
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed:\n"
                 f"{done.stdout}")
    return done.stdout


def compile_mlir(text, name):
    """The shared library of MLIR text; compiled again only if it changed."""
    compiler = tool("blockscale-compile")
    key = hashlib.sha256(
        f"{text}{compiler.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    library = CACHE / f"{name}-{key}.so"
    if not library.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for stale in CACHE.glob(f"{name}-{'?' * 12}.so"):
            stale.unlink()
        source = CACHE / f"{name}.mlir"
        source.write_text(text)
        call([compiler, source, "--target=cpu", "--emit=shared",
              "-o", library])
    return library


def run(library, inputs, outputs=1):
    """The results of the library's only function, as numpy arrays; bf16
    results come as float32."""
    with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
        command = [tool("blockscale-run"), library, "--device=cpu"]
        for i, array in enumerate(inputs):
            path = Path(folder) / f"in{i}.npy"
            np.save(path, array)
            command += ["--input", path]
        paths = [Path(folder) / f"out{i}.npy" for i in range(outputs)]
        for path in paths:
            command += ["--output", path]
        call(command)
        arrays = [np.load(path) for path in paths]
    return [from_bf16(a) if a.dtype == np.dtype("V2") else a for a in arrays]


def to_bf16(values):
    """float32 as bf16 bits, rounded to nearest even (no NaN expected)."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    odd = (bits >> 16) & 1
    return ((bits + 0x7FFF + odd) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def qsnr(exact, approximate):
    """Signal power over error power, in dB."""
    exact = np.asarray(exact, np.float64)
    error = exact - np.asarray(approximate, np.float64)
    noise = np.sum(error * error)
    if noise == 0:
        return float("inf")
    return 10 * np.log10(np.sum(exact * exact) / noise)
