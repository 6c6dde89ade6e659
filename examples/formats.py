"""Writes MLIR that quantizes in a given format. What the examples share."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A format as #blockscale.format<text> spells it, and the types that its
    elements and scales have in MLIR."""
    text: str
    rule: str
    element: str
    scale: str
    block: int
    tensor: bool = False  # has an f32 scale of the whole tensor
    zero: str = ""        # type of the zero points, if it has them

    @property
    def encodes(self):
        """Whether the rule returns factors to encode with."""
        return self.rule in ("two_level", "reciprocal")

    def companions(self, rows, columns):
        """Types of what belongs to rows x columns elements, in the order of
        blockscale.scale's results; the encode factors come last."""
        blocks = f"{rows}x{columns // self.block}x"
        types = [f"tensor<{blocks}{self.scale}>"]
        if self.tensor:
            types.append("tensor<f32>")
        if self.zero:
            types.append(f"tensor<{blocks}{self.zero}>")
        return types, f"tensor<{blocks}f32>"


def fp4(scale, block=16, tensor=True):
    """e2m1 with a spelled scale and block."""
    types = {"ue4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU"}
    return Format(f"e2m1, block = {block}, scale = {scale}, "
                  f"tensor = {'f32' if tensor else 'none'}", "two_level",
                  "f4E2M1FN", types.get(scale, "i8"), block, tensor)


def mx(name, element):
    return Format(name, "rceil", element, "f8E8M0FNU", 32)


PRESETS = [
    mx("mxfp8_e4m3", "f8E4M3FN"), mx("mxfp8_e5m2", "f8E5M2"),
    mx("mxfp6_e2m3", "f6E2M3FN"), mx("mxfp6_e3m2", "f6E3M2FN"),
    mx("mxfp4", "f4E2M1FN"),
    Format("nvfp4", "two_level", "f4E2M1FN", "f8E4M3FN", 16, True),
    mx("mxint8", "i8"), mx("mxint6", "i6"), mx("mxint4", "i4"),
    Format("nvint4", "two_level", "i4", "f8E4M3FN", 16, True),
    Format("fp4_ue5m3", "two_level", "f4E2M1FN", "i8", 16),
    *(Format(f"fp4_{name}", "two_level", "f4E2M1FN", scale, 16, True)
      for name, scale in (("e1m6", "i8"), ("e2m5", "i8"), ("e3m4", "i8"),
                          ("e4m3", "f8E4M3FN"), ("e5m2", "i8"),
                          ("e6m1", "i8"), ("e8m0", "f8E8M0FNU"))),
    Format("nf4", "absmax", "i4", "f32", 64),
    Format("uint4", "minmax", "i4", "f16", 64, zero="i8"),
]


def quantize(fmt, name, source, rows, columns, amax=""):
    """Lines that quantize %source, a tensor of f32, to %{name}q with its
    companions, and their names; %amax holds the tensor's amax."""
    real = f"tensor<{rows}x{columns}xf32>"
    elements = f"tensor<{rows}x{columns}x{fmt.element}>"
    types, factors = fmt.companions(rows, columns)
    names = [f"%{name}s"]
    if fmt.tensor:
        names.append(f"%{name}g")
    if fmt.zero:
        names.append(f"%{name}z")
    held = f" amax({amax} : tensor<f32>)" if amax else ""
    encode = f"%{name}e"
    results = ", ".join(names + [encode] * fmt.encodes)
    result_types = ", ".join(types + [factors] * fmt.encodes)
    if fmt.encodes:
        given = f"encode({encode} : {factors})"
    else:
        given = labelled(fmt, names, types)
    return f"""\
  {results} = blockscale.scale {source} : {real}{held}
      to #blockscale.format<{fmt.text}> by #blockscale.scale_rule<{fmt.rule}>
      -> {result_types}
  %{name}q = blockscale.quantize {source} : {real} {given}
      to #blockscale.format<{fmt.text}> -> {elements}
""", [f"%{name}q"] + names, [elements] + types


def labelled(fmt, names, types):
    """`scales(..) tensor(..) zeros(..)`, as far as the format has them."""
    labels = ["scales"] + ["tensor"] * fmt.tensor + ["zeros"] * bool(fmt.zero)
    return " ".join(f"{label}({name} : {kind})"
                    for label, name, kind in zip(labels, names, types))


def dequantize(fmt, result, names, types, rows, columns):
    """The line that makes f32 of what quantize() named."""
    return f"""\
  {result} = blockscale.dequantize {names[0]} : {types[0]}
      {labelled(fmt, names[1:], types[1:])}
      from #blockscale.format<{fmt.text}> -> tensor<{rows}x{columns}xf32>
"""


def rotate(result, source, rows, columns, options):
    return (f"  {result} = blockscale.rotate {source} {{{options}}} "
            f": tensor<{rows}x{columns}xf32>\n")
