// RUN: not blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_120 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_75 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_100a 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not blockscale-compile %s --target=sm_120 --emit=ptx 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not blockscale-compile %s --target=compute_121 --emit=ptx 2>&1 | FileCheck %s --check-prefix=NEAR

// BARE: error: unknown chip 'sm_120': use 'sm_120a', whose block-scaled instructions the plain name leaves out; expects one of sm_80,
// OLD: error: unknown chip 'sm_75': the oldest that can be compiled for is 'sm_80'; expects one of sm_80,
// LATER: error: unknown chip 'sm_100a': use 'sm_90', whose code runs there as well; expects one of sm_80,
// NEAR: error: unknown chip 'compute_121': use 'sm_121a'; expects one of
func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  return %x : tensor<4x64xf32>
}
