#!/usr/bin/python3
"""Trains a small network in several number formats, on the CPU.

A network of three layers learns to predict the next token of synthetic text.
Every product (forward, input gradient, weight gradient) is a
`blockscale.linear` with a recipe, compiled for this processor; the rest is
numpy. The text's distribution is known, so that what is plotted is exact: the
divergence from it, in nats, which is what a better model could still gain.

What to see: with stochastically rounded gradients, 4 bits are nearly as good as
16; rounded to nearest, the small gradients that a softmax has are lost and the
network learns next to nothing; scales without range (E1M6) cost more than
those of E4M3; a backward pass in 16 bits at the end (QAF) narrows the gap, a
little more than the same learning rates with 4 bits do (`restarted`).

  examples/training.py                 some three minutes; prints a table
  examples/training.py --plot out.svg  draws the curves (needs matplotlib)
  examples/training.py --steps 200     less of it
"""
import argparse
import os
import sys
import time
from pathlib import Path

# The products are compiled; small numpy operations do not need threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from compiled import BUILD, compile_mlir  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
os.environ.setdefault("BLOCKSCALE_RUNTIME_LIBRARY",
                      str(BUILD / "lib" / "libblockscale_runtime.so"))
import blockscale  # noqa: E402

BATCH, VOCABULARY, CONTEXT, EMBEDDING, WIDTH = 256, 64, 2, 64, 256
INPUT = CONTEXT * EMBEDDING
RATE = 3e-3

NVFP4 = "#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>"
E1M6 = "#blockscale.format<fp4_e1m6> by #blockscale.scale_rule<two_level>"


def six(site, gradient):
    """All sites alike, save for the rounding of what depends on dy."""
    def text(rounding):
        return f"#blockscale.site<{site} round {rounding}>"
    return (f"fprop_x = {text('nearest_even')}, fprop_w = {text('nearest_even')}, "
            f"dgrad_dy = {text(gradient)}, dgrad_w = {text('nearest_even')}, "
            f"wgrad_dy = {text(gradient)}, wgrad_x = {text('nearest_even')}")


# Label: the recipe, and the one of the last fifth of the steps.
RUNS = {
    "bf16": ("bf16", None),
    "te_nvfp4": ("te_nvfp4", None),
    "nvfp4, gradients nearest": (six(NVFP4, "nearest_even"), None),
    "fp4_all_the_way": ("fp4_all_the_way", None),
    "fp4_all_the_way, then QAF": ("fp4_all_the_way",
                                  "fp4_all_the_way, backward = plain"),
    "fp4_all_the_way, restarted": ("fp4_all_the_way", "fp4_all_the_way"),
    "scales E1M6": (six(E1M6, "stochastic"), None),
}


def products(recipe):
    """The three products of each layer, as compiled functions."""
    text = ""
    for i, (name, inputs, outputs) in enumerate((
            ("first", INPUT, WIDTH), ("second", WIDTH, WIDTH),
            ("last", WIDTH, VOCABULARY))):
        x, w = f"tensor<{BATCH}x{inputs}xf32>", f"tensor<{outputs}x{inputs}xf32>"
        y, seed = f"tensor<{BATCH}x{outputs}xf32>", "seed(%s : tensor<i64>)"
        attribute = f"recipe #blockscale.recipe<{recipe}> {{layer = {i}}}"
        text += f"""
func.func @{name}_forward(%x: {x}, %w: {w}, %s: tensor<i64>) -> {y} {{
  %y = blockscale.linear forward(%x, %w : {x}, {w}) {seed} {attribute} -> {y}
  return %y : {y}
}}
func.func @{name}_dgrad(%dy: {y}, %w: {w}, %s: tensor<i64>) -> {x} {{
  %dx = blockscale.linear dgrad(%dy, %w : {y}, {w}) {seed} {attribute} -> {x}
  return %dx : {x}
}}
func.func @{name}_wgrad(%dy: {y}, %x: {x}, %s: tensor<i64>) -> {w} {{
  %dw = blockscale.linear wgrad(%dy, %x : {y}, {x}) {seed} {attribute} -> {w}
  return %dw : {w}
}}"""
    return blockscale.load(str(compile_mlir(text, "training")))


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def relu_squared(x):
    """Value and derivative."""
    positive = np.maximum(x, 0)
    return positive * positive, 2 * positive


class Text:
    """Two tokens, and the distribution of the one that follows."""

    def __init__(self):
        random = np.random.default_rng(1)
        self.embedding = random.standard_normal(
            (VOCABULARY, EMBEDDING)).astype(np.float32)
        # Features of very different size, as activations have them.
        self.embedding *= np.exp2([0, -3, 1.5, 3]).astype(np.float32).repeat(16)
        self.last = random.standard_normal((VOCABULARY, VOCABULARY))
        self.before = random.standard_normal((VOCABULARY, VOCABULARY))

    def batch(self, random):
        tokens = random.integers(0, VOCABULARY, (BATCH, CONTEXT))
        x = self.embedding[tokens].reshape(BATCH, INPUT)
        # What follows half of the tokens is easy to tell, the rest is noise: so
        # gradients differ much in size, too.
        sharpness = np.where(tokens[:, 1] < VOCABULARY // 2, 4, 0.5)[:, None]
        truth = softmax(sharpness / np.sqrt(2) * (
            self.last[tokens[:, 1]] + self.before[tokens[:, 0]]))
        chosen = (truth.cumsum(1) > random.random((BATCH, 1))).argmax(1)
        return x, truth, chosen


class Model:
    def __init__(self):
        random = np.random.default_rng(2)

        def weight(rows, cols):
            return (random.standard_normal((rows, cols)) /
                    np.sqrt(cols)).astype(np.float32)
        self.weights = [weight(WIDTH, INPUT), weight(WIDTH, WIDTH),
                        weight(VOCABULARY, WIDTH) * np.float32(0.1)]
        self.moments = [(np.zeros_like(w), np.zeros_like(w))
                        for w in self.weights]

    def forward(self, library, x, seed):
        w1, w2, w3 = self.weights
        h1, d1 = relu_squared(library.first_forward(x, w1, seed))
        # Keeps the second layer's input at unit size.
        norm = np.float32(1) / np.sqrt(np.mean(h1 * h1, 1, keepdims=True) + 1e-6)
        z2 = library.second_forward(h1 * norm, w2, seed)
        h2, d2 = relu_squared(z2)
        norm2 = np.float32(1) / np.sqrt(np.mean(h2 * h2, 1, keepdims=True) + 1e-6)
        return library.last_forward(h2 * norm2, w3, seed), (
            h1 * norm, d1 * norm, h2 * norm2, d2 * norm2)

    def step(self, library, x, chosen, seed, rate, number):
        logits, (h1, d1, h2, d2) = self.forward(library, x, seed)
        dy = softmax(logits)
        dy[np.arange(BATCH), chosen] -= 1
        dy = (dy / BATCH).astype(np.float32)
        w1, w2, w3 = self.weights
        dz2 = library.last_dgrad(dy, w3, seed) * d2
        dz1 = library.second_dgrad(dz2, w2, seed) * d1
        gradients = [library.first_wgrad(dz1, x, seed),
                     library.second_wgrad(dz2, h1, seed),
                     library.last_wgrad(dy, h2, seed)]
        for i, g in enumerate(gradients):
            m, v = self.moments[i]
            m += 0.1 * (g - m)
            v += 0.01 * (g * g - v)
            self.weights[i] -= (rate * (m / (1 - 0.9 ** number)) / (
                np.sqrt(v / (1 - 0.99 ** number)) + 1e-8)).astype(np.float32)


def divergence(model, library, text, batches=12):
    """Nats from the text's distribution, on contexts that no run trains on."""
    random = np.random.default_rng(99)
    total = 0.0
    for i in range(batches):
        x, truth, _ = text.batch(random)
        logits, _ = model.forward(library, x, np.int64(-1 - i))
        p = softmax(np.float64(logits))
        total += np.mean(np.sum(truth * (np.log(truth) - np.log(p + 1e-30)), 1))
    return total / batches


def train(recipe, last, steps, text):
    library = products(recipe)
    finish = products(last) if last else None
    model, random, curve = Model(), np.random.default_rng(3), []
    for step in range(steps):
        if finish and step >= steps * 4 // 5:
            library, finish = finish, None
        rate = RATE * min(1, (step + 1) / 50) * (1 + np.cos(np.pi * step / steps)) / 2
        if last and step >= steps * 4 // 5:  # A schedule of its own.
            rate = RATE / 2 * (1 + np.cos(np.pi * (5 * step / steps - 4))) / 2
        x, _, chosen = text.batch(random)
        model.step(library, x, chosen, np.int64(step), rate, step + 1)
        if step % max(1, steps // 60) == 0 or step == steps - 1:
            curve.append((step + 1, divergence(model, library, text)))
    return curve


def draw(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "blockscale"
    figure, axes = pyplot.subplots(figsize=(7.5, 4.5))
    for label, curve in curves.items():
        axes.plot(*zip(*curve), label=f"{label}: {curve[-1][1]:.4f}", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("divergence from the text's distribution, nats")
    axes.set_title("One small network, seven runs")
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--plot", help="write the curves to this .svg or .png")
    parser.add_argument("--only", help="run those whose label contains this")
    options = parser.parse_args()
    if options.plot:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            sys.exit("error: --plot needs matplotlib: apt-get install "
                     "python3-matplotlib, or pip install matplotlib")
    text, curves = Text(), {}
    for label, (recipe, last) in RUNS.items():
        if options.only and options.only not in label:
            continue
        start = time.time()
        curves[label] = train(recipe, last, options.steps, text)
        print(f"{label:26} {curves[label][-1][1]:.4f} nats  "
              f"{time.time() - start:.0f} s", flush=True)
    if options.plot:
        draw(curves, options.plot)


if __name__ == "__main__":
    main()
