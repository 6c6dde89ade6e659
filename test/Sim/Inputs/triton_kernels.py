"""Compiles kernels with Triton, runs their PTX in blockscale-sim and compares
with NumPy. Needs no GPU: python triton_kernels.py BLOCKSCALE_SIM FOLDER."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(z + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * columns + i, e / tl.sum(e, 0), i < columns)


@triton.jit
def cumsum(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i, i < n, other=0), 1, i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        kk = k0 + k
        av = tl.load(a + m[:, None] * K + kk[None, :], kk[None, :] < K, 0.0)
        bv = tl.load(b + n[None, :] * K + kk[:, None], kk[:, None] < K, 0.0)
        acc = tl.dot(av, bv, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def scaled(a, sa, b, sb, c, K, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr,
           PA: tl.constexpr, PB: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        ka = k0 // PA + tl.arange(0, BK // PA)
        kb = k0 // PB + tl.arange(0, BK // PB)
        ks = k0 // 32 + tl.arange(0, BK // 32)
        av = tl.load(a + m[:, None] * (K // PA) + ka[None, :])
        bv = tl.load(b + n[None, :] * (K // PB) + kb[:, None])
        sav = tl.load(sa + m[:, None] * (K // 32) + ks[None, :])
        sbv = tl.load(sb + n[:, None] * (K // 32) + ks[None, :])
        acc = tl.dot_scaled(av, sav, FA, bv, sbv, FB, acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


def compiled(function, signature, constants, chip, warps=4, stages=3):
    names = function.arg_names
    types = dict(zip(names, signature + ["constexpr"] * len(constants)))
    values = {(names.index(k),): v for k, v in constants.items()}
    source = ASTSource(function, types, values)
    return triton.compile(source, target=GPUTarget("cuda", chip, 32),
                          options={"num_warps": warps, "num_stages": stages})


class Runner:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.failed = 0

    def run(self, kernel, name, grid, arguments, expected, tolerance):
        """Arrays are inputs; the one with 'out' first is the output."""
        ptx = self.folder / f"{name}.ptx"
        ptx.write_text(kernel.asm["ptx"])
        words, out = [], self.folder / f"{name}.out.npy"
        for index, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                path = self.folder / f"{name}.{index}.npy"
                np.save(path, argument)
                words.append(f"in:{path}")
            elif isinstance(argument, tuple) and argument[0] == "out":
                shape = "x".join(map(str, expected.shape))
                words.append(f"out:{out}:{argument[1]}:{shape}")
            elif isinstance(argument, tuple):
                path = self.folder / f"{name}.{index}.npy"
                np.save(path, argument[1])
                words.append(f"inout:{path}:{out}")
            else:
                words.append(f"i32:{argument}")
        entry = subprocess.run([self.tool, ptx, "--list"], text=True, check=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        # Triton appends pointers to scratch memory.
        words += ["null"] * (len(entry) - 1 - len(words))
        meta = kernel.metadata
        done = subprocess.run(
            [self.tool, ptx, "--grid", grid, "--block",
             str(32 * meta.num_warps), "--shared", str(meta.shared), *words],
            text=True, stderr=subprocess.PIPE)
        error = done.stderr
        if done.returncode == 0:
            worst = np.abs(np.load(out).astype(np.float64) - expected).max()
            error = "" if worst <= tolerance else f"off by {worst}"
        print(f"{name}: {'wrong: ' + error if error else 'right'}", flush=True)
        self.failed += bool(error)


def e2m1(codes):
    table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    return np.where(codes & 8, -1, 1) * table[codes & 7]


def e4m3(codes):
    e, m = codes >> 3 & 15, codes & 7
    value = np.where(e > 0, np.ldexp(1 + m / 8, e.astype(int) - 7), m / 512)
    return np.where(codes & 128, -1, 1) * value


def operand(random, form, rows, k):
    """Bytes as memory has them, and their values."""
    if form == "e2m1":
        codes = random.integers(0, 16, (rows, k), dtype=np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4, e2m1(codes)
    codes = random.integers(0, 0x60, (rows, k), dtype=np.uint8)
    return codes, e4m3(codes)


def main(tool, folder):
    runner = Runner(tool, folder)
    random = np.random.default_rng(5)
    for chip in (80, 90, 120):
        x, y = (random.standard_normal(1000).astype(np.float32)
                for _ in range(2))
        kernel = compiled(add, ["*fp32"] * 3 + ["i32"], {"BLOCK": 256}, chip)
        runner.run(kernel, f"add-{chip}", "4", [x, y, ("out", "f32"), 1000],
                   (x + y).astype(np.float64), 0)
        x = random.standard_normal((8, 300)).astype(np.float32)
        kernel = compiled(softmax, ["*fp32"] * 2 + ["i32"], {"BLOCK": 512},
                          chip)
        e = np.exp(x - x.max(1, keepdims=True).astype(np.float64))
        runner.run(kernel, f"softmax-{chip}", "8", [x, ("out", "f32"), 300],
                   e / e.sum(1, keepdims=True), 1e-6)
        x = random.integers(-9, 9, 1024).astype(np.int32)
        kernel = compiled(cumsum, ["*i32"] * 2, {"BLOCK": 1024}, chip)
        runner.run(kernel, f"cumsum-{chip}", "1", [x, ("out", "i32")],
                   np.cumsum(x), 0)
        x = random.integers(0, 40, 1000).astype(np.int32)
        kernel = compiled(histogram, ["*i32"] * 2 + ["i32"], {"BLOCK": 256},
                          chip)
        runner.run(kernel, f"histogram-{chip}", "4",
                   [x, ("inout", np.zeros(40, np.int32)), 1000],
                   np.bincount(x, minlength=40), 0)
        a = random.standard_normal((128, 96)).astype(np.float16)
        b = random.standard_normal((128, 96)).astype(np.float16)
        kernel = compiled(matmul, ["*fp16", "*fp16", "*fp32"] + ["i32"] * 3,
                          {"BM": 64, "BN": 128, "BK": 32}, chip)
        runner.run(kernel, f"matmul-{chip}", "2x1",
                   [a, b, ("out", "f32"), 128, 128, 96],
                   a.astype(np.float64) @ b.astype(np.float64).T, 1e-4)
    for fa, fb in (("e2m1", "e2m1"), ("e4m3", "e4m3"), ("e4m3", "e2m1")):
        a, av = operand(random, fa, 128, 256)
        b, bv = operand(random, fb, 64, 256)
        sa, sb = (random.integers(120, 132, (rows, 8), dtype=np.uint8)
                  for rows in (128, 64))
        exact = (av * np.ldexp(1.0, sa.astype(int) - 127).repeat(32, 1)) @ \
            (bv * np.ldexp(1.0, sb.astype(int) - 127).repeat(32, 1)).T
        kernel = compiled(
            scaled, ["*u8" if f == "e2m1" else "*fp8e4nv"
                     for f in (fa,)] + ["*u8"] +
            ["*u8" if fb == "e2m1" else "*fp8e4nv"] + ["*u8", "*fp32", "i32"],
            {"BM": 128, "BN": 64, "BK": 128, "FA": fa, "FB": fb,
             "PA": 2 if fa == "e2m1" else 1, "PB": 2 if fb == "e2m1" else 1},
            120)
        native = "block_scale" in kernel.asm["ptx"]
        print(f"scaled-{fa}-{fb}: {'native' if native else 'emulated'}")
        runner.run(kernel, f"scaled-{fa}-{fb}", "1",
                   [a, sa, b, sb, ("out", "f32"), 256], exact,
                   1e-6 * np.abs(exact).max())
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
