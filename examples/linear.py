#!/usr/bin/python3
"""Compiles examples/linear.mlir, runs it, and compares with the exact answer.

  examples/linear.py [rows]
"""
import sys
import time
from pathlib import Path

import numpy as np

from compiled import compile_mlir, from_bf16, qsnr, run, to_bf16

SOURCE = Path(__file__).resolve().parent / "linear.mlir"
# The error of nvfp4 on Gaussian data is 20.4 dB below the signal for each side
# and 17.4 dB for their product; the bias adds signal but no error. Less is a bug.
EXPECTED_DB = 17.0


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    random = np.random.default_rng(2024)
    # Activations as layers have them: a few channels are much larger.
    x = random.standard_normal((rows, 4096), np.float32)
    x[:, random.choice(4096, 40, replace=False)] *= 8
    w = random.standard_normal((1024, 4096), np.float32) / 64
    bias = random.standard_normal(1024).astype(np.float32)
    x, w = to_bf16(x), to_bf16(w)

    start = time.time()
    library = compile_mlir(SOURCE.read_text(), "linear")
    compiled = time.time()
    (y,) = run(library, [x, w, bias])
    done = time.time()

    x, w = from_bf16(x).astype(np.float64), from_bf16(w).astype(np.float64)
    exact = x @ w.T + bias
    error = np.abs(y - exact)
    result = qsnr(exact, y)
    print(f"""
examples/linear.mlir   y = x w^T + bias, both sides rotated and in nvfp4
  x                    {rows} x 4096 bf16, 1 % of the channels 8 times larger
  w                    1024 x 4096 bf16
  compiled             {compiled - start:.1f} s, {library}
  ran on the CPU       {done - compiled:.1f} s, reading and writing files included

  y[0, :5]             {'  '.join(f'{v:8.4f}' for v in y[0, :5])}
  without quantization {'  '.join(f'{v:8.4f}' for v in exact[0, :5])}

  QSNR                 {result:.2f} dB (signal over quantization error)
  largest error        {error.max():.3f}; the largest |y| is {np.abs(exact).max():.1f}
  memory of x and w    4.5 bits a number instead of 16""")
    if not result >= EXPECTED_DB:
        print(f"error: expects a QSNR of at least {EXPECTED_DB} dB, "
              f"but got {result:.2f} dB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
