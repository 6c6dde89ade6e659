//===-- HopperCode.cpp - Instructions of Hopper's matmul kernels ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HopperCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace blockscale::sm90;
using blockscale::nvidia::ThreadCode;

/// The register constraint of a value.
static StringRef constraintOf(Type type) {
  if (type.isF32())
    return "f";
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == 3 ? "r" : "l";
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return "l";
  case 16:
    return "h";
  case 1:
    return "b";
  default:
    return "r";
  }
}

static SmallVector<Value> emitAsm(OpBuilder &builder, Location loc,
                                  StringRef text, TypeRange results,
                                  ValueRange operands, StringRef constraints,
                                  bool pure) {
  MLIRContext *context = builder.getContext();
  Type type;
  if (results.size() == 1)
    type = results[0];
  else if (!results.empty())
    type =
        LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(results));
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, type ? TypeRange(type) : TypeRange(), operands, text,
      constraints, /*has_side_effects=*/!pure, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(
        builder, loc, op->getResult(0), static_cast<int64_t>(i)));
  return values;
}

SmallVector<Value> HopperCode::ptx(StringRef text, TypeRange results,
                                   ValueRange operands, bool pure) {
  SmallVector<std::string> constraints;
  // Results are written while operands are still read.
  for (Type type : results)
    constraints.push_back((pure ? "=" : "=&") + constraintOf(type).str());
  for (Value operand : operands)
    constraints.push_back(constraintOf(operand.getType()).str());
  if (!pure)
    constraints.push_back("~{memory}");
  return emitAsm(builder, loc, text, results, operands,
                 llvm::join(constraints, ","), pure);
}

SmallVector<Value> HopperCode::ptxInPlace(StringRef text, ValueRange carried,
                                          ValueRange operands) {
  SmallVector<std::string> constraints;
  for (Value value : carried)
    constraints.push_back("=" + constraintOf(value.getType()).str());
  for (size_t i = 0; i < carried.size(); ++i)
    constraints.push_back(std::to_string(i));
  for (Value operand : operands)
    constraints.push_back(constraintOf(operand.getType()).str());
  constraints.push_back("~{memory}");
  SmallVector<Value> inputs(carried);
  llvm::append_range(inputs, operands);
  return emitAsm(builder, loc, text, SmallVector<Type>(carried.getTypes()),
                 inputs, llvm::join(constraints, ","), /*pure=*/false);
}

Value HopperCode::sharedMemory() {
  constexpr StringLiteral name = "blockscale_dynamic_shared";
  auto module = builder.getInsertionBlock()
                    ->getParentOp()
                    ->getParentOfType<gpu::GPUModuleOp>();
  if (!module)
    module = cast<gpu::GPUModuleOp>(
        builder.getInsertionBlock()->getParentOp()->getParentOp());
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder start = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        start, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
        /*alignment=*/1024, /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 3), name);
}

Value HopperCode::sharedAddress(Value pointer) {
  // In a cluster the address also holds the block's rank.
  return band(
      LLVM::PtrToIntOp::create(builder, loc, i32(), pointer).getResult(),
      0x3ffff);
}

Value HopperCode::blockIdY() {
  return NVVM::BlockIdYOp::create(builder, loc, i32());
}

Value HopperCode::shiftRight(Value a, Value bits) {
  return builder.createOrFold<arith::ShRUIOp>(loc, a, bits);
}
Value HopperCode::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxUIOp>(loc, a, b);
}
Value HopperCode::differs(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, a,
                                             b);
}
void HopperCode::branchElse(Value condition,
                            llvm::function_ref<void(ThreadCode &)> then,
                            llvm::function_ref<void(ThreadCode &)> otherwise) {
  auto emit = [](llvm::function_ref<void(ThreadCode &)> body) {
    return [body](OpBuilder &inner, Location loc) {
      ThreadCode code(inner, loc);
      body(code);
      scf::YieldOp::create(inner, loc);
    };
  };
  scf::IfOp::create(builder, loc, condition, emit(then), emit(otherwise));
}
SmallVector<Value> HopperCode::chooseOne(
    Value condition, llvm::function_ref<SmallVector<Value>(ThreadCode &)> then,
    llvm::function_ref<SmallVector<Value>(ThreadCode &)> otherwise) {
  auto emit = [](llvm::function_ref<SmallVector<Value>(ThreadCode &)> body) {
    return [body](OpBuilder &inner, Location loc) {
      ThreadCode code(inner, loc);
      scf::YieldOp::create(inner, loc, body(code));
    };
  };
  auto branch =
      scf::IfOp::create(builder, loc, condition, emit(then), emit(otherwise));
  return SmallVector<Value>(branch.getResults());
}
Value HopperCode::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI1Type(),
                                  constant(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

Value HopperCode::mulF16x2(Value a, Value b) {
  return ptx("mul.rn.f16x2 $0, $1, $2;", i32(), {a, b}, /*pure=*/true)[0];
}
Value HopperCode::toE4M3x4(Value low, Value high) {
  return ptx("{ .reg .b16 l, h; cvt.rn.satfinite.e4m3x2.f16x2 l, $1; "
             "cvt.rn.satfinite.e4m3x2.f16x2 h, $2; mov.b32 $0, {l, h}; }",
             i32(), {low, high}, /*pure=*/true)[0];
}
Value HopperCode::mulBF16x2(Value a, Value b) {
  return ptx("mul.rn.bf16x2 $0, $1, $2;", i32(), {a, b}, /*pure=*/true)[0];
}
Value HopperCode::subBF16x2(Value a, Value b) {
  return ptx("sub.rn.bf16x2 $0, $1, $2;", i32(), {a, b}, /*pure=*/true)[0];
}
Value HopperCode::splat16(Value a) {
  return permuteBytes(a, a, constant(0x1010));
}
Value HopperCode::pairLow(Value a, Value b) {
  return permuteBytes(a, b, constant(0x5410));
}
Value HopperCode::pairHigh(Value a, Value b) {
  return permuteBytes(a, b, constant(0x7632));
}

static Value asInteger(HopperCode &code, Value bit) {
  return arith::ExtUIOp::create(code.builder, code.loc, code.i32(), bit);
}

SmallVector<Value> HopperCode::streamWords(Value pointer, int64_t count,
                                           Value present) {
  SmallVector<Type> types(count, i32());
  std::string text =
      "{ .reg .pred p; setp.ne.b32 p, $" + std::to_string(count + 1) + ", 0; ";
  std::string list;
  for (int64_t i = 0; i < count; ++i) {
    text += "mov.b32 $" + std::to_string(i) + ", 0; ";
    list += (i ? ", $" : "$") + std::to_string(i);
  }
  std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
  text += "@p ld.global.nc.L1::no_allocate.L2::256B" + vector + ".b32 " +
          (count == 1 ? list : "{" + list + "}") + ", [$" +
          std::to_string(count) + "]; }";
  return ptx(text, types, {pointer, asInteger(*this, present)});
}

Value HopperCode::loadUnsigned(Value pointer, int64_t bytes, Value present) {
  std::string type = ".u" + std::to_string(bytes * 8);
  return ptx("{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b32 $0, 0; "
             "@p ld.global.nc" +
                 type + " $0, [$1]; }",
             i32(), {pointer, asInteger(*this, present)})[0];
}

void HopperCode::copyLine(Value shared, Value global, Value present,
                          bool fill) {
  if (fill) {
    Value bytes = select(present, constant(16), constant(0));
    ptx("cp.async.cg.shared.global.L2::256B [$0], [$1], 16, $2;", {},
        {shared, global, bytes});
    return;
  }
  ptx("{ .reg .pred p; setp.ne.b32 p, $2, 0; "
      "@p cp.async.cg.shared.global.L2::256B [$0], [$1], 16; }",
      {}, {shared, global, asInteger(*this, present)});
}

SmallVector<Value> HopperCode::loadWords(Value pointer, int64_t count) {
  auto type = VectorType::get({count}, i32());
  return unpack(load(type, pointer, 4 * count));
}
void HopperCode::syncWarp() { ptx("bar.warp.sync -1;", {}, {}); }
Value HopperCode::warpMax(Value value) {
  return NVVM::ReduxOp::create(builder, loc, i32(), value,
                               NVVM::ReduxKind::UMAX, constant(-1));
}
void HopperCode::setBits(Value pointer, Value bits) {
  ptx("red.relaxed.gpu.global.or.b32 [$0], $1;", {}, {pointer, bits});
}
void HopperCode::storeWords(ArrayRef<Value> words, Value pointer) {
  store(pack(words), pointer, 4 * words.size());
}

SmallVector<Value> HopperCode::mma(ArrayRef<Value> a, ArrayRef<Value> b,
                                   ArrayRef<Value> c) {
  SmallVector<Type> types(4, f32());
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, c);
  return ptx("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
             "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, "
             "{$10, $11, $12, $13};",
             types, operands, /*pure=*/true);
}

Value HopperCode::clusterRank() {
  return NVVM::BlockInClusterIdXOp::create(builder, loc, i32());
}
void HopperCode::clusterBarrier() {
  ptx("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", {}, {});
}
void HopperCode::clusterBarrierRelaxed() {
  ptx("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;",
      {}, {});
}
SmallVector<Value> HopperCode::loadRemote4(Value pointer, Value rank) {
  SmallVector<Type> types(4, f32());
  return ptx("{ .reg .b32 a; mapa.shared::cluster.u32 a, $4, $5; "
             "ld.shared::cluster.v4.f32 {$0, $1, $2, $3}, [a]; }",
             types, {pointer, rank});
}

void HopperCode::initBarrier(Value barrier, int64_t count) {
  ptx("mbarrier.init.shared::cta.b64 [$0], $1;", {},
      {barrier, constant(count)});
}
void HopperCode::fenceBarrierInit() {
  ptx("fence.mbarrier_init.release.cluster;", {}, {});
}
void HopperCode::arrive(Value barrier) {
  ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", {}, {barrier});
}
void HopperCode::expectBytes(Value barrier, int64_t bytes) {
  ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", {},
      {barrier, constant(bytes)});
}
void HopperCode::arriveAfterCopies(Value barrier) {
  ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", {}, {barrier});
}
Value HopperCode::gridSize() {
  return NVVM::GridDimXOp::create(builder, loc, i32());
}
void HopperCode::waitParity(Value barrier, Value parity) {
  // ptxas makes labels of inlined code unique with ${:uid}.
  ptx("{ .reg .pred p; WAIT_${:uid}: "
      "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
      "@p bra DONE_${:uid}; bra WAIT_${:uid}; DONE_${:uid}: }",
      {}, {barrier, parity});
}

void HopperCode::copyBox(Value shared, Value map, ArrayRef<Value> coordinates,
                         Value barrier) {
  std::string list;
  for (size_t i = 0; i < coordinates.size(); ++i)
    list += (i ? ", $" : "$") + std::to_string(3 + i);
  SmallVector<Value> operands{shared, map, barrier};
  llvm::append_range(operands, coordinates);
  ptx("cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
          "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], "
          "[$1, {" +
          list + "}], [$2];",
      {}, operands);
}
void HopperCode::copyBulk(Value shared, Value global, Value bytes,
                          Value barrier) {
  ptx("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[$0], [$1], $2, [$3];",
      {}, {shared, global, bytes, barrier});
}
void HopperCode::fenceProxy() { ptx("fence.proxy.async.shared::cta;", {}, {}); }

static std::string registerList(size_t first, size_t count) {
  std::string list = "{";
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}

SmallVector<Value> HopperCode::wgmmaRegisters(ArrayRef<Value> accumulators,
                                              int64_t tokens, ArrayRef<Value> a,
                                              ArrayRef<Value> descriptors) {
  size_t count = accumulators.size(); // Operands begin after the tied ones.
  size_t firstA = 2 * count;
  size_t firstB = firstA + a.size();
  std::string text = "{ .reg .pred p; setp.eq.b32 p, 0, 0; "
                     "wgmma.fence.sync.aligned; ";
  for (size_t step = 0; step < descriptors.size(); ++step)
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(tokens) +
            "k16.f32.bf16.bf16 " + registerList(0, count) + ", " +
            registerList(firstA + 4 * step, 4) + ", $" +
            std::to_string(firstB + step) + ", p, 1, 1, 0; ";
  text += "wgmma.commit_group.sync.aligned; }";
  SmallVector<Value> operands(a);
  llvm::append_range(operands, descriptors);
  return ptxInPlace(text, accumulators, operands);
}

SmallVector<Value> HopperCode::descriptors(Value tile, int64_t count) {
  // Eight rows are 1024 bytes.
  constexpr int64_t fixed =
      int64_t(1) << 16 | int64_t(1024 / 16) << 32 | int64_t(1) << 62;
  Value start = shr(sharedAddress(tile), 4);
  SmallVector<Value> steps;
  for (int64_t step = 0; step < count; ++step)
    steps.push_back(bor(wide(add(start, 2 * step)), constant64(fixed)));
  return steps;
}

SmallVector<Value> HopperCode::wgmmaShared(ArrayRef<Value> accumulators,
                                           int64_t n, ArrayRef<Value> a,
                                           ArrayRef<Value> b) {
  size_t count = accumulators.size(); // Operands begin after the tied ones.
  std::string text = "{ .reg .pred p; setp.eq.b32 p, 0, 0; "
                     "wgmma.fence.sync.aligned; ";
  for (size_t step = 0; step < a.size(); ++step)
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
            "k16.f32.bf16.bf16 " + registerList(0, count) + ", $" +
            std::to_string(2 * count + step) + ", $" +
            std::to_string(2 * count + a.size() + step) + ", p, 1, 1, 0, 0; ";
  text += "wgmma.commit_group.sync.aligned; }";
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  return ptxInPlace(text, accumulators, operands);
}

SmallVector<Value> HopperCode::wgmmaE4M3(int64_t n, ArrayRef<Value> a,
                                         ArrayRef<Value> b) {
  size_t count = n / 2; // Results come first.
  std::string text = "{ .reg .pred no, yes; setp.ne.b32 no, 0, 0; "
                     "setp.eq.b32 yes, 0, 0; wgmma.fence.sync.aligned; ";
  for (size_t step = 0; step < a.size(); ++step)
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
            "k32.f32.e4m3.e4m3 " + registerList(0, count) + ", $" +
            std::to_string(count + step) + ", $" +
            std::to_string(count + a.size() + step) +
            (step ? ", yes" : ", no") + ", 1, 1; ";
  text += "wgmma.commit_group.sync.aligned; "
          "wgmma.wait_group.sync.aligned 0; }";
  SmallVector<Type> types(count, f32());
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  return ptx(text, types, operands);
}

SmallVector<Value> HopperCode::wgmmaWait(ArrayRef<Value> accumulators,
                                         int64_t pending,
                                         ArrayRef<Value> inUse) {
  return ptxInPlace("wgmma.wait_group.sync.aligned " + std::to_string(pending) +
                        ";",
                    accumulators, inUse);
}

void HopperCode::awaitPrevious() { ptx("griddepcontrol.wait;", {}, {}); }
void HopperCode::releaseNext() {
  ptx("griddepcontrol.launch_dependents;", {}, {});
}

void HopperCode::registers(int64_t count, bool increase) {
  ptx(std::string("setmaxnreg.") + (increase ? "inc" : "dec") +
          ".sync.aligned.u32 " + std::to_string(count) + ";",
      {}, {});
}
void HopperCode::namedBarrier(int64_t id, int64_t threads) {
  ptx("bar.sync " + std::to_string(id) + ", " + std::to_string(threads) + ";",
      {}, {});
}
