"""blockscale: run compiled block-scaled functions on numpy arrays, and on
arrays of torch and others in a GPU's memory.

    import blockscale
    lib = blockscale.load("linear.so")
    y = lib.linear(x, w)

Needs numpy and libblockscale_runtime.so, no LLVM.
"""
from .runtime import DeviceArray, Library, load
from .storage import Error, from_bf16, to_bf16

__all__ = ["DeviceArray", "Error", "Library", "from_bf16", "load", "to_bf16"]
