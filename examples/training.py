#!/usr/bin/python3
"""Trains a small network in several number formats, on the CPU.

Text of random words, the frequent ones more often (Zipf), is spelled letter by
letter; a residual network sees eight letters and predicts the next one, which
is another one at random in three of ten cases: as in a language, most of the
loss can not be learnt away. Every product (forward, input gradient, weight
gradient) of its five linear layers is a `blockscale.linear` with a recipe,
compiled for this processor; the rest is numpy. The distribution of the text is
known, so that what is plotted is exact: the divergence from it, in nats, which
is what a better model could still gain. Each run is done for several seeds,
which change text, weights and batches.

The learning rate is constant for `steps` steps, then goes down to 0 within a
fifth as many. Quantization-aware finetuning (QAF) does the second phase with a
backward pass in 16 bits.

In the second panel one of the 128 features that a block reads is 500 times as
large, as a few channels of large language models are. Its weights, and their
learning rate, are as much smaller: without quantization nothing changes.

  examples/training.py                 some minutes; prints a table
  examples/training.py --plot out.svg  draws the curves (needs matplotlib)
  examples/training.py --steps 200     less of it
"""
import argparse
import multiprocessing
import os
import sys
import time
import typing
from pathlib import Path

# A process for each run: neither products nor numpy need threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("BLOCKSCALE_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from compiled import BUILD, compile_mlir  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
os.environ.setdefault("BLOCKSCALE_RUNTIME_LIBRARY",
                      str(BUILD / "lib" / "libblockscale_runtime.so"))
import blockscale  # noqa: E402

BATCH, LETTERS, CONTEXT, EMBEDDING, HIDDEN, BLOCKS = 256, 32, 8, 16, 512, 2
WIDTH = CONTEXT * EMBEDDING
RATE, WARMUP = 3e-3, 50
SPACE, NOISE = 0, 0.3
OUTLIER = 500

NVFP4 = "#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>"
E1M6 = "#blockscale.format<fp4_e1m6> by #blockscale.scale_rule<two_level>"


def six(site, gradient):
    """All sites alike, save for the rounding of what depends on dy."""
    def text(rounding):
        return f"#blockscale.site<{site} round {rounding}>"
    return (f"fprop_x = {text('nearest_even')}, fprop_w = {text('nearest_even')}, "
            f"dgrad_dy = {text(gradient)}, dgrad_w = {text('nearest_even')}, "
            f"wgrad_dy = {text(gradient)}, wgrad_x = {text(gradient)}")


QAF = "fp4_all_the_way, backward = plain"


class Run(typing.NamedTuple):
    recipe: str
    second: dict = {}  # Other second phases: their labels and recipes.
    outliers: bool = False


RUNS = {
    "bf16": Run("bf16"),
    "te_nvfp4": Run("te_nvfp4"),
    "fp4_all_the_way": Run("fp4_all_the_way", {"fp4_all_the_way, then QAF": QAF}),
    "QAF's recipe all along": Run(QAF),
    "nvfp4, gradients nearest": Run(six(NVFP4, "nearest_even")),
    "nvfp4, scales E1M6": Run(six(E1M6, "stochastic")),
    "outlier: bf16": Run("bf16", outliers=True),
    "outlier: fp4_all_the_way": Run("fp4_all_the_way", outliers=True),
    "outlier: scales E1M6": Run(six(E1M6, "stochastic"), outliers=True),
}
LAYERS = [(f"{name}{block}", *extents) for block in range(BLOCKS)
          for name, extents in (("up", (WIDTH, HIDDEN)), ("down", (HIDDEN, WIDTH)))]
LAYERS.append(("last", WIDTH, LETTERS))


def products(recipe):
    """The three products of each layer, as compiled functions."""
    text = ""
    for i, (name, inputs, outputs) in enumerate(LAYERS):
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
    return str(compile_mlir(text, f"training{RECIPES.index(recipe)}"))


RECIPES = list(dict.fromkeys(recipe for run in RUNS.values()
                             for recipe in (run.recipe, *run.second.values())))


class Text:
    """Words of two to six letters; what follows a letter is known."""

    def __init__(self, seed, words=400):
        random = np.random.default_rng([1, seed])
        lengths = random.integers(2, 7, words)
        self.words = [random.integers(1, LETTERS, n) for n in lengths]
        self.chance = 1 / np.arange(1, words + 1)
        self.chance /= self.chance.sum()
        # The distribution after each beginning of a word.
        self.after = {}
        for word, chance in zip(self.words, self.chance):
            spelled = [*word.tolist(), SPACE]
            for i, letter in enumerate(spelled):
                row = self.after.setdefault(tuple(spelled[:i]), np.zeros(LETTERS))
                row[letter] += chance
        for row in self.after.values():
            row /= row.sum()

    def letters(self, random, count):
        """Running text and the distribution that each letter was drawn from."""
        letters, truth, prefix = [], [], ()
        while len(letters) < count:
            word = self.words[np.searchsorted(self.chance.cumsum(), random.random())]
            for letter in [*word.tolist(), SPACE]:
                truth.append(self.after[prefix])
                letters.append(letter)
                prefix = () if letter == SPACE else (*prefix, letter)
        return np.array(letters[:count]), np.array(truth[:count])

    def contexts(self, random, count):
        """CONTEXT letters each, the next one, and its distribution."""
        letters, truth = self.letters(random, count + CONTEXT)
        windows = np.lib.stride_tricks.sliding_window_view(letters, CONTEXT)[:count]
        order = random.permutation(count)
        chosen = np.where(random.random(count) < NOISE, random.integers(0, LETTERS, count),
                          letters[CONTEXT:][order])
        return windows[order], chosen, self.noisy(truth[CONTEXT:][order])

    @staticmethod
    def noisy(truth):
        return (1 - NOISE) * truth + NOISE / LETTERS


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normalize(x):
    """Rows of unit size, and the factor."""
    factor = 1 / np.sqrt(np.mean(x * x, 1, keepdims=True) + np.float32(1e-6))
    return x * factor, factor


def normalize_back(dy, y, factor):
    return factor * (dy - y * np.mean(dy * y, 1, keepdims=True))


class Model:
    """x += down(relu(up(norm x))^2), twice; last(norm x)."""

    def __init__(self, seed, outliers):
        random = np.random.default_rng([2, seed])
        self.weights = {name: (random.standard_normal((rows, cols)) / np.sqrt(cols)
                               * (0.1 if name == "last" else 1)).astype(np.float32)
                        for name, cols, rows in LAYERS}
        self.weights["embedding"] = random.standard_normal(
            (CONTEXT, LETTERS, EMBEDDING)).astype(np.float32)
        self.gains = np.ones(WIDTH, np.float32)
        if outliers:
            self.gains[random.integers(WIDTH)] = OUTLIER
        for block in range(BLOCKS):
            self.weights[f"up{block}"] /= self.gains
        self.moments = {name: (np.zeros_like(w), np.zeros_like(w))
                        for name, w in self.weights.items()}

    def forward(self, library, letters, seed):
        def product(name, x):
            return library.call(f"{name}_forward", x, self.weights[name], seed)
        x = self.weights["embedding"][np.arange(CONTEXT), letters].reshape(BATCH, WIDTH)
        kept = []
        for block in range(BLOCKS):
            y, factor = normalize(x)
            positive = np.maximum(product(f"up{block}", y * self.gains), 0)
            kept.append((y, factor, positive))
            x = x + product(f"down{block}", positive * positive)
        y, factor = normalize(x)
        kept.append((y, factor, None))
        return product("last", y), kept

    def backward(self, library, logits_gradient, letters, kept, seed):
        gradients = {}

        def through(name, dy, x):
            gradients[name] = library.call(f"{name}_wgrad", dy, x, seed)
            return library.call(f"{name}_dgrad", dy, self.weights[name], seed)
        y, factor, _ = kept[-1]
        dx = normalize_back(through("last", logits_gradient, y), y, factor)
        for block in reversed(range(BLOCKS)):
            y, factor, positive = kept[block]
            inner = through(f"down{block}", dx, positive * positive) * 2 * positive
            dy = through(f"up{block}", inner, y * self.gains) * self.gains
            dx = dx + normalize_back(dy, y, factor)
        embedding = np.zeros_like(self.weights["embedding"])
        np.add.at(embedding, (np.arange(CONTEXT), letters),
                  dx.reshape(BATCH, CONTEXT, EMBEDDING))
        gradients["embedding"] = embedding
        return gradients

    def step(self, library, letters, chosen, seed, rate, number):
        logits, kept = self.forward(library, letters, seed)
        dy = softmax(logits)
        dy[np.arange(BATCH), chosen] -= 1
        gradients = self.backward(library, (dy / BATCH).astype(np.float32), letters, kept, seed)
        for name, g in gradients.items():  # Adam
            m, v = self.moments[name]
            m += 0.1 * (g - m)
            v += 0.05 * (g * g - v)
            change = m / (1 - 0.9 ** number) / (np.sqrt(v / (1 - 0.95 ** number)) + 1e-12)
            if name.startswith("up"):
                change /= self.gains
            self.weights[name] = self.weights[name] - np.float32(rate) * change


def divergence(model, library, test, batches=8):
    """Nats from the text's distribution."""
    letters, _, truth = test
    total = 0.0
    for i in range(batches):
        some = slice(i * BATCH, (i + 1) * BATCH)
        logits, _ = model.forward(library, letters[some], np.int64(-1 - i))
        ratio = np.log(truth[some] + 1e-30) - np.log(softmax(np.float64(logits)) + 1e-30)
        total += np.mean(np.sum(truth[some] * ratio, 1))
    return total / batches


def train(job):
    """The curves of a run, one for each second phase: (step, nats) each."""
    label, seed, steps, libraries = job
    run, start, text = RUNS[label], time.process_time(), Text(seed)
    model, more = Model(seed, run.outliers), steps // 5
    letters, chosen, _ = text.contexts(np.random.default_rng([3, seed]), (steps + more) * BATCH)
    test = text.contexts(np.random.default_rng([4, seed]), 8 * BATCH)

    def phase(model, recipe, first, last, rate_at, curve):
        library = blockscale.load(libraries[recipe])
        for number in range(first, last):
            some = slice(number * BATCH, (number + 1) * BATCH)
            model.step(library, letters[some], chosen[some], np.int64(number),
                       RATE * rate_at(number), number + 1)
            if (number + 1) % max(1, steps // 16) == 0 or number + 1 == last:
                curve.append((number + 1, divergence(model, library, test)))
    first, curves = [], {}
    phase(model, run.recipe, 0, steps, lambda n: min(1, (n + 1) / WARMUP), first)
    for name, recipe in {label: run.recipe, **run.second}.items():
        copy = Model(seed, run.outliers)
        copy.weights = dict(model.weights)
        copy.moments = {k: (m.copy(), v.copy()) for k, (m, v) in model.moments.items()}
        curves[name] = list(first)
        phase(copy, recipe, steps, steps + more,
              lambda n: (1 + np.cos(np.pi * (n - steps) / more)) / 2, curves[name])
    return label, seed, curves, time.process_time() - start


def draw(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "blockscale"
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 5), width_ratios=(3, 2))
    base = {name: label for label, run in RUNS.items() for name in (label, *run.second)}
    colors = {}
    for label, seeds in curves.items():
        steps = [step for step, _ in seeds[0]]
        values = np.array([[nats for _, nats in seed] for seed in seeds])
        axes = panels[int(RUNS[base[label]].outliers)]
        style = "-" if label in RUNS else "--"
        line, = axes.plot(steps, values.mean(0), linewidth=1.3, linestyle=style,
                          color=colors.get(base[label]),
                          label=f"{label}: {values[:, -1].mean():.4f} ({spread(values):.4f})")
        colors[base[label]] = line.get_color()
        axes.fill_between(steps, values.min(0), values.max(0), alpha=0.15, color=line.get_color())
    for axes, title in zip(panels, ("Eight letters to the next", "The same, one feature times 500")):
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_title(title, fontsize=10)
        axes.grid(True, which="both", alpha=0.25)
        axes.legend(fontsize=7, title=f"mean (deviation) of {len(seeds)} seeds; range shaded", title_fontsize=7)
    panels[0].set_ylabel("divergence from the text's distribution, nats")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def spread(values):
    """The deviation of the last points."""
    return values[:, -1].std(ddof=1) if len(values) > 1 else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plot", help="write the curves to this .svg or .png")
    parser.add_argument("--only", help="run those whose label contains this")
    options = parser.parse_args()
    if options.plot:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            sys.exit("error: --plot needs matplotlib: apt-get install "
                     "python3-matplotlib, or pip install matplotlib")
    chosen = [label for label in RUNS if not options.only or options.only in label]
    libraries = {recipe: products(recipe) for recipe in RECIPES}
    jobs = [(label, seed, options.steps, libraries)
            for seed in range(options.seeds) for label in chosen]
    curves, start, processor = {}, time.time(), 0
    with multiprocessing.Pool() as pool:
        for label, seed, some, seconds in pool.imap(train, jobs):
            processor += seconds
            for name, curve in some.items():
                curves.setdefault(name, []).append(curve)
                print(f"{name:28} seed {seed}: {curve[-1][1]:.4f} nats", flush=True)
    truth = Text.noisy(Text(0).letters(np.random.default_rng(4), 20000)[1])
    entropy = -np.mean(np.sum(truth * np.log(truth), 1))
    print(f"\nin {time.time() - start:.0f} s, {processor:.0f} s of processor time; the text's own "
          f"entropy is {entropy:.2f} nats a letter\n"
          f"{'':28} phase 1  phase 2  loss     against bf16 of the same seeds (deviation)")

    def nats(name, point):
        return np.array([curve[point][1] for curve in curves[name]])
    middle = [step for step, _ in next(iter(curves.values()))[0]].index(options.steps)
    for name in curves:
        last, base = nats(name, -1), nats("outlier: bf16" if name.startswith("outlier") else "bf16", -1)
        print(f"{name:28} {nats(name, middle).mean():.4f}   {last.mean():.4f}   {entropy + last.mean():.4f}   "
              f"{(last - base).mean():+.4f} ({(last - base).std(ddof=1) if len(last) > 1 else 0:.4f})  "
              f"{100 * (last - base).mean() / (entropy + base.mean()):+.2f} %")
    if options.plot:
        draw(curves, options.plot)


if __name__ == "__main__":
    main()
