//===-- StorageTypesTest.cpp - How tensors lie in memory ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/StorageTypes.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace blockscale;
using mlir::RankedTensorType;

namespace {
struct StorageTypes : testing::Test {
  StorageTypes() { context.loadDialect<BlockScaleDialect>(); }

  mlir::Type parse(const std::string &text) {
    mlir::Type type = mlir::parseType(text, &context);
    EXPECT_TRUE(type) << text;
    return type;
  }
  std::string storageOf(const std::string &text) {
    std::string storage;
    llvm::raw_string_ostream(storage)
        << getStorageType(mlir::cast<RankedTensorType>(parse(text)));
    return storage;
  }

  mlir::MLIRContext context;
};
} // namespace

// layout_c5
TEST_F(StorageTypes, FourBitsLieTwoInAByte) {
  EXPECT_EQ(storageOf("tensor<4x64xf4E2M1FN>"), "tensor<4x32xi8>");
  EXPECT_EQ(storageOf("tensor<?x64xi4>"), "tensor<?x32xi8>");
  EXPECT_EQ(storageOf("tensor<4x?xf4E2M1FN>"), "tensor<4x?xi8>");
  EXPECT_EQ(storageOf("tensor<4x5xi4>"), "tensor<4x3xi8>");
  EXPECT_EQ(storageOf("tensor<0xf4E2M1FN>"), "tensor<0xi8>");
  EXPECT_EQ(storageOf("tensor<f4E2M1FN>"), "tensor<i8>");
}

// layout_c6
TEST_F(StorageTypes, OtherNarrowElementsAreBytes) {
  for (const char *element : {"f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2",
                              "f8E8M0FNU", "i2", "i3", "i5", "i6", "i7", "i8"})
    EXPECT_EQ(storageOf("tensor<4x5x" + std::string(element) + ">"),
              "tensor<4x5xi8>");
}

TEST_F(StorageTypes, WhatMemoryHoldsStays) {
  for (const char *element : {"f64", "f32", "f16", "bf16", "i1", "i16", "i32",
                              "i64", "index", "complex<f32>"}) {
    std::string text = "tensor<4x?x" + std::string(element) + ">";
    EXPECT_EQ(storageOf(text), text);
  }
}

// layout_c1
TEST_F(StorageTypes, TilesAreBytesOfABatch) {
  auto tiled = [](const std::string &shape) {
    return "tensor<" + shape + "xf8E4M3FN, #blockscale.tiled_128x4>";
  };
  EXPECT_EQ(storageOf(tiled("128x4")), "tensor<512xi8>");
  EXPECT_EQ(storageOf(tiled("129x5")), "tensor<2048xi8>");
  EXPECT_EQ(storageOf(tiled("3x200x10")), "tensor<3x3072xi8>");
  EXPECT_EQ(storageOf(tiled("?x?x8")), "tensor<?x?xi8>");
  EXPECT_EQ(storageOf(tiled("?x128x8")), "tensor<?x1024xi8>");
}

TEST_F(StorageTypes, Kinds) {
  EXPECT_EQ(getStorage(parse("tensor<4xf32>")), Storage::Same);
  EXPECT_EQ(getStorage(parse("tensor<4xi8>")), Storage::Same);
  EXPECT_EQ(getStorage(parse("tensor<*xf4E2M1FN>")), Storage::Same);
  EXPECT_EQ(getStorage(parse("f4E2M1FN")), Storage::Same);
  EXPECT_EQ(getStorage(parse("tensor<4xi3>")), Storage::Bytes);
  EXPECT_EQ(getStorage(parse("tensor<f4E2M1FN>")), Storage::Bytes);
  EXPECT_EQ(getStorage(parse("tensor<4xi4>")), Storage::Packed);
  EXPECT_EQ(getStorage(parse("tensor<4x4xi8, #blockscale.tiled_128x4>")),
            Storage::Tiled);
}

TEST_F(StorageTypes, Widths) {
  EXPECT_EQ(getStorageWidth(parse("i1")), 1u);
  EXPECT_EQ(getStorageWidth(parse("f4E2M1FN")), 4u);
  EXPECT_EQ(getStorageWidth(parse("i3")), 8u);
  EXPECT_EQ(getStorageWidth(parse("f6E3M2FN")), 8u);
  EXPECT_EQ(getStorageWidth(parse("bf16")), 16u);
  EXPECT_EQ(getStorageWidth(parse("index")), 64u);
}
