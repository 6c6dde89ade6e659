//===-- GPUKernelSet.cpp - Kernels in a gpu.module ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"
#include "GPUThreadOps.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Target/NVIDIA/Passes.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

/// What cudaMalloc and every framework's allocator give at least.
static constexpr int64_t kBufferAlignment = 16;
/// Threads of a block in kernels with one thread per item.
static constexpr int32_t kItemThreads = 128;

GPUKernelSet::~GPUKernelSet() = default;

GPUKernelSet::GPUKernelSet(ModuleOp module, const Chip &chip)
    : KernelSet(kernels::ItemSize::Block, kBufferAlignment), module(module),
      chip(chip), ops(std::make_unique<GPUThreadOps>(chip)), device([&] {
        OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
        return gpu::GPUModuleOp::create(builder, module.getLoc(),
                                        kKernelModule);
      }()),
      hostSymbols(module), deviceSymbols(device) {}

const kernels::ThreadOps &GPUKernelSet::threadOps() const { return *ops; }

func::FuncOp GPUKernelSet::addKernel(Location loc, StringRef name,
                                     TypeRange argumentTypes,
                                     const LaunchShape &shape) {
  OpBuilder builder(module.getContext());
  auto kernel = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(argumentTypes, {}));
  NamedAttrList launch;
  launch.set("block", builder.getI32IntegerAttr(shape.threads));
  launch.set("cluster", builder.getI32IntegerAttr(shape.cluster));
  launch.set("shared", builder.getI32IntegerAttr(shape.sharedBytes));
  if (shape.persistent)
    launch.set("persistent", builder.getUnitAttr());
  if (shape.overlaps)
    launch.set("overlaps", builder.getUnitAttr());
  if (shape.resident)
    launch.set("resident", builder.getI32IntegerAttr(shape.resident));
  kernel->setAttr(kLaunchAttr, launch.getDictionary(module.getContext()));
  deviceSymbols.insert(kernel); // Renames on collision.
  kernel.addEntryBlock();
  return kernel;
}

func::FuncOp GPUKernelSet::create(Location loc, StringRef name,
                                  TypeRange argumentTypes,
                                  kernels::KernelBody body) {
  OpBuilder builder(module.getContext());
  SmallVector<Type> types{builder.getIndexType()};
  llvm::append_range(types, argumentTypes);
  func::FuncOp kernel =
      addKernel(loc, name, types, LaunchShape{kItemThreads, 1, 0});
  Block &entry = kernel.front();
  builder.setInsertionPointToStart(&entry);
  // Thread i does item i, if there is one.
  IndexMath math(builder, loc);
  Type i32 = builder.getI32Type();
  auto wide = [&](Value special) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        special);
  };
  Value block = wide(NVVM::BlockIdXOp::create(builder, loc, i32));
  Value thread = wide(NVVM::ThreadIdXOp::create(builder, loc, i32));
  Value begin = math.add(math.mul(block, kItemThreads), thread);
  Value end = math.min(math.add(begin, 1), entry.getArgument(0));
  body(builder, loc, begin, end, entry.getArguments().drop_front(1));
  func::ReturnOp::create(builder, loc);
  return kernel;
}

func::FuncOp GPUKernelSet::getOrCreateRaw(
    Location loc, StringRef name, StringRef key, TypeRange argumentTypes,
    const LaunchShape &shape,
    llvm::function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  func::FuncOp &kernel = rawKernels[key];
  if (kernel)
    return kernel;
  kernel = addKernel(loc, name, argumentTypes, shape);
  OpBuilder builder(module.getContext());
  for (auto [index, type] : llvm::enumerate(argumentTypes))
    if (type == LLVM::LLVMPointerType::get(module.getContext()))
      kernel.setArgAttr(index, kByValueAttr, builder.getUnitAttr());
  builder.setInsertionPointToStart(&kernel.front());
  body(builder, loc, kernel.getArguments());
  func::ReturnOp::create(builder, loc);
  return kernel;
}

void GPUKernelSet::callLauncher(OpBuilder &builder, Location loc,
                                func::FuncOp kernel, ValueRange operands) {
  func::FuncOp &launcher = launchers[kernel.getSymName()];
  if (!launcher) {
    OpBuilder moduleBuilder(module.getContext());
    launcher = func::FuncOp::create(
        moduleBuilder, loc, (kernel.getSymName() + ".launch").str(),
        moduleBuilder.getFunctionType(operands.getTypes(), {}));
    launcher.setPrivate();
    NamedAttrList shape(kernel->getAttrOfType<DictionaryAttr>(kLaunchAttr));
    shape.set("kernel", kernel.getSymNameAttr());
    launcher->setAttr(kLaunchAttr, shape.getDictionary(module.getContext()));
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (kernel.getArgAttr(i, kByValueAttr))
        launcher.setArgAttr(i + 3, kByValueAttr, moduleBuilder.getUnitAttr());
    hostSymbols.insert(launcher);
  }
  func::CallOp::create(builder, loc, launcher, operands);
}

void GPUKernelSet::launch(OpBuilder &builder, Location loc, func::FuncOp kernel,
                          Value count, Value, ValueRange arguments) {
  IndexMath math(builder, loc);
  SmallVector<Value> operands{math.ceilDiv(count, kItemThreads),
                              math.constant(1), math.constant(1), count};
  llvm::append_range(operands, arguments);
  callLauncher(builder, loc, kernel, operands);
}

void GPUKernelSet::launchRaw(OpBuilder &builder, Location loc,
                             func::FuncOp kernel, ValueRange grid,
                             ValueRange arguments) {
  SmallVector<Value> operands(grid);
  for (auto [argument, type] :
       llvm::zip_equal(arguments, kernel.getArgumentTypes())) {
    if (isa<MemRefType>(argument.getType()) && !isa<MemRefType>(type))
      argument = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc,
                                                                argument);
    operands.push_back(argument);
  }
  callLauncher(builder, loc, kernel, operands);
}

void GPUKernelSet::fillZero(OpBuilder &builder, Location loc, Value buffer) {
  constexpr StringLiteral name = "blockscaleGpuFill";
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto fill = hostSymbols.lookup<LLVM::LLVMFuncOp>(name);
  if (!fill) {
    OpBuilder moduleBuilder(module.getContext());
    fill = LLVM::LLVMFuncOp::create(
        moduleBuilder, loc, name,
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(module.getContext()), {i64, i32, i64}));
    hostSymbols.insert(fill);
  }
  IndexMath math(builder, loc);
  auto type = cast<MemRefType>(buffer.getType());
  Value size = memref::DimOp::create(builder, loc, buffer, 0);
  Value bytes =
      math.mul(size, type.getElementType().getIntOrFloatBitWidth() / 8);
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  auto wide = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, i64, index);
  };
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  LLVM::CallOp::create(builder, loc, fill,
                       ValueRange{wide(pointer), zero, wide(bytes)});
}

void GPUKernelSet::atomicUMax(OpBuilder &builder, Location loc, Value value,
                              Value buffer) {
  // One atomic operation a warp.
  Type i32 = builder.getI32Type();
  Value all = arith::ConstantIntOp::create(builder, loc, -1, 32);
  Value largest = NVVM::ReduxOp::create(builder, loc, i32, value,
                                        NVVM::ReduxKind::UMAX, all);
  Value lane = NVVM::LaneIdOp::create(builder, loc, i32);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                            arith::ConstantIntOp::create(builder, loc, 0, 32));
  scf::IfOp::create(builder, loc, isFirst, [&](OpBuilder &inner, Location) {
    Value zero = arith::ConstantIndexOp::create(inner, loc, 0);
    memref::AtomicRMWOp::create(inner, loc, arith::AtomicRMWKind::maxu, largest,
                                buffer, ValueRange{zero});
    scf::YieldOp::create(inner, loc);
  });
}
