func.func @f(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<?x64xbf16> {
    %b = blockscale.rotate %a {size = 32} : tensor<?x64xbf16>
    scf.yield %b : tensor<?x64xbf16>
  }
  return %r : tensor<?x64xbf16>
}
