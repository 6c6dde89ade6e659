// RUN: blockscale-opt %s --blockscale-choose-layouts=scales=columns --verify-diagnostics

// expected-error @below {{expects scales to be any, linear or tiled_128x4, but got columns}}
module {
}
