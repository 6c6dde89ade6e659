"""Compiled shared libraries as Python objects.

Arrays are what memory holds (docs/Runtime.md): bf16 is uint16 bits or any
two-byte void dtype (ml_dtypes.bfloat16 too), tensors of 4-bit elements are
uint8 with two elements per byte, 8-bit scales are uint8.

On a GPU, arrays that are there already (torch, cupy: whatever has
__cuda_array_interface__) are passed without copies; see DeviceArray.
"""
import ctypes
import json
import os
import sys

import numpy as np

from .capi import Array, Results, load_runtime
from .storage import (NUMPY, Error, check_bits, check_out, copy_to, from_bf16,
                      is_widened, to_storage)


def _is_on_device(value):
    # torch makes the interface anew each time it is asked for.
    on_cuda = getattr(value, "is_cuda", None)
    if isinstance(on_cuda, bool):
        return on_cuda
    return isinstance(value, DeviceArray) or \
        hasattr(value, "__cuda_array_interface__")


def _streams_of(values):
    """The streams in whose order `values` are written, as far as known."""
    streams, of_torch = [], {}
    for value in values:
        if isinstance(value, DeviceArray):
            streams.append(value._stream)
        elif type(value).__module__.split(".")[0] == "torch":
            if value.device not in of_torch:
                current = sys.modules["torch"].cuda.current_stream
                of_torch[value.device] = current(value.device).cuda_stream
            streams.append(of_torch[value.device])
        else:
            streams.append(value.__cuda_array_interface__.get("stream"))
    return [stream for stream in streams if stream is not None]


class DeviceArray:
    """A row-major array in a GPU's memory, which it owns.

    torch.as_tensor(a, device="cuda") and cupy.asarray(a) share its memory;
    bf16 looks like uint16 there (torch: .view(torch.bfloat16)). Its memory is
    written in the order of the stream of the call that made it, or got it as
    out= last, and freed in that of the first.
    """

    def __init__(self, results, struct, device, library, stream, convert):
        self._results, self._library = results, library
        self._device, self._stream = device, stream
        self._convert = convert
        self._pointer = struct.data
        self.dtype = struct.dtype.decode()
        self.shape = tuple(struct.shape[i] for i in range(struct.rank))

    @property
    def __cuda_array_interface__(self):
        if not self._device.startswith("cuda"):
            raise AttributeError(f"device '{self._device}' shares no memory "
                                 "with other programs")
        empty = 0 in self.shape
        return {"shape": self.shape, "version": 3,
                "typestr": np.dtype(NUMPY[self.dtype]).str,
                "data": (0 if empty else self._pointer, False),
                "stream": self._stream or 1}  # 0 is the default one, named 1

    def numpy(self):
        """A copy on the host, once it is there."""
        self._library.synchronize(self._stream)
        host = Results(self._results.runtime,
                        self._results.runtime.blockscaleResultsDownload(
                            self._results.handle))
        for device, copy in zip(self._results.structs(), host.structs()):
            if device.data == self._pointer:
                return _to_numpy(copy, self._convert)
        raise Error("the array is none of its results")

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self):
        sizes = "x".join(map(str, self.shape))
        return f"<{self.dtype}[{sizes}] on {self._device}>"


def _to_numpy(struct, convert):
    """A copy of what a struct of the C API points to, on the host."""
    name = struct.dtype.decode()
    array = np.empty([struct.shape[i] for i in range(struct.rank)],
                     NUMPY[name])
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, struct.data, array.nbytes)
    return from_bf16(array) if name == "bf16" and convert else array


class Library:
    """A compiled library; its entries are methods. See load()."""

    def __init__(self, path, device=None, convert=False):
        self._handle = None
        runtime = load_runtime()
        self._handle = runtime.blockscaleLibraryOpen(
            os.fsencode(path), device.encode() if device else None)
        if not self._handle:
            raise Error(runtime.blockscaleRuntimeLastError().decode())
        self._runtime, self._convert = runtime, convert
        #: The manifest, as docs/Runtime.md describes it.
        self.manifest = json.loads(
            runtime.blockscaleLibraryGetManifest(self._handle).decode())
        self._entries = {e["name"]: e for e in self.manifest["entries"]}
        #: Where it runs: "cpu", "cuda:0".
        self.device = runtime.blockscaleLibraryGetDevice(self._handle).decode()

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

        def function(*inputs, out=None, stream=None):
            return self.call(name, *inputs, out=out, stream=stream)

        def types(tensors):
            return ", ".join(t["type"] for t in tensors)

        entry = entries[name]
        function.__name__ = name
        function.__doc__ = (f"({types(entry['inputs'])}) -> "
                            f"({types(entry['results'])})")
        return function

    def call(self, entry, *inputs, out=None, stream=None):
        """The result of an entry: an array, a tuple if there are several, or
        None if there is none. Raises Error if an argument does not fit.

        If any argument is on the GPU, or a stream (a CUstream as a number) is
        given, nothing is waited for and results are DeviceArrays; arguments on
        the host are copied. Otherwise everything is copied there and back.

        `out` is the array that the result is written to, and then returned; a
        tuple where there are several, with None for those that are to be made.
        It is on the GPU where results are.
        """
        if entry not in self._entries:
            raise Error(f"there is no entry '{entry}'; expects one of "
                        + ", ".join(self._entries))
        types = self._entries[entry]["inputs"]
        if len(inputs) != len(types):
            raise Error(f"'{entry}' expects {len(types)} inputs, but got "
                        f"{len(inputs)}")
        outs = self._outs(entry, out)
        if stream is not None or any(map(_is_on_device, [*inputs, *outs])):
            return self._call_device(entry, inputs, outs, stream)
        names, places = _names(types, "input", entry)
        results = self._entries[entry]["results"]
        for i, given in enumerate(outs):
            if given is not None:
                check_out(given, results[i], self._convert,
                          f"result {i} of '{entry}'")
        structs, alive = self._structs(inputs, names, places)
        results = Results(self._runtime, self._runtime.blockscaleLibraryCall(
            self._handle, entry.encode(), len(inputs), structs))
        arrays = []
        for i, (struct, given) in enumerate(zip(results.structs(), outs)):
            convert = self._convert if given is None else is_widened(
                struct.dtype.decode(), given, self._convert)
            array = _to_numpy(struct, convert)
            arrays.append(array if given is None else
                          copy_to(given, array, f"result {i} of '{entry}'"))
        return _one_or_more(arrays)

    def to_device(self, array, dtype=None, stream=None):
        """A copy in the GPU's memory, to be passed again and again: weights.
        `dtype` is a storage type; it may be left out where numpy has it."""
        if dtype is None:
            given = np.asarray(array).dtype
            dtype = next((name for name, type in NUMPY.items()
                          if name != "bf16" and np.dtype(type) == given), None)
            if dtype is None:
                raise Error(f"expects dtype= for an array of {given}")
        return self._upload([array], [dtype], ["the array"], stream or 0)[0]

    def synchronize(self, stream=None):
        """Waits until all work on a stream is done; raises its errors."""
        if self._runtime.blockscaleLibrarySynchronize(self._handle, stream):
            raise Error(self._runtime.blockscaleRuntimeLastError().decode())

    def _outs(self, entry, out):
        """What is given for each result; None for one that is to be made."""
        count = len(self._entries[entry]["results"])
        if out is None:
            return [None] * count
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(outs) != count:
            raise Error(f"'{entry}' expects out= for {count} results, but got "
                        f"it for {len(outs)}")
        return outs

    def _structs(self, inputs, names, places):
        structs = (Array * max(len(inputs), 1))()
        alive = []  # what the structs point to
        for i, (value, name) in enumerate(zip(inputs, names)):
            array = to_storage(value, name, self._convert, places[i])
            shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            structs[i] = Array(name.encode(), array.ndim, shape,
                                array.ctypes.data)
            alive += [array, shape]
        return structs, alive

    def _device_arrays(self, handle, stream):
        results = Results(self._runtime, handle)
        return [DeviceArray(results, struct, self.device, self, stream,
                            self._convert) for struct in results.structs()]

    def _upload(self, arrays, names, places, stream):
        structs, alive = self._structs(arrays, names, places)
        return self._device_arrays(self._runtime.blockscaleLibraryUpload(
            self._handle, len(arrays), structs, stream), stream)

    def _call_device(self, entry, inputs, outs, stream):
        inputs = list(inputs)
        types = self._entries[entry]
        names, places = _names(types["inputs"], "input", entry)
        if self.device == "cpu":
            raise Error(f"'{entry}' runs on the host, but got an array on a "
                        "GPU, or a stream")
        known = _streams_of(filter(_is_on_device, [*inputs, *outs]))
        if stream is None:
            stream = known[0] if known else 0
        # 1 is another name of the default stream.
        for other in {other for other in known
                      if (other or 1) != (stream or 1)}:
            self.synchronize(other)
        host = [i for i, value in enumerate(inputs)
                if not _is_on_device(value)]
        if host:
            copies = self._upload([inputs[i] for i in host],
                                  [names[i] for i in host],
                                  [places[i] for i in host], stream)
            for i, copy in zip(host, copies):
                inputs[i] = copy
        structs, alive = self._pointers(inputs, names, places)
        into, keep = self._pointers(
            outs, *_names(types["results"], "result", entry), written=True)
        results = self._device_arrays(
            self._runtime.blockscaleLibraryCallDeviceInto(
                self._handle, entry.encode(), len(inputs), structs, len(outs),
                into, stream), stream)
        for i, given in enumerate(outs):
            if given is None:
                continue
            results[i] = given
            if isinstance(given, DeviceArray):
                given._stream = stream
        return _one_or_more(results)

    def _pointers(self, values, names, places, written=False):
        """Structs of arrays on the device; None becomes an empty one."""
        structs = (Array * max(len(values), 1))()
        alive = []
        for i, (value, name) in enumerate(zip(values, names)):
            if value is None:
                continue
            pointer, sizes = self._pointer(value, name, places[i], written)
            shape = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
            structs[i] = Array(name.encode(), len(sizes), shape, pointer)
            alive.append(shape)
        return structs, alive

    def _pointer(self, value, name, where, written):
        """Where an array on the device is, and its sizes."""
        if not _is_on_device(value):
            raise Error(f"{where} expects an array on the device, because "
                        f"others are there, but got {type(value).__name__}; "
                        "Library.to_device() copies")
        if isinstance(value, DeviceArray):
            # Pointers of a simulator mean something to that one alone.
            if value._device != self.device or (
                    self.device == "sim" and value._library is not self):
                raise Error(f"{where} is on device '{value._device}' of "
                            f"another library, but '{self.device}' of this "
                            "one is expected")
            check_bits(np.dtype(NUMPY[value.dtype]), name, where)
            return value._pointer, value.shape
        if not self.device.startswith("cuda"):
            raise Error(f"{where} is on a GPU, but the library runs on "
                        f"'{self.device}'")
        index = getattr(getattr(value, "device", None), "index", None)
        if isinstance(index, int) and f"cuda:{index}" != self.device:
            raise Error(f"{where} is on cuda:{index}, but the library runs on "
                        f"{self.device}")
        interface = value.__cuda_array_interface__
        if written and interface["data"][1]:
            raise Error(f"{where} expects an out= that can be written, but got "
                        "a read-only array")
        check_bits(np.dtype(interface["typestr"]), name, where)
        sizes = tuple(interface["shape"])
        strides = interface.get("strides")
        if strides is not None and 0 not in sizes:
            step = np.dtype(interface["typestr"]).itemsize
            for size, stride in zip(reversed(sizes), reversed(strides)):
                if size != 1 and stride != step:
                    raise Error(f"{where} expects a row-major array, but got "
                                f"strides {strides}; torch: .contiguous()")
                step *= size
        return interface["data"][0], sizes


def _names(types, what, entry):
    """Storage types, and what errors call the arrays."""
    return ([type["storage"]["dtype"] for type in types],
            [f"{what} {i} of '{entry}'" for i in range(len(types))])


def _one_or_more(arrays):
    if len(arrays) > 1:
        return tuple(arrays)
    return arrays[0] if arrays else None


def load(path, device=None, convert=False):
    """Loads a library made by `blockscale-compile --emit=shared`.

    `device` is "cpu", "cuda", "cuda:1", "sim" or "sim:7", with that seed; None is
    what the library was compiled for. Its entries become methods that take and return numpy arrays,
    or arrays on the GPU (Library.call explains). With convert=True, float arguments of another width are rounded to nearest even
    and bf16 results come back as float32. Raises Error if there is no such
    library or this build has no such device.
    """
    return Library(path, device, convert)
