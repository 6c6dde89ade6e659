//===-- Iterations.cpp - Which iteration a draw is in ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// What runs more than once: the regions of an operation, or blocks of one
/// region that reach each other.
struct Loop {
  Operation *op;
  SmallPtrSet<Block *, 4> blocks; // Empty for an operation's regions.

  bool contains(Value value) const {
    if (blocks.empty())
      return op->isAncestor(value.getParentRegion()->getParentOp());
    Block *block = (*blocks.begin())
                       ->getParent()
                       ->findAncestorBlockInRegion(*value.getParentBlock());
    return block && blocks.contains(block);
  }
  /// Whether `argument` is one of the loop's own, not of something inside.
  bool owns(BlockArgument argument) const {
    return blocks.empty() ? argument.getOwner()->getParentOp() == op
                          : blocks.contains(argument.getOwner());
  }
};

/// Whether values differ from one iteration of a loop to the next.
class Dependence {
public:
  explicit Dependence(const Loop &loop) : loop(loop) {}

  bool varies(Value value);

private:
  bool variesArgument(BlockArgument argument);
  bool variesCarried(BlockArgument argument, ValueRange next);
  bool variesInner(BlockArgument argument);

  const Loop &loop;
  /// Operations between the value asked for and the one at hand.
  unsigned computed = 0;
  /// Arguments on the way, and how many operations led to each.
  DenseMap<Value, unsigned> open;
  DenseMap<Value, bool> known;
};

} // namespace

bool Dependence::varies(Value value) {
  if (!value || !loop.contains(value))
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return variesArgument(argument);
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  // What is read from memory is the program's affair.
  bool result = !isMemoryEffectFree(op) && !isa<CallOpInterface>(op);
  if (!result) {
    ++computed;
    llvm::SetVector<Value> uses(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), uses);
    result = llvm::any_of(uses, [&](Value use) { return varies(use); });
    --computed;
  }
  return known[value] = result;
}

bool Dependence::variesArgument(BlockArgument argument) {
  if (!loop.owns(argument))
    return variesInner(argument);
  Block *block = argument.getOwner();
  unsigned number = argument.getArgNumber();
  if (!loop.blocks.empty()) {
    SmallVector<Value> next;
    for (Block *before : block->getPredecessors()) {
      auto branch = dyn_cast<BranchOpInterface>(before->getTerminator());
      if (!loop.blocks.contains(before) || !branch)
        continue;
      for (unsigned i = 0; i < before->getNumSuccessors(); ++i)
        if (before->getSuccessor(i) == block)
          next.push_back(branch.getSuccessorOperands(i)[number]);
    }
    return variesCarried(argument, next);
  }
  if (auto loopOp = dyn_cast<scf::WhileOp>(loop.op);
      loopOp && argument.getOwner() == loopOp.getAfterBody())
    return varies(loopOp.getConditionOp().getArgs()[number]);
  auto loopLike = dyn_cast<LoopLikeOpInterface>(loop.op);
  OpOperand *next =
      loopLike ? loopLike.getTiedLoopYieldedValue(argument) : nullptr;
  // Others are given anew: induction variables.
  return !next || variesCarried(argument, next->get());
}

/// An argument that is handed on as it is, be it around several corners, stays
/// the same; one that is computed from itself changes.
bool Dependence::variesCarried(BlockArgument argument, ValueRange next) {
  auto [entry, isNew] = open.try_emplace(argument, computed);
  if (!isNew)
    return computed > entry->second;
  bool result = llvm::any_of(next, [&](Value value) {
    known.clear();
    return varies(value);
  });
  open.erase(argument);
  return result;
}

/// Of something inside that may be a loop itself: it starts anew each time.
bool Dependence::variesInner(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto inner = dyn_cast<scf::WhileOp>(parent);
      inner && argument.getOwner() == inner.getAfterBody())
    return varies(inner.getConditionOp().getArgs()[argument.getArgNumber()]);
  auto inner = dyn_cast<LoopLikeOpInterface>(parent);
  if (!inner)
    return llvm::any_of(parent->getOperands(),
                        [&](Value operand) { return varies(operand); });
  if (OpOperand *init = inner.getTiedLoopInit(argument))
    return varies(init->get());
  auto bounds = inner.getLoopLowerBounds();
  return bounds && llvm::any_of(*bounds, [&](OpFoldResult bound) {
           return varies(dyn_cast<Value>(bound));
         });
}

/// Whether the regions of `op` run once at most.
static bool runsOnce(Operation *op) {
  if (isa<FunctionOpInterface>(op) || op->hasTrait<OpTrait::SymbolTable>())
    return true;
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return branch && !isa<LoopLikeOpInterface>(op) && !branch.hasLoop();
}

/// The blocks that `block` reaches and is reached from, if it is in a cycle.
static SmallPtrSet<Block *, 4> cycleOf(Block *block) {
  auto reach = [&](auto &&neighbours) {
    SmallPtrSet<Block *, 4> found;
    SmallVector<Block *> work(neighbours(block));
    while (!work.empty())
      if (Block *next = work.pop_back_val(); found.insert(next).second)
        llvm::append_range(work, neighbours(next));
    return found;
  };
  auto after = reach([](Block *b) {
    return SmallVector<Block *>(b->succ_begin(), b->succ_end());
  });
  auto before = reach([](Block *b) {
    return SmallVector<Block *>(b->pred_begin(), b->pred_end());
  });
  SmallPtrSet<Block *, 4> cycle;
  for (Block *b : after)
    if (before.contains(b))
      cycle.insert(b);
  return cycle;
}

/// The loops around `op` whose iterations see the same `seed`, innermost
/// first.
static SmallVector<Loop> loopsAround(Operation *op, Value seed) {
  SmallVector<Loop> loops;
  auto add = [&](Loop loop) {
    if (!seed || !Dependence(loop).varies(seed))
      loops.push_back(std::move(loop));
  };
  for (Operation *inner = op; !isa<FunctionOpInterface>(inner);) {
    Operation *parent = inner->getParentOp();
    if (!parent)
      break;
    if (auto cycle = cycleOf(inner->getBlock()); !cycle.empty())
      add({parent, std::move(cycle)});
    if (!runsOnce(parent))
      add({parent, {}});
    inner = parent;
  }
  return loops;
}

bool blockscale::repeatsDraws(Operation *op, Value seed) {
  return !loopsAround(op, seed).empty();
}

FailureOr<Value> blockscale::getIteration(OpBuilder &builder, Operation *op,
                                          Value seed) {
  SmallVector<Loop> loops = loopsAround(op, seed);
  Location loc = op->getLoc();
  auto index = [&](Value value) {
    return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                    value);
  };
  Value number;
  for (const Loop &loop : llvm::reverse(loops)) {
    auto loopOp = dyn_cast<scf::ForOp>(loop.op);
    bool isCounted = loopOp && loop.blocks.empty();
    for (const Loop &outer : loops)
      if (isCounted && &outer != &loop)
        isCounted = llvm::none_of(
            ValueRange{loopOp.getLowerBound(), loopOp.getUpperBound(),
                       loopOp.getStep()},
            [&](Value bound) { return Dependence(outer).varies(bound); });
    if (!isCounted) {
      InFlightDiagnostic error =
          op->emitOpError("expects a seed that changes in its loop, where "
                          "every iteration would draw the same bits: carry it "
                          "through the loop, or give each iteration its own "
                          "by blockscale.derive_seed %seed[%iteration]");
      error.attachNote(loop.op->getLoc())
          << "only iterations of scf.for are counted, by bounds that do not "
             "change in a loop around it";
      return error;
    }
    Value lower = index(loopOp.getLowerBound());
    Value step = index(loopOp.getStep());
    Value passed = builder.createOrFold<arith::SubIOp>(
        loc, index(loopOp.getInductionVar()), lower);
    Value own = builder.createOrFold<arith::DivUIOp>(loc, passed, step);
    if (number) {
      Value extent = builder.createOrFold<arith::SubIOp>(
          loc, index(loopOp.getUpperBound()), lower);
      Value trips = builder.createOrFold<arith::CeilDivUIOp>(loc, extent, step);
      number = builder.createOrFold<arith::MulIOp>(loc, number, trips);
      own = builder.createOrFold<arith::AddIOp>(loc, number, own);
    }
    number = own;
  }
  return number;
}
