"""The MLIR that is measured."""

# name: elements, scales, block, tensor scale, zero points, rule, encode factors
FORMATS = {
    "nvfp4": ("f4E2M1FN", "f8E4M3FN", 16, True, False, "two_level", True),
    "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxfp6_e2m3": ("f6E2M3FN", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxfp6_e3m2": ("f6E3M2FN", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxfp8_e4m3": ("f8E4M3FN", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxfp8_e5m2": ("f8E5M2", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxint8": ("i8", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxint6": ("i6", "f8E8M0FNU", 32, False, False, "rceil", False),
    "mxint4": ("i4", "f8E8M0FNU", 32, False, False, "rceil", False),
    "nvint4": ("i4", "f8E4M3FN", 16, True, False, "two_level", True),
    "fp4_ue5m3": ("f4E2M1FN", "i8", 16, False, False, "reciprocal", True),
    "fp4_e8m0": ("f4E2M1FN", "f8E8M0FNU", 16, True, False, "two_level", True),
    "nf4": ("i4", "f32", 64, False, False, "division", False),
    "uint4": ("i4", "f16", 64, False, True, "minmax", False),
}


class Kernel:
    """Functions on tensors of `?` rows and K columns in one format."""

    def __init__(self, format, k, real="bf16", rule=None, encode=None):
        (element, scale, block, self.tensor, self.zero, default_rule,
         default_encode) = FORMATS[format]
        self.format, self.rule = format, rule or default_rule
        self.encode = default_encode if encode is None else encode
        self.x = f"tensor<?x{k}x{real}>"
        self.q = f"tensor<?x{k}x{element}>"
        self.s = f"tensor<?x{k // block}x{scale}>"
        self.z = f"tensor<?x{k // block}xi8>"
        self.e = f"tensor<?x{k // block}xf32>"
        self.fmt = f"#blockscale.format<{format}>"

    def _parts(self):
        """Names and types of what belongs to the elements."""
        parts = [("%s", self.s)]
        if self.tensor:
            parts.append(("%g", "tensor<f32>"))
        if self.zero:
            parts.append(("%z", self.z))
        return parts

    def _companions(self):
        text = f"scales(%s : {self.s})"
        if self.tensor:
            text += " tensor(%g : tensor<f32>)"
        if self.zero:
            text += f" zeros(%z : {self.z})"
        return text

    def _scale(self, source):
        parts = self._parts() + ([("%e", self.e)] if self.encode else [])
        return (f"  {', '.join(n for n, _ in parts)} = blockscale.scale "
                f"{source} : {self.x} to {self.fmt} by "
                f"#blockscale.scale_rule<{self.rule}> -> "
                f"{', '.join(t for _, t in parts)}\n")

    def _quantize(self, source, extra=""):
        by = f"encode(%e : {self.e})" if self.encode else self._companions()
        if self.encode and self.zero:
            by += f" zeros(%z : {self.z})"
        return (f"  %q = blockscale.quantize {source} : {self.x} {by} to "
                f"{self.fmt}{extra} -> {self.q}\n")

    def _return(self, parts):
        names, types = zip(*parts)
        return f"  return {', '.join(names)} : {', '.join(types)}\n"

    def quantizing(self, name, rotated=0, stochastic=False):
        """Scales and elements of real numbers."""
        results = [("%q", self.q)] + self._parts()
        seed = ", %seed: tensor<i64>" if stochastic else ""
        source, body = "%x", ""
        if rotated:
            body = (f"  %r = blockscale.rotate %x {{size = {rotated}}} : "
                    f"{self.x}\n")
            source = "%r"
        extra = " round stochastic seed(%seed : tensor<i64>)" if stochastic \
            else ""
        return (f"func.func @{name}(%x: {self.x}{seed}) -> "
                f"({', '.join(t for _, t in results)}) {{\n"
                + body + self._scale(source) + self._quantize(source, extra)
                + self._return(results) + "}\n")

    def encoding(self, name):
        """Elements alone, given encode factors or scales."""
        given = [("%e", self.e)] if self.encode else self._parts()
        arguments = "".join(f", {n}: {t}" for n, t in given)
        return (f"func.func @{name}(%x: {self.x}{arguments}) -> {self.q} {{\n"
                + self._quantize("%x") + f"  return %q : {self.q}\n}}\n")

    def scaling(self, name):
        """Everything that scale returns."""
        results = self._parts() + ([("%e", self.e)] if self.encode else [])
        return (f"func.func @{name}(%x: {self.x}) -> "
                f"({', '.join(t for _, t in results)}) {{\n"
                + self._scale("%x") + self._return(results) + "}\n")

    def dequantizing(self, name):
        arguments = "".join(f", {n}: {t}" for n, t in self._parts())
        return (f"func.func @{name}(%q: {self.q}{arguments}) -> {self.x} {{\n"
                f"  %x = blockscale.dequantize %q : {self.q} "
                f"{self._companions()} from {self.fmt} -> {self.x}\n"
                f"  return %x : {self.x}\n}}\n")


def matmul(name, left, right):
    """A product; `left` is a Kernel or a real type."""
    def side(kernel, letter, k):
        if isinstance(kernel, str):
            type = f"tensor<?x{k}x{kernel}>"
            return [(f"%{letter}", type)], f"%{letter} : {type}"
        parts = [(f"%{letter}", kernel.q)] + [
            (f"%{letter}{n[1:]}", t) for n, t in kernel._parts()]
        names, types = zip(*parts)
        return parts, (f"{', '.join(names)} : {', '.join(types)} as "
                       f"{kernel.fmt}")

    k = right.q.split("x")[1]
    a, lhs = side(left, "a", k)
    b, rhs = side(right, "b", k)
    arguments = ", ".join(f"{n}: {t}" for n, t in a + b)
    return (f"func.func @{name}({arguments}) -> tensor<?x?xf32> {{\n"
            f"  %y = blockscale.scaled_matmul lhs({lhs}) rhs({rhs}) : "
            "tensor<?x?xf32>\n  return %y : tensor<?x?xf32>\n}\n")
