"""Compiling, calling without copies, and timing fairly: the two programs that
are compared take turns, so that a slow moment of the machine hits both."""
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("BLOCKSCALE_RUNTIME_LIBRARY",
                      str(BUILD / "lib" / "libblockscale_runtime.so"))

import blockscale  # noqa: E402
from blockscale import runtime as _binding  # noqa: E402

_folder = tempfile.TemporaryDirectory()


def compile_mlir(text, threads=None):
    """The library of a module, and the seconds that blockscale-compile took.
    Call it before the next one is compiled: it will run on so many threads, or
    on all."""
    number = len(os.listdir(_folder.name))
    source = Path(_folder.name) / f"{number}.mlir"
    source.write_text(text)
    target = source.with_suffix(".so")
    start = time.perf_counter()
    done = subprocess.run([BUILD / "bin" / "blockscale-compile", source, "-o",
                           target], text=True, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    # It starts its threads when it is first called, which comes next.
    os.environ.pop("BLOCKSCALE_NUM_THREADS", None)
    if threads:
        os.environ["BLOCKSCALE_NUM_THREADS"] = str(threads)
    return blockscale.load(str(target)), seconds


class Call:
    """A call of an entry with the same arguments again and again, as a C
    program makes it: results are freed, not copied."""

    def __init__(self, library, entry, *inputs):
        types = library._entries[entry]["inputs"]
        assert len(types) == len(inputs)
        self.library, self.entry = library, entry.encode()
        self.structs = (_binding._Array * max(len(types), 1))()
        self.alive = []
        for i, (value, type) in enumerate(zip(inputs, types)):
            array = np.require(value, requirements="CA")
            shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            self.structs[i] = _binding._Array(
                type["storage"]["dtype"].encode(), array.ndim, shape,
                array.ctypes.data)
            self.alive += [array, shape]
        self()

    def __call__(self):
        native = self.library._runtime
        results = native.blockscaleLibraryCall(
            self.library._handle, self.entry, len(self.alive) // 2,
            self.structs)
        if not results:
            sys.exit(native.blockscaleRuntimeLastError().decode())
        native.blockscaleResultsDestroy(results)


def best_seconds(*functions, budget=1.0):
    """The shortest time of each, over rounds in which every one runs once. A
    minimum is what the machine can do; what is longer is somebody else."""
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return best


class OpenBLAS:
    """cblas_sgemm, C = A B^T, by ctypes. Variables that choose a kernel or
    cache sizes by hand must be unset for it to be at its best."""

    def __init__(self):
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
                     "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            if os.environ.get(name):
                sys.exit(f"expects {name} to be unset, but it is "
                         f"{os.environ[name]}: OpenBLAS would not be at its "
                         "best")
        try:
            self.native = ctypes.CDLL("libopenblas.so.0")
        except OSError as error:
            sys.exit(f"needs OpenBLAS (Debian: apt install libopenblas0): "
                     f"{error}")
        self.native.openblas_get_corename.restype = ctypes.c_char_p
        self.native.openblas_get_config.restype = ctypes.c_char_p

    def core(self):
        return self.native.openblas_get_corename().decode()

    def version(self):
        return " ".join(self.native.openblas_get_config().decode().split()[:2])

    def set_threads(self, number):
        self.native.openblas_set_num_threads(number)

    def sgemm(self, a, b, c):
        """A function that multiplies float32 matrices m x k and n x k."""
        (m, k), n = a.shape, b.shape[0]
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, c)]

        def run():
            self.native.cblas_sgemm(101, 111, 112, m, n, k, one, pointers[0],
                                    k, pointers[1], k, zero, pointers[2], n)
        return run
