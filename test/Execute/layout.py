# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""The 128x4 layout of scales: the vectors' offsets, any size, and back."""
from support import *

vectors = refs("swizzle_128x4.json")
tile = np.array(vectors["tile"])  # 128 x 4 offsets


def tiled(scales):
    """Batches of matrices in tiles, by the table."""
    batch, rows, cols = scales.shape
    down, across = -(-rows // 128), -(-cols // 4)
    memory = np.zeros((batch, down * across * 512), np.uint8)
    for r in range(rows):
        for c in range(cols):
            at = (r // 128 * across + c // 4) * 512 + tile[r % 128, c % 4]
            memory[:, at] = scales[:, r, c]
    return memory


def layouts(batch, rows, cols):
    shape = f"{batch}x{rows}x{cols}"
    linear = f"tensor<{shape}xf8E4M3FN>"
    tiles = f"tensor<{shape}xf8E4M3FN, #blockscale.tiled_128x4>"
    any_linear = f"tensor<?x?x{cols}xf8E4M3FN>"
    any_tiles = f"tensor<?x?x{cols}xf8E4M3FN, #blockscale.tiled_128x4>"
    return f"""
func.func @tile(%s: {linear}) -> {tiles} {{
  %t = blockscale.relayout %s : {linear} -> {tiles}
  return %t : {tiles}
}}
func.func @untile(%s: {tiles}) -> {linear} {{
  %t = blockscale.relayout %s : {tiles} -> {linear}
  return %t : {linear}
}}
func.func @tile_any(%s: {any_linear}) -> {any_tiles} {{
  %t = blockscale.relayout %s : {any_linear} -> {any_tiles}
  return %t : {any_tiles}
}}"""


random = np.random.default_rng(7)
rows, cols = vectors["example_rows"], vectors["example_cols"]
offsets = np.array(vectors["example_offset"])
scales = random.integers(1, 127, (1, rows, cols), np.uint8)
memory = compile(layouts(1, rows, cols)).tile(scales).view(np.uint8)
check("padded size", memory.shape == (1, vectors["padded_bytes"]),
      memory.shape)
same("offsets of the example", memory[0, offsets], scales[0])
same("padding is zero", np.delete(memory[0], offsets.reshape(-1)),
     np.zeros(vectors["padded_bytes"] - rows * cols, np.uint8))

for batch, rows, cols in [(1, 1, 1), (1, 128, 4), (2, 129, 5), (3, 127, 3),
                          (2, 257, 17), (5, 33, 8), (2, 64, 64), (1, 300, 6)]:
    name = f"{batch}x{rows}x{cols}"
    library = compile(layouts(batch, rows, cols))
    scales = random.integers(0, 127, (batch, rows, cols), np.uint8)
    memory = tiled(scales)
    same(f"{name} to tiles", library.tile(scales).view(np.uint8), memory)
    same(f"{name} to tiles, sizes unknown",
         library.tile_any(scales).view(np.uint8), memory)
    same(f"{name} and back", library.untile(memory).view(np.uint8), scales)
    # What lies in the padding does not matter.
    dirty = np.where(tiled(np.ones_like(scales)) == 1, memory, 0x7F)
    same(f"{name} from dirty padding",
         library.untile(dirty.astype(np.uint8)).view(np.uint8), scales)
# A chain with readers between: one conversion, whatever layout products ask for.
linear, tiles = "tensor<130x6xf8E4M3FN>", "tensor<130x6xf8E4M3FN, #blockscale.tiled_128x4>"
library = compile(f"""
func.func @chain(%s: {linear}) -> ({tiles}, {linear}, {tiles}) {{
  %a = blockscale.relayout %s : {linear} -> {tiles}
  %b = blockscale.relayout %a : {tiles} -> {linear}
  %c = blockscale.relayout %b : {linear} -> {tiles}
  return %a, %b, %c : {tiles}, {linear}, {tiles}
}}""")
scales = random.integers(0, 127, (130, 6), np.uint8)
first, back, last = (np.asarray(r).view(np.uint8) for r in library.chain(scales))
same("chain: tiles", first.reshape(1, -1), tiled(scales[None]))
same("chain: back", back, scales)
same("chain: tiles again", last, first)
finish(at_least=6 + 8 * 4)
