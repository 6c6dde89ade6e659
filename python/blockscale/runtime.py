"""Compiled shared libraries as Python objects, by ctypes.

Arrays are what memory holds (docs/Runtime.md): bf16 is uint16 bits or any
two-byte void dtype (ml_dtypes.bfloat16 too), tensors of 4-bit elements are
uint8 with two elements per byte, 8-bit scales are uint8.
"""
import ctypes
import json
import os
from pathlib import Path

import numpy as np


class Error(RuntimeError):
    """What the runtime says when a library or an argument does not fit."""


class _Array(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p),
                ("rank", ctypes.c_int64),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


# Storage types of a manifest and the numpy type that holds each.
_NUMPY = {"i1": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16,
          "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
          "i64": np.int64, "u64": np.uint64, "f16": np.float16,
          "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
_FLOATS = {"f16", "bf16", "f32", "f64"}
_NAME = "libblockscale_runtime.so"
_runtime = None


def _find():
    """Beside this package where it is installed, else in the build folder."""
    chosen = os.environ.get("BLOCKSCALE_RUNTIME_LIBRARY")
    if chosen:
        return chosen
    package = Path(__file__).resolve().parent
    for folder in (package, package.parents[1] / "build" / "lib"):
        if (folder / _NAME).exists():
            return str(folder / _NAME)
    return _NAME


def _load_runtime():
    global _runtime
    if _runtime is not None:
        return _runtime
    path = _find()
    try:
        runtime = ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"cannot load {path}: {error}; build the target "
                    "blockscale_runtime, or set BLOCKSCALE_RUNTIME_LIBRARY "
                    "to where it is") from None
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    arrays = ctypes.POINTER(_Array)
    for name, result, arguments in [
            ("blockscaleRuntimeLastError", text, []),
            ("blockscaleLibraryOpen", pointer, [text, text]),
            ("blockscaleLibraryDestroy", None, [pointer]),
            ("blockscaleLibraryGetManifest", text, [pointer]),
            ("blockscaleLibraryCall", pointer,
             [pointer, text, number, arrays]),
            ("blockscaleResultsGetNum", number, [pointer]),
            ("blockscaleResultsGet", _Array, [pointer, number]),
            ("blockscaleResultsDestroy", None, [pointer])]:
        function = getattr(runtime, name)
        function.restype, function.argtypes = result, arguments
    _runtime = runtime
    return runtime


def to_bf16(values):
    """Floats as bf16 bits (uint16), rounded once, to nearest even."""
    values = np.asarray(values, order="C")
    with np.errstate(over="ignore"):  # beyond the largest lies infinity
        near = values.astype(np.float32)
    bits = near.view(np.uint32)
    if values.dtype.itemsize > 4:
        # Round to odd first, so that only the rounding to bf16 counts.
        away = np.abs(near.astype(values.dtype)) > np.abs(values)
        inexact = (near != values) & ~np.isnan(values)
        bits = np.where(inexact, (bits - away) | 1, bits).astype(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def from_bf16(bits):
    """bf16 bits (uint16 or two bytes of void) as float32."""
    bits = np.asarray(bits)
    if bits.dtype.itemsize != 2:
        raise Error(f"expects uint16 or a two-byte void, but got {bits.dtype}")
    wide = bits.view(np.uint16).astype(np.uint32) << 16
    return wide.view(np.float32)


def _argument(value, dtype, convert, where):
    """`value` as a row-major array whose memory holds `dtype`."""
    array = np.asarray(value)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    expected = np.dtype(_NUMPY[dtype])
    if dtype == "bf16":
        if array.dtype.kind in "Vu" and array.dtype.itemsize == 2:
            array = array.view(np.uint16)
        elif array.dtype.kind == "f" and convert:
            array = to_bf16(array)
        else:
            raise Error(f"{where} expects bf16, but got {array.dtype}" + (
                "; blockscale.to_bf16() rounds, and so does convert=True"
                if array.dtype.kind == "f" else ""))
    elif array.dtype != expected:
        if array.dtype.kind == "V" and array.dtype.itemsize == 1 \
                and expected.itemsize == 1 and dtype != "i1":
            array = array.view(expected)  # 8-bit floats of ml_dtypes
        elif convert and dtype in _FLOATS and array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(expected)
        elif not (array.dtype.kind in "iu" and expected.kind in "iu"
                  and array.dtype.itemsize == expected.itemsize):
            hint = "; convert=True rounds" if dtype in _FLOATS \
                and array.dtype.kind == "f" else ""
            raise Error(f"{where} expects {dtype}, but got {array.dtype}{hint}")
    # Not ascontiguousarray(), which makes a scalar a vector.
    return np.require(array, requirements="C")


class Library:
    """A compiled library; its entries are methods. See load()."""

    def __init__(self, path, device="cpu", convert=False):
        self._handle = None
        runtime = _load_runtime()
        self._handle = runtime.blockscaleLibraryOpen(
            os.fsencode(path), device.encode())
        if not self._handle:
            raise Error(runtime.blockscaleRuntimeLastError().decode())
        self._runtime, self._convert = runtime, convert
        #: The manifest, as docs/Runtime.md describes it.
        self.manifest = json.loads(
            runtime.blockscaleLibraryGetManifest(self._handle).decode())
        self._entries = {e["name"]: e for e in self.manifest["entries"]}

    def __del__(self):
        if self._handle:
            self._runtime.blockscaleLibraryDestroy(self._handle)

    def __dir__(self):
        return [*super().__dir__(), *self._entries]

    def __getattr__(self, name):
        entries = self.__dict__.get("_entries", {})
        if name not in entries:
            raise AttributeError(f"there is no entry '{name}'; expects one of "
                                 + ", ".join(entries))

        def function(*inputs):
            return self.call(name, *inputs)

        def types(tensors):
            return ", ".join(t["type"] for t in tensors)

        entry = entries[name]
        function.__name__ = name
        function.__doc__ = (f"({types(entry['inputs'])}) -> "
                            f"({types(entry['results'])})")
        return function

    def call(self, entry, *inputs):
        """The result of an entry: an array, a tuple if there are several, or
        None if there is none. Raises Error if an argument does not fit."""
        if entry not in self._entries:
            raise Error(f"there is no entry '{entry}'; expects one of "
                        + ", ".join(self._entries))
        types = self._entries[entry]["inputs"]
        if len(inputs) != len(types):
            raise Error(f"'{entry}' expects {len(types)} inputs, but got "
                        f"{len(inputs)}")
        structs = (_Array * max(len(types), 1))()
        alive = []  # what the structs point to
        for i, (value, type) in enumerate(zip(inputs, types)):
            dtype = type["storage"]["dtype"]
            array = _argument(value, dtype, self._convert,
                              f"input {i} of '{entry}'")
            shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            structs[i] = _Array(dtype.encode(), array.ndim, shape,
                                array.ctypes.data)
            alive += [array, shape]
        results = self._runtime.blockscaleLibraryCall(
            self._handle, entry.encode(), len(types), structs)
        if not results:
            raise Error(self._runtime.blockscaleRuntimeLastError().decode())
        try:
            arrays = [self._result(self._runtime.blockscaleResultsGet(
                results, i)) for i in range(
                    self._runtime.blockscaleResultsGetNum(results))]
        finally:
            self._runtime.blockscaleResultsDestroy(results)
        if len(arrays) > 1:
            return tuple(arrays)
        return arrays[0] if arrays else None

    def _result(self, struct):
        name = struct.dtype.decode()
        array = np.empty([struct.shape[i] for i in range(struct.rank)],
                         _NUMPY[name])
        if array.nbytes:
            ctypes.memmove(array.ctypes.data, struct.data, array.nbytes)
        if name == "bf16" and self._convert:
            return from_bf16(array)
        return array


def load(path, device="cpu", convert=False):
    """Loads a library made by `blockscale-compile --emit=shared`.

    Its entries become methods that take and return numpy arrays. With
    convert=True, float arguments of another width are rounded to nearest even
    and bf16 results come back as float32. Raises Error if there is no such
    library or this build has no such device.
    """
    return Library(path, device, convert)
