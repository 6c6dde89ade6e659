# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""What upstream dialects compute beside block-scaled operations, and what moves
codes without looking at them."""
from support import *

random = np.random.default_rng(9)

# Pure upstream functions.
library = compile("""
func.func @identity(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  return %x : tensor<?x3xf32>
}
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @constant() -> tensor<2x2xf32> {
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  return %c : tensor<2x2xf32>
}
func.func @elementwise(%x: tensor<?x5xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %s = arith.addf %x, %y : tensor<?x5xf32>
  %p = arith.mulf %s, %y : tensor<?x5xf32>
  return %p : tensor<?x5xf32>
}
func.func @product(%x: tensor<?x32xf32>, %w: tensor<32x8xf32>) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x32xf32>
  %new = tensor.empty(%rows) : tensor<?x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%new : tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x32xf32>, tensor<32x8xf32>)
      outs(%zeros : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @shapes(%x: tensor<6x4xf32>) -> (tensor<2x4xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<4x6xf32>, tensor<8x4xf32>) {
  %a = tensor.extract_slice %x[1, 0] [2, 4] [2, 1] : tensor<6x4xf32> to tensor<2x4xf32>
  %b = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 4] : tensor<6x4xf32> into tensor<2x3x4xf32>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %d = linalg.transpose ins(%x : tensor<6x4xf32>) outs(%e : tensor<4x6xf32>) permutation = [1, 0]
  %f = tensor.concat dim(0) %x, %a : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return %a, %b, %c, %d, %f : tensor<2x4xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<4x6xf32>, tensor<8x4xf32>
}
func.func @swaps(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %wide = tensor.extract %n[] : tensor<i64>
  %count = arith.index_cast %wide : i64 to index
  %r:2 = scf.for %i = %c0 to %count step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
""")
x, y = (random.normal(size=(7, 5)).astype(np.float32) for _ in "xy")
same("identity", library.identity(x[:, :3].copy()), x[:, :3])
same("an argument twice", library.twice(x[0, :4].copy()), [x[0, :4]] * 2)
same("constant", library.constant(), [[1, 2], [3, 4]])
same("elementwise", library.elementwise(x, y), (x + y) * y)
a, w = (random.integers(-4, 5, shape).astype(np.float32)
        for shape in [(9, 32), (32, 8)])
same("linalg.matmul", library.product(a, w), a @ w)
x = np.arange(24, dtype=np.float32).reshape(6, 4)
for name, actual, expected in zip(
        ["slice", "expand", "collapse", "transpose", "concat"],
        library.shapes(x),
        [x[1:5:2], x.reshape(2, 3, 4), x.reshape(24), x.T,
         np.concatenate([x, x[1:5:2]])]):
    same(f"f32 {name}", actual, expected)
for n in range(3):
    same(f"{n} swaps", library.swaps(x[0].copy(), x[1].copy(), np.int64(n)),
         [x[n % 2], x[1 - n % 2]])

# Codes that move.
library = compile("""
func.func @rows(%q: tensor<8x32xf4E2M1FN>, %i: tensor<i64>) -> tensor<2x32xf4E2M1FN> {
  %wide = tensor.extract %i[] : tensor<i64>
  %first = arith.index_cast %wide : i64 to index
  %r = tensor.extract_slice %q[%first, 0] [2, 32] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<2x32xf4E2M1FN>
  return %r : tensor<2x32xf4E2M1FN>
}
func.func @cols(%q: tensor<8x32xf4E2M1FN>) -> tensor<8x6xf4E2M1FN> {
  %r = tensor.extract_slice %q[0, 10] [8, 6] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<8x6xf4E2M1FN>
  return %r : tensor<8x6xf4E2M1FN>
}
func.func @one_row(%q: tensor<8x32xf4E2M1FN>) -> tensor<32xf4E2M1FN> {
  %r = tensor.extract_slice %q[3, 0] [1, 32] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<32xf4E2M1FN>
  return %r : tensor<32xf4E2M1FN>
}
func.func @insert(%q: tensor<8x32xf4E2M1FN>, %r: tensor<2x4xf4E2M1FN>) -> tensor<8x32xf4E2M1FN> {
  %s = tensor.insert_slice %r into %q[5, 6] [2, 4] [1, 1] : tensor<2x4xf4E2M1FN> into tensor<8x32xf4E2M1FN>
  return %s : tensor<8x32xf4E2M1FN>
}
func.func @reshape(%q: tensor<8x32xf4E2M1FN>) -> (tensor<2x4x32xf4E2M1FN>, tensor<256xf4E2M1FN>) {
  %a = tensor.expand_shape %q [[0, 1], [2]] output_shape [2, 4, 32] : tensor<8x32xf4E2M1FN> into tensor<2x4x32xf4E2M1FN>
  %b = tensor.collapse_shape %q [[0, 1]] : tensor<8x32xf4E2M1FN> into tensor<256xf4E2M1FN>
  return %a, %b : tensor<2x4x32xf4E2M1FN>, tensor<256xf4E2M1FN>
}
func.func @expand_any(%q: tensor<?x32xf4E2M1FN>) -> tensor<?x4x32xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %rows = tensor.dim %q, %c0 : tensor<?x32xf4E2M1FN>
  %groups = arith.divui %rows, %c4 : index
  %r = tensor.expand_shape %q [[0, 1], [2]] output_shape [%groups, 4, 32] : tensor<?x32xf4E2M1FN> into tensor<?x4x32xf4E2M1FN>
  return %r : tensor<?x4x32xf4E2M1FN>
}
func.func @concat(%q: tensor<8x32xf4E2M1FN>, %r: tensor<2x32xf4E2M1FN>) -> (tensor<10x32xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = tensor.concat dim(0) %q, %r : (tensor<8x32xf4E2M1FN>, tensor<2x32xf4E2M1FN>) -> tensor<10x32xf4E2M1FN>
  %b = tensor.concat dim(1) %q, %q : (tensor<8x32xf4E2M1FN>, tensor<8x32xf4E2M1FN>) -> tensor<8x64xf4E2M1FN>
  return %a, %b : tensor<10x32xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}
func.func @choose(%q: tensor<8x32xf4E2M1FN>, %r: tensor<8x32xf4E2M1FN>, %c: tensor<i1>) -> tensor<8x32xf4E2M1FN> {
  %b = tensor.extract %c[] : tensor<i1>
  %s = arith.select %b, %q, %r : tensor<8x32xf4E2M1FN>
  return %s : tensor<8x32xf4E2M1FN>
}
func.func @swap(%q: tensor<8x32xf4E2M1FN>, %r: tensor<8x32xf4E2M1FN>, %n: tensor<i64>) -> tensor<8x32xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %wide = tensor.extract %n[] : tensor<i64>
  %count = arith.index_cast %wide : i64 to index
  %s:2 = scf.for %i = %c0 to %count step %c1 iter_args(%a = %q, %b = %r) -> (tensor<8x32xf4E2M1FN>, tensor<8x32xf4E2M1FN>) {
    %t = func.call @same(%b) : (tensor<8x32xf4E2M1FN>) -> tensor<8x32xf4E2M1FN>
    scf.yield %t, %a : tensor<8x32xf4E2M1FN>, tensor<8x32xf4E2M1FN>
  }
  return %s#0 : tensor<8x32xf4E2M1FN>
}
func.func private @same(%q: tensor<8x32xf4E2M1FN>) -> tensor<8x32xf4E2M1FN> {
  return %q : tensor<8x32xf4E2M1FN>
}
func.func @sizes(%q: tensor<?x?xf4E2M1FN>) -> tensor<2xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tensor.dim %q, %c0 : tensor<?x?xf4E2M1FN>
  %c = tensor.dim %q, %c1 : tensor<?x?xf4E2M1FN>
  %r64 = arith.index_cast %r : index to i64
  %c64 = arith.index_cast %c : index to i64
  %s = tensor.from_elements %r64, %c64 : tensor<2xi64>
  return %s : tensor<2xi64>
}
func.func @constants() -> (tensor<2x5xf4E2M1FN>, tensor<4xi4>, tensor<3xf6E3M2FN>) {
  %a = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 6.0], [-1.0, -2.0, -3.0, -4.0, -6.0]]> : tensor<2x5xf4E2M1FN>
  %b = arith.constant dense<[1, -2, 7, -8]> : tensor<4xi4>
  %c = arith.constant dense<[28.0, -28.0, 0.0625]> : tensor<3xf6E3M2FN>
  return %a, %b, %c : tensor<2x5xf4E2M1FN>, tensor<4xi4>, tensor<3xf6E3M2FN>
}
func.func @transpose(%q: tensor<8x32xf8E4M3FN>) -> tensor<32x8xf8E4M3FN> {
  %e = tensor.empty() : tensor<32x8xf8E4M3FN>
  %t = linalg.transpose ins(%q : tensor<8x32xf8E4M3FN>) outs(%e : tensor<32x8xf8E4M3FN>) permutation = [1, 0]
  return %t : tensor<32x8xf8E4M3FN>
}
func.func @batches(%q: tensor<2x3x32xf4E2M1FN>) -> tensor<3x2x32xf4E2M1FN> {
  %e = tensor.empty() : tensor<3x2x32xf4E2M1FN>
  %t = linalg.transpose ins(%q : tensor<2x3x32xf4E2M1FN>) outs(%e : tensor<3x2x32xf4E2M1FN>) permutation = [1, 0, 2]
  return %t : tensor<3x2x32xf4E2M1FN>
}
""")


def codes(*shape):
    return random.integers(0, 16, shape, np.uint8)


def f4(array):
    return pack(array, "e2m1")


q, r, two = codes(8, 32), codes(8, 32), codes(2, 32)
same("rows", unpack(library.rows(f4(q), np.int64(3)), "e2m1"), q[3:5])
same("columns", unpack(library.cols(f4(q)), "e2m1"), q[:, 10:16])
same("one row", unpack(library.one_row(f4(q)), "e2m1"), q[3])
inserted = q.copy()
inserted[5:7, 6:10] = r[:2, :4]
same("insert", unpack(library.insert(f4(q), f4(r[:2, :4])), "e2m1"), inserted)
expanded, collapsed = library.reshape(f4(q))
same("expand", unpack(expanded, "e2m1"), q.reshape(2, 4, 32))
same("collapse", unpack(collapsed, "e2m1"), q.reshape(-1))
same("expand any", unpack(library.expand_any(f4(q)), "e2m1"),
     q.reshape(2, 4, 32))
down, across = library.concat(f4(q), f4(two))
same("concat of rows", unpack(down, "e2m1"), np.concatenate([q, two]))
same("concat of columns", unpack(across, "e2m1"), np.concatenate([q, q], 1))
for choice in (True, False):
    same(f"choose {choice}",
         unpack(library.choose(f4(q), f4(r), np.bool_(choice)), "e2m1"),
         q if choice else r)
for n in range(4):
    same(f"loop {n}", unpack(library.swap(f4(q), f4(r), np.int64(n)), "e2m1"),
         r if n % 2 else q)
same("sizes", library.sizes(f4(q)), [8, 32])
a, b, c = library.constants()
same("constants e2m1", unpack(a, "e2m1"), [[2, 4, 5, 6, 7, 0],
                                           [10, 12, 13, 14, 15, 0]])
same("constants int4", unpack(b, "int4"), [1, 14, 7, 8])
same("constants e3m2", c.view(np.uint8), [31, 63, 1])
bytes_ = random.integers(0, 256, (8, 32), np.uint8)
same("transpose of bytes", library.transpose(bytes_).view(np.uint8), bytes_.T)
q = codes(2, 3, 32)
same("transpose of batches", unpack(library.batches(f4(q)), "e2m1"),
     q.transpose(1, 0, 2))

# Both kinds in one function: scores, softmax left out, of two heads.
library = compile("""
#f = #blockscale.format<mxfp8_e4m3>
func.func @heads(%x: tensor<?x64xf32>, %bias: tensor<64xf32>, %w: tensor<16x64xf8E4M3FN>,
                 %s: tensor<16x2xf8E8M0FNU>) -> tensor<?x2x8xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %new = tensor.empty(%rows) : tensor<?x64xf32>
  %wide = linalg.broadcast ins(%bias : tensor<64xf32>) outs(%new : tensor<?x64xf32>) dimensions = [0]
  %shifted = arith.addf %x, %wide : tensor<?x64xf32>
  %xs = blockscale.scale %shifted : tensor<?x64xf32> to #f by #blockscale.scale_rule<rceil> -> tensor<?x2xf8E8M0FNU>
  %xq = blockscale.quantize %shifted : tensor<?x64xf32> scales(%xs : tensor<?x2xf8E8M0FNU>) to #f -> tensor<?x64xf8E4M3FN>
  %y = blockscale.scaled_matmul lhs(%xq, %xs : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU> as #f)
      rhs(%w, %s : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU> as #f) : tensor<?x16xf32>
  %half = arith.constant dense<0.5> : tensor<2x8xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%rows, 2, 8] : tensor<?x16xf32> into tensor<?x2x8xf32>
  %e = math.absf %h : tensor<?x2x8xf32>
  return %e : tensor<?x2x8xf32>
}
""")
x = random.integers(-8, 9, (5, 64)).astype(np.float32)
bias = random.integers(-2, 3, 64).astype(np.float32)
w = random.integers(0x30, 0x40, (16, 64), np.uint8)
scales = np.full((16, 2), 126, np.uint8)
values = magnitudes_of("e4m3")[w] / 2
same("both kinds", library.heads(x, bias, w, scales),
     np.abs((x + bias).astype(np.float64) @ values.T).astype(
         np.float32).reshape(5, 2, 8))
finish(at_least=30)
