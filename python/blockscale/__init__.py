"""blockscale: run compiled block-scaled functions on numpy arrays.

    import blockscale
    lib = blockscale.load("linear.so")
    y = lib.linear(x, w)

Needs numpy and libblockscale_runtime.so, no LLVM.
"""
from .runtime import Error, Library, from_bf16, load, to_bf16

__all__ = ["Error", "Library", "from_bf16", "load", "to_bf16"]
