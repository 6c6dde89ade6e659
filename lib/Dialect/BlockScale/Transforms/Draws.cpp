//===-- Draws.cpp - Seeds that no two draws share -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Draws.h"
#include "Iterations.h"
#include "blockscale/Numerics/Seeds.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <set>

using namespace mlir;
using namespace blockscale;

FreeSites::FreeSites(ModuleOp module) {
  module.walk([&](DeriveSeedOp op) { used.insert(op.getSite()); });
}

FailureOr<int64_t> FreeSites::take(Operation *op) {
  while (next < kMaxSites && used.contains(next))
    ++next;
  if (next < kMaxSites)
    return next++;
  return op->emitOpError("expects a free site from ")
         << kFirstFreeSite << " to " << kMaxSites - 1
         << " in the module for its draw, but all are in use";
}

SeedPath::SeedPath(Value seed) {
  while (auto derived = seed.getDefiningOp<DeriveSeedOp>()) {
    sites.emplace_back(derived.getSite(), derived.getIteration());
    seed = derived.getSeed();
  }
  std::reverse(sites.begin(), sites.end());
  Attribute constant;
  root = matchPattern(seed, m_Constant(&constant))
             ? constant.getAsOpaquePointer()
             : seed.getAsOpaquePointer();
}

bool SeedPath::isPrefixOf(const SeedPath &other) const {
  return root == other.root &&
         ArrayRef(sites) ==
             ArrayRef(other.sites)
                 .take_front(std::min(sites.size(), other.sites.size()));
}

Value blockscale::getDrawnSeed(Operation *op) {
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    bool isOpen = !quantize.getRoundingMode() && op->hasAttr(kRoleAttr);
    return isOpen || quantize.getRounding() == Rounding::Stochastic
               ? quantize.getSeed()
               : Value();
  }
  if (auto fake = dyn_cast<FakeQuantizeOp>(op))
    return fake.getSeed();
  if (auto error = dyn_cast<QuantizationErrorOp>(op))
    return error.getSeed();
  if (auto signs = dyn_cast<RandomSignsOp>(op))
    return signs.getSeed();
  return {};
}

namespace {

/// A draw, or a call of a function that draws by an operand.
struct Draw {
  OpOperand *callOperand; ///< Null for a draw.
  SeedPath path;
};

class CallSeparation {
public:
  CallSeparation(ModuleOp module, FreeSites &sites);

  LogicalResult run();

private:
  FunctionOpInterface calleeOf(Operation *op);
  bool addDrawn(FunctionOpInterface function);
  bool noteSeed(FunctionOpInterface function, Value seed);
  LogicalResult separate(FunctionOpInterface function);
  LogicalResult checkRunsOnce();

  SymbolTableCollection symbols;
  FreeSites &sites;
  SmallVector<FunctionOpInterface> functions;
  /// The arguments that each function draws by, and those functions that draw
  /// by a constant.
  DenseMap<Operation *, std::set<unsigned>> drawn;
  llvm::SmallDenseSet<Operation *> byConstant;
};

} // namespace

CallSeparation::CallSeparation(ModuleOp module, FreeSites &sites)
    : sites(sites) {
  module.walk([&](FunctionOpInterface function) {
    if (!function.isExternal())
      functions.push_back(function);
  });
}

FunctionOpInterface CallSeparation::calleeOf(Operation *op) {
  auto call = dyn_cast<CallOpInterface>(op);
  return call ? dyn_cast_or_null<FunctionOpInterface>(
                    call.resolveCallableInTable(&symbols))
              : FunctionOpInterface();
}

/// Notes what `seed` comes from; whether that was not known.
bool CallSeparation::noteSeed(FunctionOpInterface function, Value seed) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = false;
  options.filter = [&](Operation *op) { return op != function; };
  SmallVector<Value> sources = {seed};
  if (succeeded(getBackwardSlice(seed, &slice, options)))
    for (Operation *op : slice)
      llvm::append_range(sources, op->getOperands());
  bool isNew = false, isConstant = true;
  for (Value source : sources) {
    auto argument = dyn_cast<BlockArgument>(source);
    if (!argument || argument.getOwner()->getParentOp() != function)
      continue;
    isConstant = false;
    // Blocks may have been handed any of the function's.
    for (BlockArgument own : function.getArguments())
      if (own == argument || (!argument.getOwner()->isEntryBlock() &&
                              own.getType() == seed.getType()))
        isNew |= drawn[function].insert(own.getArgNumber()).second;
  }
  // What else a seed may depend on is read from memory.
  isConstant &= llvm::all_of(slice, [](Operation *op) {
    return isMemoryEffectFree(op) && !isa<CallOpInterface>(op);
  });
  return isNew | (isConstant && byConstant.insert(function).second);
}

/// Looks for draws of `function`; whether some were not known.
bool CallSeparation::addDrawn(FunctionOpInterface function) {
  bool isNew = false;
  function->walk([&](Operation *op) {
    if (Value seed = getDrawnSeed(op); seed && !isa<RandomSignsOp>(op))
      isNew |= noteSeed(function, seed);
    else if (seed && !matchPattern(seed, m_Constant()))
      isNew |= noteSeed(function, seed);
    if (FunctionOpInterface callee = calleeOf(op)) {
      auto arguments = cast<CallOpInterface>(op).getArgOperands();
      for (unsigned number : drawn.lookup(callee))
        isNew |= noteSeed(function, arguments[number]);
      if (byConstant.contains(callee))
        isNew |= byConstant.insert(function).second;
    }
  });
  return isNew;
}

/// A function that draws by a constant, and is not called once.
LogicalResult CallSeparation::checkRunsOnce() {
  DenseMap<Operation *, Operation *> calls;
  for (FunctionOpInterface function : functions) {
    auto result = function->walk([&](Operation *op) {
      FunctionOpInterface callee = calleeOf(op);
      if (!callee || !byConstant.contains(callee))
        return WalkResult::advance();
      auto [first, isFirst] = calls.try_emplace(callee, op);
      if (isFirst && !repeatsDraws(op, Value()))
        return WalkResult::advance();
      InFlightDiagnostic error =
          op->emitOpError("expects a function that runs once, but '")
          << callee.getName()
          << "' draws by a constant seed, the same bits in each call: give it "
             "an argument tensor<i64>, with blockscale.seed where "
             "blockscale-choose-rounding is to draw by it";
      if (!isFirst)
        error.attachNote(first->second->getLoc()) << "another call";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult CallSeparation::separate(FunctionOpInterface function) {
  SmallVector<Draw> draws;
  function->walk([&](Operation *op) {
    if (Value seed = getDrawnSeed(op))
      draws.push_back({nullptr, SeedPath(seed)});
    FunctionOpInterface callee = calleeOf(op);
    if (!callee)
      return;
    auto arguments = cast<CallOpInterface>(op).getArgOperandsMutable();
    for (unsigned number : drawn.lookup(callee))
      draws.push_back({&arguments[number], SeedPath(arguments[number].get())});
  });
  for (auto [index, draw] : llvm::enumerate(draws)) {
    if (!draw.callOperand)
      continue;
    bool isShared = false;
    for (auto [otherIndex, other] : llvm::enumerate(draws))
      isShared |= index != otherIndex && draw.path.isPrefixOf(other.path);
    Operation *call = draw.callOperand->getOwner();
    Value seed = draw.callOperand->get();
    if (!isShared && !repeatsDraws(call, seed))
      continue;
    if (seed.getType() !=
        RankedTensorType::get({}, IntegerType::get(call->getContext(), 64)))
      return call->emitOpError("expects a seed of type tensor<i64> for the "
                               "draws of what it calls, which share it with "
                               "others, but got ")
             << seed.getType();
    OpBuilder builder(call);
    FailureOr<Value> iteration = getIteration(builder, call, seed);
    FailureOr<int64_t> site =
        succeeded(iteration) ? sites.take(call) : FailureOr<int64_t>();
    if (failed(site))
      return failure();
    draw.callOperand->set(
        DeriveSeedOp::create(builder, call->getLoc(), seed, *iteration, *site));
  }
  return success();
}

LogicalResult CallSeparation::run() {
  // Draws reach callers through any number of calls.
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (FunctionOpInterface function : functions)
      isNew |= addDrawn(function);
  }
  if (failed(checkRunsOnce()))
    return failure();
  for (FunctionOpInterface function : functions)
    if (failed(separate(function)))
      return failure();
  return success();
}

LogicalResult blockscale::separateCalls(ModuleOp module, FreeSites &sites) {
  return CallSeparation(module, sites).run();
}
