// RUN: blockscale-opt %s --blockscale-fuse-rotations=introduce=24 --verify-diagnostics

// expected-error @below {{expects introduce to be 0 or a power of two from 2 to 256, but got 24}}
module {
}
