// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: func @balance
func.func @balance(%w: tensor<?x200xbf16>) -> (tensor<?x200xf32>, tensor<200xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = blockscale.balance %{{.*}} {block = 64 : i64, steps = 16 : i64} : tensor<?x200xbf16> -> tensor<?x200xf32>, tensor<200xf32>
  %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<?x200xbf16> -> tensor<?x200xf32>, tensor<200xf32>
  return %b, %c : tensor<?x200xf32>, tensor<200xf32>
}
