"""The runtime's C API (include/blockscale-c/Runtime.h), by ctypes."""
import ctypes
import os
from pathlib import Path

from .storage import Error


class Array(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p),
                ("rank", ctypes.c_int64),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


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


def load_runtime():
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
    arrays = ctypes.POINTER(Array)
    for name, result, arguments in [
            ("blockscaleRuntimeLastError", text, []),
            ("blockscaleLibraryOpen", pointer, [text, text]),
            ("blockscaleLibraryDestroy", None, [pointer]),
            ("blockscaleLibraryGetManifest", text, [pointer]),
            ("blockscaleLibraryGetDevice", text, [pointer]),
            ("blockscaleLibraryCallDeviceInto", pointer,
             [pointer, text, number, arrays, number, arrays, pointer]),
            ("blockscaleLibraryUpload", pointer,
             [pointer, number, arrays, pointer]),
            ("blockscaleLibrarySynchronize", ctypes.c_int,
             [pointer, pointer]),
            ("blockscaleResultsDownload", pointer, [pointer]),
            ("blockscaleLibraryCall", pointer,
             [pointer, text, number, arrays]),
            ("blockscaleResultsGetNum", number, [pointer]),
            ("blockscaleResultsGet", Array, [pointer, number]),
            ("blockscaleResultsDestroy", None, [pointer])]:
        function = getattr(runtime, name)
        function.restype, function.argtypes = result, arguments
    _runtime = runtime
    return runtime


class Results:
    """A handle of the C API, freed when nothing refers to it."""

    def __init__(self, runtime, handle):
        if not handle:
            raise Error(runtime.blockscaleRuntimeLastError().decode())
        self.runtime, self.handle = runtime, handle

    def __del__(self):
        if hasattr(self, "handle"):
            self.runtime.blockscaleResultsDestroy(self.handle)

    def structs(self):
        return [self.runtime.blockscaleResultsGet(self.handle, i)
                for i in range(self.runtime.blockscaleResultsGetNum(
                    self.handle))]
