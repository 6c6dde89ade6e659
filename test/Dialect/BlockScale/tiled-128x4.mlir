// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: @layouts
// CHECK-SAME:  tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
// CHECK-SAME:  tensor<2x?x?xf8E8M0FNU, #blockscale.tiled_128x4>
// CHECK-SAME:  tensor<1x1xi8, #blockscale.tiled_128x4>
func.func private @layouts(tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>,
                           tensor<2x?x?xf8E8M0FNU, #blockscale.tiled_128x4>,
                           tensor<1x1xi8, #blockscale.tiled_128x4>)
