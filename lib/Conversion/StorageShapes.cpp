//===-- StorageShapes.cpp - Moving elements that lie in bytes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements without looking at them do the same to the
// bytes that hold them. With a byte per element nothing else changes. Where two
// elements share a byte, the innermost dimension must be left whole or be cut
// at even places.
//
//===----------------------------------------------------------------------===//
#include "StorageConversion.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace blockscale;

//===----------------------------------------------------------------------===//
// What can be converted
//===----------------------------------------------------------------------===//

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static int64_t innermost(RankedTensorType type) {
  return type.getShape().back();
}

static bool isEven(int64_t extent) {
  return !ShapedType::isDynamic(extent) && extent % 2 == 0;
}

static std::string tiledReason(Type type) {
  return "expects scales in a linear layout, but got " + textOf(type) +
         "; use blockscale.relayout first";
}

/// A slice of packed elements, given as the larger tensor and the cut.
static std::string checkSlice(RankedTensorType whole, RankedTensorType part,
                              ArrayRef<int64_t> offsets,
                              ArrayRef<int64_t> sizes,
                              ArrayRef<int64_t> strides) {
  int64_t offset = offsets.back(), size = sizes.back();
  bool isWhole = offset == 0 && size == innermost(whole) &&
                 !ShapedType::isDynamic(size) && size > 1;
  bool isCutEvenly = isEven(offset) && isEven(size);
  if (strides.back() == 1 && (isWhole || isCutEvenly) && part.getRank() > 0)
    return "";
  auto text = [](int64_t value) {
    return ShapedType::isDynamic(value) ? "?" : std::to_string(value);
  };
  return "expects a slice of whole bytes, two elements each: constant even "
         "offset and size and stride 1 in the innermost dimension, but got "
         "offset " +
         text(offset) + ", size " + text(size) + " and stride " +
         text(strides.back());
}

/// A reshape between packed tensors.
static std::string checkReshape(RankedTensorType expanded,
                                RankedTensorType collapsed,
                                ArrayRef<ReassociationIndices> groups) {
  bool keepsInnermost = !groups.empty() && groups.back().size() == 1;
  if (keepsInnermost ||
      (collapsed.getRank() > 0 && expanded.getRank() > 0 &&
       isEven(innermost(expanded)) && isEven(innermost(collapsed))))
    return "";
  return "expects to keep the innermost dimension, or even innermost extents, "
         "of elements that lie two to a byte, but got " +
         textOf(expanded) + " and " + textOf(collapsed);
}

// checkPacked: why the operation can't do to bytes what it does to elements
// that lie two to a byte; empty if it can.

static std::string checkPacked(tensor::EmptyOp op) {
  if (!ShapedType::isDynamic(innermost(op.getType())))
    return "";
  return "expects a constant innermost extent of elements that lie two to a "
         "byte, but got " +
         textOf(op.getType());
}

static std::string checkPacked(tensor::ExtractSliceOp op) {
  return checkSlice(op.getSourceType(), op.getType(), op.getStaticOffsets(),
                    op.getStaticSizes(), op.getStaticStrides());
}

static std::string checkPacked(tensor::InsertSliceOp op) {
  return checkSlice(op.getDestType(), op.getSourceType(), op.getStaticOffsets(),
                    op.getStaticSizes(), op.getStaticStrides());
}

static std::string checkPacked(tensor::ExpandShapeOp op) {
  return checkReshape(op.getResultType(), op.getSrcType(),
                      op.getReassociationIndices());
}

static std::string checkPacked(tensor::CollapseShapeOp op) {
  return checkReshape(op.getSrcType(), op.getResultType(),
                      op.getReassociationIndices());
}

static std::string checkPacked(tensor::ConcatOp op) {
  auto type = op.getResultType();
  if (static_cast<int64_t>(op.getDim()) != type.getRank() - 1)
    return "";
  for (Type input : ValueRange(op.getInputs().drop_back()).getTypes())
    if (!isEven(innermost(cast<RankedTensorType>(input))))
      return "expects even extents to put elements side by side that lie two "
             "to a byte, but got " +
             textOf(input);
  return "";
}

static std::string checkPacked(linalg::TransposeOp op) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  if (permutation.back() == static_cast<int64_t>(permutation.size()) - 1)
    return "";
  return "expects to keep the innermost dimension of elements that lie two to "
         "a byte; transpose real values and quantize them";
}

static std::string checkCast(RankedTensorType from, RankedTensorType to) {
  if (getStorage(from) != Storage::Packed || innermost(from) == innermost(to))
    return "";
  // One of them is dynamic, and counts whole bytes.
  auto isOdd = [](int64_t extent) {
    return !ShapedType::isDynamic(extent) && extent % 2 != 0;
  };
  if (!isOdd(innermost(from)) && !isOdd(innermost(to)))
    return "";
  return "expects an even innermost extent of elements that lie two to a "
         "byte, but got " +
         textOf(from) + " and " + textOf(to);
}

std::optional<std::string> blockscale::whyShapeIsNotConverted(Operation *op) {
  // All tensors of these operations have one element type, so one storage.
  Storage storage = Storage::Same;
  Type stored;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (storage == Storage::Same && getStorage(type) != Storage::Same) {
        storage = getStorage(type);
        stored = type;
      }
  bool isPacked = storage == Storage::Packed;
  bool isTiled = storage == Storage::Tiled;
  using Answer = std::optional<std::string>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case([&](tensor::CastOp cast) -> Answer {
        auto from = dyn_cast<RankedTensorType>(cast.getSource().getType());
        auto to = dyn_cast<RankedTensorType>(cast.getType());
        if (!from || !to)
          return "expects ranked tensors of " +
                 textOf(getElementTypeOrSelf(stored)) + ", but got " +
                 textOf(cast.getSource().getType()) + " and " +
                 textOf(cast.getType());
        return checkCast(from, to);
      })
      .Case([&](arith::SelectOp select) -> Answer {
        if (isPacked && isa<ShapedType>(select.getCondition().getType()))
          return "expects one condition for elements that lie two to a byte, "
                 "but got " +
                 textOf(select.getCondition().getType());
        return "";
      })
      .Case<tensor::DimOp, tensor::BitcastOp>(
          [&](auto) -> Answer { return isTiled ? tiledReason(stored) : ""; })
      .Case<tensor::EmptyOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ConcatOp,
            linalg::TransposeOp>([&](auto shaped) -> Answer {
        if (isTiled)
          return tiledReason(stored);
        return isPacked ? checkPacked(shaped) : "";
      })
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

/// tensor.dim of a packed tensor: the innermost extent counts elements.
struct ConvertDim : OpConversionPattern<tensor::DimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
    if (!type || getStorage(type) == Storage::Tiled)
      return rewriter.notifyMatchFailure(op, "a tiled layout has no extents");
    Value dim = tensor::DimOp::create(rewriter, loc, adaptor.getSource(),
                                      adaptor.getIndex());
    if (getStorage(type) == Storage::Packed) {
      Value last =
          arith::ConstantIndexOp::create(rewriter, loc, type.getRank() - 1);
      Value isLast = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, adaptor.getIndex(), last);
      Value elements;
      if (ShapedType::isDynamic(innermost(type))) {
        Value two = arith::ConstantIndexOp::create(rewriter, loc, 2);
        elements = arith::MulIOp::create(rewriter, loc, dim, two);
      } else {
        elements =
            arith::ConstantIndexOp::create(rewriter, loc, innermost(type));
      }
      dim = arith::SelectOp::create(rewriter, loc, isLast, elements, dim);
    }
    rewriter.replaceOp(op, dim);
    return success();
  }
};

/// Storage of the same type already: i4 and f4E2M1FN, i8 and f8E4M3FN.
struct ConvertBitcast : OpConversionPattern<tensor::BitcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::BitcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    Value source = adaptor.getSource();
    if (source.getType() != type)
      source = tensor::CastOp::create(rewriter, op.getLoc(), type, source);
    rewriter.replaceOp(op, source);
    return success();
  }
};

/// The same operation, with the same attributes, on storage.
template <typename OpTy> struct ConvertSame : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(this->getTypeConverter()->convertTypes(op->getResultTypes(),
                                                      types)))
      return failure();
    OperationState state(op.getLoc(), op->getName(), adaptor.getOperands(),
                         types, op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state)->getResults());
    return success();
  }
};

/// Its region names the element type.
struct ConvertTranspose : OpConversionPattern<linalg::TransposeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(linalg::TransposeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto transposed =
        linalg::TransposeOp::create(rewriter, op.getLoc(), adaptor.getInput(),
                                    adaptor.getInit(), op.getPermutation());
    rewriter.replaceOp(op, transposed->getResults());
    return success();
  }
};

/// Halves what counts elements of the innermost dimension, if it is packed.
void halveLast(Storage storage, SmallVectorImpl<int64_t> &values) {
  if (storage == Storage::Packed)
    values.back() = (values.back() + 1) / 2;
}

/// The constant offsets and sizes of a slice of a tensor in `storage`.
struct StoredSlice {
  StoredSlice(OffsetSizeAndStrideOpInterface op, Storage storage)
      : offsets(op.getStaticOffsets()), sizes(op.getStaticSizes()) {
    halveLast(storage, offsets);
    halveLast(storage, sizes);
  }
  SmallVector<int64_t> offsets, sizes;
};

struct ConvertExtractSlice : OpConversionPattern<tensor::ExtractSliceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::ExtractSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    StoredSlice stored(op, getStorage(op.getSourceType()));
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op,
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType())),
        adaptor.getSource(), adaptor.getOffsets(), adaptor.getSizes(),
        adaptor.getStrides(), stored.offsets, stored.sizes,
        op.getStaticStrides());
    return success();
  }
};

struct ConvertInsertSlice : OpConversionPattern<tensor::InsertSliceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::InsertSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    StoredSlice stored(op, getStorage(op.getDestType()));
    rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
        op, getTypeConverter()->convertType(op.getType()), adaptor.getSource(),
        adaptor.getDest(), adaptor.getOffsets(), adaptor.getSizes(),
        adaptor.getStrides(), stored.offsets, stored.sizes,
        op.getStaticStrides());
    return success();
  }
};

struct ConvertExpandShape : OpConversionPattern<tensor::ExpandShapeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::ExpandShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<int64_t> shape(op.getStaticOutputShape());
    bool isDynamic = ShapedType::isDynamic(shape.back());
    SmallVector<Value> sizes(adaptor.getOutputShape());
    if (!isDynamic) {
      halveLast(getStorage(op.getSrcType()), shape);
    } else if (getStorage(op.getSrcType()) == Storage::Packed) {
      Value two = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 2);
      sizes.back() =
          arith::DivUIOp::create(rewriter, op.getLoc(), sizes.back(), two);
    }
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(
        op, getTypeConverter()->convertType(op.getType()), adaptor.getSrc(),
        op.getReassociation(), sizes, shape);
    return success();
  }
};

} // namespace

void blockscale::populateStorageShapeConversion(const TypeConverter &converter,
                                                RewritePatternSet &patterns) {
  patterns
      .add<ConvertDim, ConvertBitcast, ConvertExtractSlice, ConvertInsertSlice,
           ConvertExpandShape, ConvertSame<tensor::CastOp>,
           ConvertSame<tensor::EmptyOp>, ConvertSame<tensor::CollapseShapeOp>,
           ConvertSame<tensor::ConcatOp>, ConvertSame<arith::SelectOp>,
           ConvertTranspose>(converter, patterns.getContext());
}
