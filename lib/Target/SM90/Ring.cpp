//===-- Ring.cpp - Stages between copies and products ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ring.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::ThreadCode;

/// Registers that a thread of three warpgroups starts with.
static constexpr int64_t kStartRegisters = 168;

void Ring::begin(HopperCode &code, Value thread, int64_t fills,
                 int64_t uses) const {
  code.branch(code.eq(thread, code.constant(0)), [&](ThreadCode &single) {
    HopperCode c(single);
    for (int64_t stage = 0; stage < stages; ++stage) {
      c.initBarrier(full(c, c.constant(stage)), fills);
      c.initBarrier(empty(c, c.constant(stage)), uses);
    }
    c.fenceBarrierInit();
  });
  code.barrier();
}

void Ring::release(HopperCode &c, Value stage) const {
  c.arrive(empty(c, stage));
}

void sm90::splitRoles(HopperCode &code, Value thread, int64_t consumers,
                      int64_t copyRegisters,
                      llvm::function_ref<void(HopperCode &)> consume,
                      llvm::function_ref<void(HopperCode &)> produce) {
  code.branchElse(
      code.lt(thread, code.constant(consumers)),
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        c.registers((3 * kStartRegisters - copyRegisters) / 2,
                    /*increase=*/true);
        consume(c);
      },
      [&](ThreadCode &inner) {
        HopperCode c(inner);
        c.registers(copyRegisters, /*increase=*/false);
        produce(c);
      });
}
