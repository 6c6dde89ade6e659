#!/usr/bin/python3
"""Reproduces published error figures of block formats on Gaussian data.

  examples/tables.py [--seed S]

Quantizes and dequantizes on the CPU with compiled code and compares the
signal-to-noise ratios with the published ones. Fails if one differs by more
than 0.05 dB. What is measured, exactly: docs/Numbers.md.
"""
import argparse
import sys

import numpy as np

from compiled import compile_mlir, qsnr, run
from formats import PRESETS, dequantize, fp4, quantize

TOLERANCE_DB = 0.05
PRESET = {fmt.text: fmt for fmt in PRESETS}
# The median of the largest magnitude among 2^21 values 2^(2 z) z', z and z'
# standard normal: that of our tensor, but for the luck of the draw.
SPREAD_AMAX = 1232.1


def round_trip(fmt, x, amax=None):
    """x in the format, as f32 again."""
    rows, columns = "?", x.shape[1]
    lines, names, types = quantize(fmt, "x", "%x", rows, columns,
                                   "%amax" if amax else "")
    real = f"tensor<?x{columns}xf32>"
    arguments = f"%x: {real}" + (", %amax: tensor<f32>" if amax else "")
    text = f"""func.func @round_trip({arguments}) -> {real} {{
{lines}{dequantize(fmt, '%y', names, types, rows, columns)}\
  return %y : {real}
}}
"""
    name = "".join(c if c.isalnum() else "-" for c in fmt.text)
    library = compile_mlir(text, name + ("-held" if amax else ""))
    inputs = [x] + ([np.array(amax, np.float32)] if amax else [])
    (y,) = run(library, inputs)
    return y


def octave(random, rows=2048, columns=2048):
    """Gaussian rows with standard deviations 2^0 to 2^1: with scales that are
    powers of two, the error depends on where in an octave the data lie."""
    x = random.standard_normal((rows, columns), np.float32)
    sigma = 2.0 ** (np.arange(rows) / rows)
    return (x * sigma[:, None]).astype(np.float32)


def spread(random, blocks=1 << 17, block=16):
    """Gaussian blocks whose amplitudes 2^(2 z) span many octaves."""
    x = random.standard_normal((blocks, block), np.float32)
    amplitudes = 2.0 ** (2 * random.standard_normal((blocks, 1)))
    return (x * amplitudes).astype(np.float32)


def mean_block_qsnr(x, y):
    """The error of each block relative to its own signal, averaged: each
    block counts alike, not by its amplitude."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    noise = np.sum((x - y) ** 2, 1) / np.sum(x ** 2, 1)
    return -10 * np.log10(noise.mean())


class Report:
    def __init__(self):
        self.off = 0

    def title(self, text):
        print(f"\n{text}\n{'':22}{'QSNR dB':>9}{'expected':>10}{'off by':>8}")

    def row(self, name, value, expected=None):
        line = f"  {name:20}{value:9.2f}"
        if expected is not None:
            wrong = not abs(value - expected) <= TOLERANCE_DB
            self.off += wrong
            line += f"{expected:10.2f}{value - expected:+8.3f}"
            line += "  <-- off" if wrong else ""
        print(line, flush=True)

    def claim(self, text, holds):
        self.off += not holds
        print(f"  {text}: {'yes' if holds else 'NO  <-- off'}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    random = np.random.default_rng(parser.parse_args().seed)
    report = Report()

    x = octave(random)
    report.title("Formats on Gaussian data")
    for name, expected in (("nvfp4", 20.43), ("mxfp4", 18.66),
                           ("nvint4", 21.28), ("mxint4", 16.69),
                           ("mxfp8_e4m3", 31.54), ("mxint8", 41.88)):
        report.row(name, qsnr(x, round_trip(PRESET[name], x)), expected)

    report.title("e2m1 with ue4m3 scales, by block size")
    for block, expected in ((8, 21.36), (16, 20.43), (32, 19.86), (64, 19.50),
                            (128, 19.25)):
        report.row(f"block {block}",
                   qsnr(x, round_trip(fp4("ue4m3", block), x)), expected)

    scales = ["ue1m6", "ue2m5", "ue3m4", "ue4m3", "ue5m2", "ue6m1", "e8m0"]
    report.title("e2m1 in blocks of 16, by scale type; amplitudes spread")
    y = spread(random)
    values = {}
    for scale in scales:
        values[scale] = mean_block_qsnr(
            y, round_trip(fp4(scale), y, SPREAD_AMAX))
        report.row(scale, values[scale],
                   {"ue4m3": 20.43, "ue1m6": 1.3}.get(scale))
    report.claim("ue4m3 is best", max(values, key=values.get) == "ue4m3")
    report.claim("ue1m6 is worst", min(values, key=values.get) == "ue1m6")

    report.title("the same on plain Gaussian data")
    g = random.standard_normal((2048, 1024), np.float32)
    values = {}
    for scale in scales:
        values[scale] = qsnr(g, round_trip(fp4(scale), g))
        report.row(scale, values[scale])
    report.claim("ue1m6 is best", max(values, key=values.get) == "ue1m6")

    print(f"\n{report.off} of the figures are off by more than "
          f"{TOLERANCE_DB} dB")
    return 1 if report.off else 0


if __name__ == "__main__":
    sys.exit(main())
