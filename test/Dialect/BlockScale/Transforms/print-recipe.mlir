// RUN: blockscale-opt %s --blockscale-print-recipe="dot=%t.dot" -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=DOT < %t.dot
// RUN: blockscale-opt %s --blockscale-print-recipe="preset=quartet" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: blockscale-opt %s --blockscale-print-recipe="preset=nf4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NF4
// RUN: not blockscale-opt %s --blockscale-print-recipe="preset=fp5" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN

//      CHECK: recipe te_nvfp4
// CHECK-NEXT: | product     | along | operand  | format | scale rule | rounding     | rotation        |
// CHECK-NEXT: |-------------|-
// CHECK-NEXT: | y = x w^T   | K     | fprop_x  | nvfp4 | two_level  | nearest_even | -               |
// CHECK-NEXT: |             |       | fprop_w  | e2m1, block = 16x16, scale = ue4m3, tensor = f32 | two_level  | nearest_even | - |
// CHECK-NEXT: | dx = dy w   | N     | dgrad_dy | nvfp4 | two_level  | stochastic   | -               |
// CHECK-NEXT: |             |       | dgrad_w
// CHECK-NEXT: | dw = dy^T x | M     | wgrad_dy | nvfp4 | two_level  | stochastic   | H16 fixed signs |
// CHECK-NEXT: |             |       | wgrad_x  | nvfp4 | two_level  | nearest_even | H16 fixed signs |
//  CHECK-NOT: recipe

//      DOT: digraph recipe {
//      DOT: label="recipe te_nvfp4"
//      DOT: r0_wgrad_dy -> r0_wgrad_dy_rotate;
//      DOT: r0_wgrad_dy_rotate -> r0_wgrad_dy_quantize;
//      DOT: r0_wgrad_dy_quantize -> r0_wgrad;

// PRESET: recipe quartet, masked gradients
// PRESET: dgrad_w  | mxfp4 (again) | floor, pre_multiplier = 0.75 | stochastic   | H32 seeded signs |

// A rule has the name that fits the format.
// NF4: fprop_w  | nf4    | absmax     | nearest_even |

// UNKNOWN: expects the name of a recipe or all, but got fp5

func.func @two_of_a_kind(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  %z = blockscale.linear forward(%y, %w : tensor<8x64xf32>, tensor<64x64xf32>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}
