"""What memory of a storage type holds, as numpy arrays.

bf16 is uint16 bits or any two-byte void dtype (ml_dtypes.bfloat16 too); 8-bit
floats are uint8 (docs/Runtime.md).
"""
import numpy as np


class Error(RuntimeError):
    """What the runtime says when a library or an argument does not fit."""


# Storage types of a manifest and the numpy type that holds each.
NUMPY = {"i1": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16,
         "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
         "i64": np.int64, "u64": np.uint64, "f16": np.float16,
         "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
FLOATS = {"f16", "bf16", "f32", "f64"}


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


def to_storage(value, dtype, convert, where):
    """`value` as a row-major array whose memory holds `dtype`."""
    array = np.asarray(value)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    expected = np.dtype(NUMPY[dtype])
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
        elif convert and dtype in FLOATS and array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = array.astype(expected)
        elif not (array.dtype.kind in "iu" and expected.kind in "iu"
                  and array.dtype.itemsize == expected.itemsize):
            hint = "; convert=True rounds" if dtype in FLOATS \
                and array.dtype.kind == "f" else ""
            raise Error(f"{where} expects {dtype}, but got {array.dtype}{hint}")
    # Not ascontiguousarray(), which makes a scalar a vector.
    return np.require(array, requirements="C")


def check_bits(given, dtype, where,
               hint="arrays on the device are not converted"):
    """Whether memory of numpy type `given` may hold `dtype`."""
    expected = np.dtype(NUMPY[dtype])
    integers = given.kind in "iu" and expected.kind in "iu"
    opaque = given.kind == "V" and dtype != "i1" and \
        (dtype == "bf16" or expected.itemsize == 1)
    if given.itemsize != expected.itemsize or given.byteorder == ">" or \
            not (given == expected or integers or opaque):
        raise Error(f"{where} expects {dtype}, but got {given}; {hint}")


def is_widened(dtype, out, convert):
    """Whether a result is converted before it is written to `out`."""
    return convert and dtype == "bf16" and out.dtype == np.float32


def check_out(out, tensor, convert, where):
    """Whether `out` may be given for `tensor`, a result of the manifest."""
    if not isinstance(out, np.ndarray):
        raise Error(f"{where} expects a numpy array as out=, but got "
                    f"{type(out).__name__}")
    if not out.flags.writeable:
        raise Error(f"{where} expects an out= that can be written, but got a "
                    "read-only array")
    storage = tensor["storage"]
    name, sizes = storage["dtype"], storage["shape"]
    if not is_widened(name, out, convert):
        check_bits(out.dtype, name, where, "out= must hold it as it is")
    if len(sizes) != out.ndim or any(
            size not in (-1, given) for size, given in zip(sizes, out.shape)):
        raise Error(f"{where} expects out= of {tensor['type']}, sizes {sizes} in "
                    f"memory, but got {list(out.shape)}")


def copy_to(out, array, where):
    """Copies a result to `out`, which check_out() has seen."""
    if out.shape != array.shape:
        raise Error(f"{where} has sizes {list(array.shape)}, but out= has "
                    f"{list(out.shape)}")
    out[...] = array.view(out.dtype)
    return out
