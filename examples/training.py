#!/usr/bin/python3
"""Trains a small network in several number formats, on the CPU.

Text of random words, the frequent ones more often (Zipf), is spelled letter by
letter; a residual network sees eight letters and predicts the next one. Every
product (forward, input gradient, weight gradient) of its five linear layers is a
`blockscale.linear` with a recipe, compiled for this processor; the rest is
numpy. The distribution of the text is known, so that what is plotted is exact:
the divergence from it, in nats, which is what a better model could still gain.
Each run is done for several seeds, which change text, weights and batches.

A run lasts `steps` steps, the learning rate ending at a tenth of its peak. Some
go on for a fifth as many with a schedule of their own that ends at 0:
quantization-aware finetuning (QAF) with a backward pass in 16 bits and, to tell
its effect from that of the schedule, the same with 4 bits, and a network that
was in 16 bits all along.

In the second panel four of the 128 input features are 50 times as large, as a
few channels of large language models are.

  examples/training.py                 some minutes; prints a table
  examples/training.py --plot out.svg  draws the curves (needs matplotlib)
  examples/training.py --steps 200     less of it
  examples/training.py --more 800      runs that go on do so for as long again
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

BATCH, LETTERS, CONTEXT, EMBEDDING, HIDDEN, BLOCKS = 256, 32, 8, 16, 256, 2
WIDTH = CONTEXT * EMBEDDING
RATE, WARMUP = 3e-3, 50
SPACE = 0

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
    continued: dict = {}  # Labels of runs that go on from its end, and their recipes.
    outliers: bool = False


RUNS = {
    "bf16": Run("bf16", {"bf16, continued": "bf16"}),
    "te_nvfp4": Run("te_nvfp4"),
    "fp4_all_the_way": Run("fp4_all_the_way", {
        "fp4_all_the_way, continued": "fp4_all_the_way",
        "fp4_all_the_way, then QAF": QAF}),
    "QAF's recipe all along": Run(QAF, {"QAF's recipe, continued": QAF}),
    "nvfp4, gradients nearest": Run(six(NVFP4, "nearest_even")),
    "nvfp4, scales E1M6": Run(six(E1M6, "stochastic")),
    "outliers: bf16": Run("bf16", outliers=True),
    "outliers: nvfp4": Run("fp4_all_the_way", outliers=True),
    "outliers: scales E1M6": Run(six(E1M6, "stochastic"), outliers=True),
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
                             for recipe in (run.recipe, *run.continued.values())))


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
        return windows[order], letters[CONTEXT:][order], truth[CONTEXT:][order]


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
            self.gains[random.choice(WIDTH, 4, replace=False)] = 50
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
        return product("last", y * self.gains), kept

    def backward(self, library, logits_gradient, letters, kept, seed):
        gradients = {}

        def through(name, dy, x):
            gradients[name] = library.call(f"{name}_wgrad", dy, x, seed)
            return library.call(f"{name}_dgrad", dy, self.weights[name], seed)
        y, factor, _ = kept[-1]
        dx = normalize_back(through("last", logits_gradient, y * self.gains) * self.gains,
                            y, factor)
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
    """The curves of a run and of those that go on from it: (step, nats) each."""
    label, seed, steps, more, libraries = job
    run, start, text = RUNS[label], time.time(), Text(seed)
    model, curves = Model(seed, run.outliers), {label: []}
    letters, chosen, _ = text.contexts(np.random.default_rng([3, seed]), (steps + more) * BATCH)
    test = text.contexts(np.random.default_rng([4, seed]), 8 * BATCH)

    def phase(model, recipe, first, last, end, curve):
        library = blockscale.load(libraries[recipe])
        peak = RATE if first == 0 else RATE / 3
        for number in range(first, last):
            done = (number - first) / (last - first)
            rate = peak * min(1, (number - first + 1) / WARMUP) * (
                end + (1 - end) * (1 + np.cos(np.pi * done)) / 2)
            some = slice(number * BATCH, (number + 1) * BATCH)
            model.step(library, letters[some], chosen[some], np.int64(number), rate, number + 1)
            if (number + 1) % max(1, steps // 40) == 0 or number + 1 == last:
                curve.append((number + 1, divergence(model, library, test)))
    phase(model, run.recipe, 0, steps, 0.1, curves[label])
    for name, recipe in run.continued.items():
        copy = Model(seed, run.outliers)
        copy.weights = dict(model.weights)
        copy.moments = {k: (m.copy(), v.copy()) for k, (m, v) in model.moments.items()}
        curves[name] = [curves[label][-1]]
        phase(copy, recipe, steps, steps + more, 0.0, curves[name])
    return label, seed, curves, time.time() - start


def draw(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "blockscale"
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 5), width_ratios=(3, 2))
    base = {name: label for label, run in RUNS.items() for name in (label, *run.continued)}
    colors = {}
    for label, seeds in curves.items():
        steps = [step for step, _ in seeds[0]]
        values = np.array([[nats for _, nats in seed] for seed in seeds])
        axes = panels[int(RUNS[base[label]].outliers)]
        style = "-" if label in RUNS else "--" if "QAF" in label else ":"
        line, = axes.plot(steps, values.mean(0), linewidth=1.3, linestyle=style,
                          color=colors.get(base[label]),
                          label=f"{label}: {values[:, -1].mean():.4f} ({spread(values):.4f})")
        colors[base[label]] = line.get_color()
        axes.fill_between(steps, values.min(0), values.max(0), alpha=0.15, color=line.get_color())
    for axes, title in zip(panels, ("Eight letters to the next", "The same, four input features times 50")):
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
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--more", type=int, help="steps of the runs that go on; a fifth if not given")
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
    more = options.steps // 5 if options.more is None else options.more
    jobs = [(label, seed, options.steps, more, libraries)
            for seed in range(options.seeds) for label in chosen]
    curves, start = {}, time.time()
    with multiprocessing.Pool() as pool:
        for label, seed, some, seconds in pool.imap(train, jobs):
            for name, curve in some.items():
                curves.setdefault(name, []).append(curve)
                print(f"{name:28} seed {seed}: {curve[-1][1]:.4f} nats  {seconds:.0f} s", flush=True)
    truth = Text(0).letters(np.random.default_rng(4), 20000)[1]
    entropy = -np.mean(np.sum(truth * np.log(truth + 1e-30), 1))
    print(f"\nin {time.time() - start:.0f} s; the text's own entropy is {entropy:.2f} nats a letter\n"
          f"{'':28} nats    deviation")
    for name, seeds in curves.items():
        values = np.array([[nats for _, nats in seed] for seed in seeds])
        print(f"{name:28} {values[:, -1].mean():.4f}  {spread(values):.4f}")
    if options.plot:
        draw(curves, options.plot)


if __name__ == "__main__":
    main()
