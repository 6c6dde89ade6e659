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

In the second panel every step sees the same batch, a corpus of few contexts
that are followed by many letters each. Batches then bring no noise, only
stochastic rounding does. The rate stays constant for `steps` more steps, save
where it is said to go down: that would take away the noise, too.

In the third panel one of the 128 features that a block reads is 500 times as
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
from words import CONTEXT, LETTERS, Text  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
os.environ.setdefault("BLOCKSCALE_RUNTIME_LIBRARY",
                      str(BUILD / "lib" / "libblockscale_runtime.so"))
import blockscale  # noqa: E402

BATCH, EMBEDDING, HIDDEN, BLOCKS = 256, 16, 512, 2
WIDTH = CONTEXT * EMBEDDING
RATE, WARMUP = 3e-3, 50
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


class Second(typing.NamedTuple):
    recipe: str
    falling: bool  # The rate goes down to 0.


class Run(typing.NamedTuple):
    recipe: str
    second: dict = {}  # Other second phases than one with this recipe, by label.


# What comes before the colon of a label is the setting.
PLAIN, ONE_BATCH, OUTLIERS = "", "one batch: ", "outlier: "
RUNS = {
    "bf16": Run("bf16"),
    "te_nvfp4": Run("te_nvfp4"),
    "fp4_all_the_way": Run("fp4_all_the_way", {"fp4_all_the_way, then QAF": Second(QAF, True)}),
    "QAF's recipe all along": Run(QAF),
    "nvfp4, gradients nearest": Run(six(NVFP4, "nearest_even")),
    "nvfp4, scales E1M6": Run(six(E1M6, "stochastic")),
    "one batch: bf16": Run("bf16", {"one batch: bf16, rate to 0": Second("bf16", True)}),
    "one batch: fp4_all_the_way": Run("fp4_all_the_way", {
        "one batch: then QAF": Second(QAF, False),
        "one batch: rate to 0": Second("fp4_all_the_way", True),
        "one batch: then QAF, rate to 0": Second(QAF, True)}),
    "one batch: QAF's recipe": Run(QAF),
    "one batch: gradients nearest": Run(six(NVFP4, "nearest_even")),
    "outlier: bf16": Run("bf16"),
    "outlier: fp4_all_the_way": Run("fp4_all_the_way"),
    "outlier: scales E1M6": Run(six(E1M6, "stochastic")),
}
TITLES = {PLAIN: "Eight letters to the next", ONE_BATCH: "The same batch at each step",
          OUTLIERS: "One feature times 500"}


def setting(label):
    return "".join(label.rpartition(": ")[:2])


def phases(label):
    """The second phases of a run, by label."""
    run = RUNS[label]
    return {label: Second(run.recipe, setting(label) != ONE_BATCH), **run.second}


def lengths(label, steps):
    """Steps of the two phases."""
    return (steps // 2, steps // 2) if setting(label) == ONE_BATCH else (steps, steps // 5)


def baseline(label):
    return f"{setting(label)}bf16{', rate to 0' if label.endswith('rate to 0') else ''}"


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


RECIPES = list(dict.fromkeys(phase.recipe for label in RUNS for phase in phases(label).values()))


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
        return logits


def divergence(logits, truth):
    """Nats from the text's distribution."""
    ratio = np.log(truth + 1e-30) - np.log(softmax(np.float64(logits)) + 1e-30)
    return np.mean(np.sum(truth * ratio, 1))


def tested(model, library, test):
    letters, _, truth = test
    batches = [slice(i, i + BATCH) for i in range(0, len(letters), BATCH)]
    return np.mean([divergence(model.forward(library, letters[some], np.int64(-1 - i))[0],
                               truth[some]) for i, some in enumerate(batches)])


def train(job):
    """The curves of a run, one for each second phase: (step, nats) each, with one
    batch the mean of the steps since the last point. The entropy of the letters
    seen. Seconds of processor time."""
    label, seed, steps, libraries = job
    start, text, outliers = time.process_time(), Text(seed), setting(label) == OUTLIERS
    model, (steps, more) = Model(seed, outliers), lengths(label, steps)
    random = np.random.default_rng([3, seed])
    data = (text.corpus(random, BATCH) if setting(label) == ONE_BATCH else
            text.contexts(random, (steps + more) * BATCH))
    size, truth = len(data[0]), data[2]
    test = text.contexts(np.random.default_rng([4, seed]), 8 * BATCH)

    def phase(model, recipe, first, last, rate_at, curve):
        library, recent = blockscale.load(libraries[recipe]), []
        for number in range(first, last):
            at = number * BATCH % size
            letters, chosen, exact = (part[at:at + BATCH] for part in data)
            logits = model.step(library, letters, chosen, np.int64(number),
                                RATE * rate_at(number), number + 1)
            recent.append(divergence(logits, exact))
            if (number + 1) % max(1, steps // 16) == 0 or number + 1 == last:
                curve.append((number + 1, np.mean(recent) if size == BATCH else
                              tested(model, library, test)))
                recent = []
    first, curves = [], {}
    phase(model, RUNS[label].recipe, 0, steps, lambda n: min(1, (n + 1) / WARMUP), first)
    for name, second in phases(label).items():
        copy = Model(seed, outliers)
        copy.weights = dict(model.weights)
        copy.moments = {k: (m.copy(), v.copy()) for k, (m, v) in model.moments.items()}
        curves[name] = list(first)
        phase(copy, second.recipe, steps, steps + more,
              lambda n: (1 + np.cos(np.pi * (n - steps) / more)) / 2 if second.falling else 1,
              curves[name])
    entropy = -np.mean(np.sum(truth * np.log(truth), 1))
    return label, seed, curves, entropy, time.process_time() - start


def draw(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "blockscale"
    figure, panels = pyplot.subplots(1, 3, figsize=(15, 5), width_ratios=(3, 3, 2))
    panels = dict(zip(TITLES, panels))
    colors = {}
    for label, seeds in curves.items():
        steps = [step for step, _ in seeds[0]]
        values = np.array([[nats for _, nats in seed] for seed in seeds])
        axes, run = panels[setting(label)], next(run for run in RUNS if label in phases(run))
        digits = 5 if setting(label) == ONE_BATCH else 4
        style = ("-", "--", ":", "-.")[list(phases(run)).index(label)]
        line, = axes.plot(steps, values.mean(0), linewidth=1.3, linestyle=style,
                          color=colors.get(run),
                          label=f"{label}: {values[:, -1].mean():.{digits}f} ({spread(values):.{digits}f})")
        colors[run] = line.get_color()
        axes.fill_between(steps, values.min(0), values.max(0), alpha=0.15, color=line.get_color())
    for name, axes in panels.items():
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_title(TITLES[name], fontsize=10)
        axes.grid(True, which="both", alpha=0.25)
        axes.legend(fontsize=7, title=f"mean (deviation) of {len(seeds)} seeds; range shaded", title_fontsize=7)
    panels[ONE_BATCH].set_ylim(bottom=1e-8)  # Below is bf16 alone, and the legend.
    panels[PLAIN].set_ylabel("divergence from the text's distribution, nats")
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
    chosen = list(dict.fromkeys((*(f"{setting(label)}bf16" for label in chosen), *chosen)))
    libraries = {phase.recipe: products(phase.recipe)
                 for label in chosen for phase in phases(label).values()}
    jobs = [(label, seed, options.steps, libraries)
            for seed in range(options.seeds) for label in chosen]
    curves, entropies, start, processor = {}, {}, time.time(), 0
    with multiprocessing.Pool() as pool:
        for label, seed, some, entropy, seconds in pool.imap(train, jobs):
            processor += seconds
            entropies.setdefault(setting(label), {})[seed] = entropy
            for name, curve in some.items():
                curves.setdefault(name, []).append(curve)
                print(f"{name:30} seed {seed}: {curve[-1][1]:.5f} nats", flush=True)
    print(f"\nin {time.time() - start:.0f} s, {processor:.0f} s of processor time\n"
          f"{'':30} phase 1  phase 2  loss     against bf16 of the same seeds (deviation)")

    def nats(name, point):
        return np.array([curve[point][1] for curve in curves[name]])
    for name in curves:
        middle = [step for step, _ in curves[name][0]].index(lengths(name, options.steps)[0])
        entropy = np.mean(list(entropies[setting(name)].values()))
        last, base = nats(name, -1), nats(baseline(name), -1)
        print(f"{name:30} {nats(name, middle).mean():.5f}  {last.mean():.5f}  {entropy + last.mean():.4f}   "
              f"{(last - base).mean():+.5f} ({(last - base).std(ddof=1) if len(last) > 1 else 0:.5f})  "
              f"{100 * (last - base).mean() / (entropy + base.mean()):+.2f} %")
    if options.plot:
        draw(curves, options.plot)


if __name__ == "__main__":
    main()
