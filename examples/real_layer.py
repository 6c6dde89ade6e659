#!/usr/bin/python3
"""A linear layer of a real model in every format, plain and rotated.

  examples/real_layer.py [--layer NAME] [--rotation N]

Takes the weights W of one layer of all-MiniLM-L6-v2 and the activations X that
enter it when the model reads a paragraph, quantizes both, multiplies, and
prints the ratio of signal to quantization error of W, X and X W^T for each
format. `rotated` does the same in a rotated basis: a Hadamard rotation of both
sides, in blocks of N along the contraction, leaves the product as it is and
spreads outliers. Everything between f32 and f32 is compiled code.
"""
import argparse
import sys

import numpy as np

from compiled import compile_mlir, qsnr, run
from formats import PRESETS, dequantize, quantize, rotate
from minilm import MiniLM

TEXT = """
The quick brown fox jumps over the lazy dog, and the dog does not mind at all.
Numbers in a neural network need few bits, but not all of them need the same.
A block of sixteen values shares one scale, so that one outlier costs fifteen.
Paris is the capital of France; its river, the Seine, flows to the Channel.
In 1969, two people walked on the Moon while a third waited in orbit.
She opened the window to let the cold morning air into the kitchen.
Water boils at 100 degrees Celsius at sea level, and at less on a mountain.
The committee postponed its decision until the budget had been reviewed.
How long does it take to train for a marathon if I already run every week?
Stock prices fell sharply on Monday after the central bank raised its rates.
He plays the cello better than anyone I know, except perhaps his sister.
Remove the cake from the oven when a knife inserted in the middle comes out dry.
The theorem follows by induction on the number of vertices of the graph.
My flight was cancelled, so we drove all night through the desert instead.
Bees find their way home by the position of the sun and the light of the sky.
Please reset my password; the link in the message you sent me has expired.
""".strip().split("\n")


def module(fmt, n, k, rotation, signs):
    """x and w to x, w and x w^T as the format leaves them."""
    lines, sides = "", {}
    options = f"size = {rotation}, signs = array<i8: {signs}>"
    for side, rows in (("x", "?"), ("w", n)):
        source = f"%{side}"
        if rotation:
            lines += rotate(f"%{side}r", source, rows, k, options)
            source += "r"
        more, names, types = quantize(fmt, side, source, rows, k)
        lines += more
        plain = f"%{side}d"
        lines += dequantize(fmt, plain, names, types, rows, k)
        if rotation:
            lines += rotate(f"%{side}b", plain, rows, k, options + ", inverse")
        sides[side] = f"{', '.join(names)} : {', '.join(types)}"
    back = "b" if rotation else "d"
    x, w, y = f"tensor<?x{k}xf32>", f"tensor<{n}x{k}xf32>", f"tensor<?x{n}xf32>"
    return f"""\
#fmt = #blockscale.format<{fmt.text}>
func.func @layer(%x: {x}, %w: {w}) -> ({x}, {w}, {y}) {{
{lines}  %y = blockscale.scaled_matmul
      lhs({sides['x']} as #fmt)
      rhs({sides['w']} as #fmt) : {y}
  return %x{back}, %w{back}, %y : {x}, {w}, {y}
}}
"""


def measure(fmt, x, w, exact, rotation, signs):
    text = module(fmt, *w.shape, rotation, signs)
    name = f"layer-{fmt.text}" + (f"-rotated{rotation}" if rotation else "")
    xd, wd, y = run(compile_mlir(text, name), [x, w], outputs=3)
    return qsnr(w, wd), qsnr(x, xd), qsnr(exact, y)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--layer", default="encoder.layer.3.intermediate.dense")
    parser.add_argument("--rotation", type=int, default=128)
    options = parser.parse_args()

    model = MiniLM()
    model.check()
    inputs = {}
    for sentence in TEXT:
        model.forward(model.tokens(sentence), inputs)
    if options.layer not in inputs:
        parser.error(f"expects a layer of {', '.join(inputs)}, "
                     f"but got '{options.layer}'")
    x = np.ascontiguousarray(np.concatenate(inputs[options.layer]), np.float32)
    w = np.ascontiguousarray(model.weights[options.layer + ".weight"])
    if options.rotation < 2 or x.shape[1] % options.rotation:
        parser.error(f"expects a rotation that divides {x.shape[1]}, "
                     f"but got {options.rotation}")
    exact = x.astype(np.float64) @ w.T.astype(np.float64)
    signs = np.random.default_rng(7).choice((-1, 1), options.rotation)
    signs = ", ".join(map(str, signs))

    print(f"{options.layer} of all-MiniLM-L6-v2: W {w.shape[0]} x {w.shape[1]},"
          f" X {x.shape[0]} x {x.shape[1]} from {len(TEXT)} sentences")
    print(f"largest |X| is {np.abs(x).max() / x.std():.0f} times its standard "
          f"deviation, largest |W| {np.abs(w).max() / w.std():.0f} times\n")
    print(f"{'QSNR in dB':12}{'':>8}plain{'':>19}rotated by "
          f"{options.rotation}\n{'format':12}"
          + 2 * f"{'W':>8}{'X':>8}{'X W^T':>8}{'':4}")
    for fmt in PRESETS:
        plain = measure(fmt, x, w, exact, 0, signs)
        print(f"{fmt.text:12}" + "".join(f"{v:8.2f}" for v in plain) + "    ",
              end="", flush=True)
        rotated = measure(fmt, x, w, exact, options.rotation, signs)
        print("".join(f"{v:8.2f}" for v in rotated), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
