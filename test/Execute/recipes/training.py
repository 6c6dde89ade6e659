# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""examples/training.py with one batch, shortened: with gradients rounded to
nearest the loss stays far above that of stochastic rounding, and QAF closes at
least half of the gap of 4 bits throughout, at a constant rate and at a falling
one."""
import os
import sys
from pathlib import Path

os.environ["BLOCKSCALE_BUILD"] = str(Path(os.environ["BLOCKSCALE_COMPILE"]).parent.parent)
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
import training  # noqa: E402

nats = {}
for run in ("bf16", "fp4_all_the_way", "gradients nearest"):
    label = training.ONE_BATCH + run
    libraries = {phase.recipe: training.products(phase.recipe)
                 for phase in training.phases(label).values()}
    curves = training.train((label, 0, 100, libraries))[2]
    nats |= {name.removeprefix(training.ONE_BATCH): curve[-1][1]
             for name, curve in curves.items()}

assert nats["gradients nearest"] > 4 * nats["fp4_all_the_way"], nats
for exact, four_bits, qaf in (("bf16", "fp4_all_the_way", "then QAF"),
                              ("bf16, rate to 0", "rate to 0", "then QAF, rate to 0")):
    assert nats[exact] < nats[qaf], nats
    assert nats[qaf] - nats[exact] < (nats[four_bits] - nats[exact]) / 2, nats
