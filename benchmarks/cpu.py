#!/usr/bin/python3
"""How fast compiled CPU code is.

  benchmarks/cpu.py [--quick] [matmul] [quantize] [formats] [compile]

matmul    scaled_matmul against OpenBLAS's sgemm of the same shape, in the same
          run and on the same cores
quantize  bf16 to nvfp4 and its parts, in elements per second and core
formats   every format there and back, on one core
compile   blockscale-compile on examples/linear.mlir

Every result is compared with float64 before it is timed; a wrong one ends the
program. Needs NumPy, OpenBLAS and a build. docs/Performance.md has the figures
of one machine, and what they mean.
"""
import argparse
import os
import sys

import numpy as np

from kernels import FORMATS, Kernel, matmul
from measure import (ROOT, Call, OpenBLAS, best_seconds, blockscale,
                     compile_mlir)

TARGET_RATIO = 5.0
TARGET_RATE = 100e6


def machine():
    model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    flags = open("/proc/cpuinfo").read()
    vectors = "AVX-512" if "avx512f" in flags else \
        "AVX2" if "avx2" in flags else "no AVX2"
    return f"{model[0]}, {len(model)} processors, {vectors}"


def decibels(x, values):
    """Signal to quantization noise, in float64."""
    x, values = x.astype(np.float64), values.astype(np.float64)
    return 10 * np.log10((x * x).sum() / ((x - values) ** 2).sum())


def expect(condition, what):
    if not condition:
        sys.exit(f"wrong result: {what}")


def wide(array):
    """What a real result holds, as float32."""
    return blockscale.from_bf16(array) if array.dtype == np.uint16 else array


def quantized(format, x, rows, k):
    """The parts of a quantized matrix and its values."""
    kernel = Kernel(format, k, "f32")
    library, _ = compile_mlir(kernel.quantizing("quantize")
                              + kernel.dequantizing("dequantize"))
    parts = library.quantize(x)
    return parts, library.dequantize(*parts)


def measure_matmul(blas, shape, left, right, threads, budget):
    """Milliseconds of ours and of sgemm."""
    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    sides, values = [], []
    for format, rows in ((left, m), (right, n)):
        x = random.standard_normal((rows, k), np.float32)
        if format in FORMATS:
            parts, back = quantized(format, x, rows, k)
            sides.append(parts)
        else:
            back = x if format == "f32" else blockscale.from_bf16(
                blockscale.to_bf16(x))
            sides.append((x if format == "f32" else blockscale.to_bf16(x),))
        values.append(back)
    kernels = [Kernel(f, k, "f32") if f in FORMATS else f
               for f in (left, right)]
    library, _ = compile_mlir(matmul("product", *kernels), threads)
    inputs = [part for side in sides for part in side]
    call = Call(library, "product", *inputs)
    actual = library.product(*inputs)
    exact = values[0].astype(np.float64) @ values[1].astype(np.float64).T
    scale = np.abs(values[0]).astype(np.float64) @ np.abs(
        values[1]).astype(np.float64).T
    expect((np.abs(actual - exact) <= 1e-6 * scale).all(),
           f"{left} x {right} {shape}")

    a, b = (np.ascontiguousarray(v) for v in values)
    c = np.empty((m, n), np.float32)
    blas.set_threads(threads)
    peer = blas.sgemm(a, b, c)
    peer()
    expect((np.abs(c - exact) <= 1e-4 * scale).all(), "sgemm")
    return best_seconds(call, peer, budget=budget)


def report_matmul(blas, processors, budget):
    print(f"\nscaled_matmul against sgemm of {blas.version()}, kernel "
          f"{blas.core()}; the target is a ratio of {TARGET_RATIO:g} at most")
    print(f"{'formats':24} {'M x N x K':>18} {'threads':>7} {'ours ms':>9} "
          f"{'sgemm ms':>9} {'ratio':>6}")
    cube = [(n, n, n) for n in (512, 1024, 2048)]
    thin = [(1, 4096, 4096), (16, 4096, 4096)]
    rows = [("nvfp4", "nvfp4", shape, processors) for shape in cube + thin]
    rows.insert(2, ("nvfp4", "nvfp4", (1024, 1024, 1024), 1))
    rows += [(f, f, (1024, 1024, 1024), processors)
             for f in ("mxfp4", "mxfp8_e4m3", "mxint8", "nvint4")]
    rows += [("bf16", "nvfp4", (1024, 1024, 1024), processors),
             ("bf16", "nvfp4", (1, 4096, 4096), processors)]
    met = True
    for left, right, shape, threads in rows:
        ours, peer = measure_matmul(blas, shape, left, right, threads, budget)
        ratio = ours / peer
        print(f"{left + ' x ' + right:24} {'x'.join(map(str, shape)):>18} "
              f"{threads:7} {ours * 1e3:9.3f} {peer * 1e3:9.3f} {ratio:6.2f}",
              flush=True)
        if left == "nvfp4" and shape == (1024, 1024, 1024):
            met &= ratio <= TARGET_RATIO
    return met


ROWS, COLUMNS = 2048, 4096


def report_quantize(processors, budget):
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS), np.float32)
    bits = blockscale.to_bf16(x)
    x = blockscale.from_bf16(bits)
    seed = np.int64(7)
    kernel = Kernel("nvfp4", COLUMNS)
    six = Kernel("nvfp4", COLUMNS, rule="four_over_six")
    text = (kernel.quantizing("whole") + kernel.scaling("scale")
            + kernel.encoding("encode") + kernel.dequantizing("dequantize")
            + kernel.quantizing("rotated", rotated=16)
            + kernel.quantizing("stochastic", stochastic=True)
            + six.quantizing("four_over_six")
            + f"func.func @amax(%x: {kernel.x}) -> tensor<f32> {{\n"
              f"  %a = blockscale.amax %x : {kernel.x} -> tensor<f32>\n"
              "  return %a : tensor<f32>\n}\n"
            + f"func.func @rotate(%x: {kernel.x}) -> {kernel.x} {{\n"
              f"  %y = blockscale.rotate %x {{size = 16}} : {kernel.x}\n"
              f"  return %y : {kernel.x}\n}}\n")
    print(f"\nbf16 to nvfp4, {ROWS} x {COLUMNS} elements; the target is "
          f"{TARGET_RATE / 1e6:g} million elements a second and core")
    print(f"{'what':44} {'threads':>7} {'M/s':>8} {'M/s/core':>9} {'dB':>7}")
    met = True
    for threads in dict.fromkeys((1, processors)):
        library, _ = compile_mlir(text, threads)
        scales = library.scale(bits)
        whole = library.whole(bits)
        rows = {
            "amax, scales and elements": ("whole", bits),
            "  amax": ("amax", bits),
            "  amax and scales": ("scale", bits),
            "  elements, given encode factors": ("encode", bits, scales[2]),
            "stochastic": ("stochastic", bits, seed),
            "rotated by 16 first": ("rotated", bits),
            "  the rotation": ("rotate", bits),
            "four over six": ("four_over_six", bits),
            "and back to bf16": ("dequantize", *whole),
        }
        for what, (entry, *inputs) in rows.items():
            noise = ""
            if entry in ("whole", "stochastic", "four_over_six"):
                values = wide(library.dequantize(*library.call(entry,
                                                               *inputs)))
                quality = decibels(x, values)
                expect(quality > 17, f"{what}: {quality} dB")
                noise = f"{quality:7.2f}"
            elif entry == "rotated":
                rotated = wide(library.rotate(bits))
                values = wide(library.dequantize(*library.rotated(bits)))
                quality = decibels(rotated, values)
                expect(quality > 19, f"{what}: {quality} dB")
                noise = f"{quality:7.2f}"
            elif entry == "amax":
                expect(library.amax(bits) == np.abs(x).max(), what)
            elif entry == "encode":
                expect((library.encode(*inputs) == whole[0]).all(), what)
            seconds, = best_seconds(Call(library, entry, *inputs),
                                    budget=budget)
            rate = x.size / seconds
            print(f"{what:44} {threads:7} {rate / 1e6:8.0f} "
                  f"{rate / threads / 1e6:9.0f} {noise}", flush=True)
            if entry == "whole" and threads == 1:
                met &= rate >= TARGET_RATE
    return met


def report_formats(budget):
    x = np.random.default_rng(2).standard_normal((ROWS, COLUMNS), np.float32)
    bits = blockscale.to_bf16(x)
    x = blockscale.from_bf16(bits)
    print(f"\nevery format from bf16 and back, {ROWS} x {COLUMNS} elements, "
          "one core, million elements a second")
    print(f"{'format':12} {'scale':>7} {'elements':>8} {'both':>7} "
          f"{'stochastic':>10} {'back':>7} {'dB':>7}")
    for format in FORMATS:
        kernel = Kernel(format, COLUMNS)
        library, _ = compile_mlir(
            kernel.quantizing("both") + kernel.scaling("scale")
            + kernel.encoding("encode") + kernel.dequantizing("back")
            + kernel.quantizing("stochastic", stochastic=True), 1)
        parts = library.both(bits)
        quality = decibels(x, wide(library.back(*parts)))
        expect(quality > 14, f"{format}: {quality} dB")
        scales = library.scale(bits)
        scales = scales if isinstance(scales, tuple) else (scales,)
        given = scales[-1:] if kernel.encode else scales
        rates = []
        for entry, *inputs in (("scale", bits), ("encode", bits, *given),
                               ("both", bits),
                               ("stochastic", bits, np.int64(1)),
                               ("back", *parts)):
            seconds, = best_seconds(Call(library, entry, *inputs),
                                    budget=budget)
            rates.append(x.size / seconds / 1e6)
        print(f"{format:12} {rates[0]:7.0f} {rates[1]:8.0f} {rates[2]:7.0f} "
              f"{rates[3]:10.0f} {rates[4]:7.0f} {quality:7.2f}", flush=True)
    return True


def report_compile():
    text = (ROOT / "examples" / "linear.mlir").read_text()
    seconds = min(compile_mlir(text)[1] for _ in range(5))
    print(f"\nblockscale-compile examples/linear.mlir: {seconds:.2f} s")
    return True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="what",
                        help="matmul, quantize, formats, compile; default all")
    parser.add_argument("--quick", action="store_true",
                        help="a short look at each, less exact")
    options = parser.parse_args()
    names = ["matmul", "quantize", "formats", "compile"]
    for name in options.what:
        if name not in names:
            parser.error(f"expects {', '.join(names)}, but got '{name}'")
    chosen = options.what or names
    budget = 0.2 if options.quick else 1.5
    blas = OpenBLAS()
    processors = len(os.sched_getaffinity(0))
    print(machine())
    met = True
    if "matmul" in chosen:
        met &= report_matmul(blas, processors, budget)
    if "quantize" in chosen:
        met &= report_quantize(processors, budget)
    if "formats" in chosen:
        met &= report_formats(budget)
    if "compile" in chosen:
        met &= report_compile()
    print("\nboth targets are met" if met else "\na target is missed")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
