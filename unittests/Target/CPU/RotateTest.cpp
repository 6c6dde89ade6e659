//===-- RotateTest.cpp - rotate equals the host, bit for bit --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compiled.h"
#include "Values.h"

#include "blockscale/Numerics/Reference.h"

#include <random>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

namespace {
struct RotateCase {
  std::vector<int64_t> shape;
  int64_t axis = 0, size = 0;
  DataType type = DataType::F32;
  enum { None, Attribute, Operand } signs = None;
  bool inverse = false;
};
} // namespace

static std::vector<int8_t> signsOf(int64_t size) {
  std::mt19937 random{uint32_t(size)};
  std::vector<int8_t> signs(size);
  for (int8_t &sign : signs)
    sign = random() % 2 ? 1 : -1;
  return signs;
}

static std::string textOf(const RotateCase &c) {
  std::string type = "tensor<";
  // Dynamic up to the axis.
  for (size_t dim = 0; dim < c.shape.size(); ++dim)
    type += int64_t(dim) <= c.axis && dim + 1 < c.shape.size()
                ? "?x"
                : std::to_string(c.shape[dim]) + "x";
  type += std::string(name(c.type)) + ">";
  std::string size = std::to_string(c.size);
  std::string attributes =
      "{size = " + size + ", axis = " + std::to_string(c.axis);
  if (c.signs == RotateCase::Attribute) {
    attributes += ", signs = array<i8";
    const char *separator = ": ";
    for (int8_t sign : signsOf(c.size)) {
      attributes += separator + std::to_string(sign);
      separator = ", ";
    }
    attributes += ">";
  }
  if (c.inverse)
    attributes += ", inverse";
  attributes += "}";
  bool operand = c.signs == RotateCase::Operand;
  std::string argument = operand ? ", %s: tensor<" + size + "xi8>" : "";
  std::string clause = operand ? " signs(%s : tensor<" + size + "xi8>)" : "";
  return "func.func @f(%x: " + type + argument + ") -> " + type +
         " {\n  %y = blockscale.rotate %x" + clause + " " + attributes + " : " +
         type + "\n  return %y : " + type + "\n}\n";
}

/// The host rotates runs of memory: gather them, and scatter the results.
static std::vector<float> expectedOf(const RotateCase &c,
                                     const std::vector<float> &x) {
  int64_t inner = 1, extent = c.shape[c.axis];
  for (size_t dim = c.axis + 1; dim < c.shape.size(); ++dim)
    inner *= c.shape[dim];
  std::vector<int> signs;
  if (c.signs != RotateCase::None)
    for (int8_t sign : signsOf(c.size))
      signs.push_back(sign);
  std::vector<float> y(x.size()), line(extent);
  for (size_t outer = 0; outer < x.size(); outer += extent * inner)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < extent; ++j)
        line[j] = x[outer + j * inner + i];
      std::vector<float> rotated = reference::rotate(
          line.data(), extent, unsigned(c.size), signs, c.inverse);
      for (int64_t j = 0; j < extent; ++j)
        y[outer + j * inner + i] = rotated[j];
    }
  return y;
}

static void run(const RotateCase &c) {
  std::string text = textOf(c);
  SCOPED_TRACE(text);
  Compiled compiled(text);
  ASSERT_TRUE(bool(compiled));
  int64_t count = 1;
  for (int64_t extent : c.shape)
    count *= extent;
  Reals x(c.type, awkwardValues(count, uint32_t(c.size + c.axis), true));
  std::vector<int8_t> signs = signsOf(c.size);
  std::vector<runtime::TensorView> inputs{x.view(c.shape)};
  if (c.signs == RotateCase::Operand)
    inputs.push_back(view(DataType::I8, signs.data(), {c.size}));
  std::vector<runtime::Tensor> results = compiled(inputs);
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].shape(), c.shape);
  Reals expected(c.type, expectedOf(c, x.values));
  expectSame(bitsOf(floatsOf(results[0])), bitsOf(expected.values), "rotate");
}

TEST(Rotate, EverySizeAlongTheLastAxis) {
  for (int64_t size = 2; size <= 256; size *= 2)
    run({{3, 5, 3 * size}, 2, size});
}

TEST(Rotate, EverySizeAlongOtherAxes) {
  for (int64_t size = 2; size <= 256; size *= 2) {
    run({{3, 2 * size, 19}, 1, size, DataType::F32, RotateCase::Attribute});
    run({{size, 3, 7}, 0, size, DataType::BF16, RotateCase::Operand});
  }
}

TEST(Rotate, EveryAxis) {
  for (int64_t axis = 0; axis < 4; ++axis) {
    std::vector<int64_t> shape{3, 5, 7, 9};
    shape[axis] = 24;
    run({shape, axis, 8, DataType::F32, RotateCase::Attribute, true});
  }
  run({{64}, 0, 16});
}

TEST(Rotate, EveryTypeSignAndDirection) {
  for (DataType type : {DataType::F32, DataType::BF16, DataType::F16})
    for (auto signs :
         {RotateCase::None, RotateCase::Attribute, RotateCase::Operand})
      for (bool inverse : {false, true}) {
        RotateCase c{{7, 64}, 1, 32, type};
        c.signs = signs;
        c.inverse = inverse;
        run(c);
        c.shape = {32, 21};
        c.axis = 0;
        run(c);
      }
}

TEST(Rotate, OddInnerExtents) {
  for (int64_t inner : {1, 2, 15, 16, 17, 31, 33})
    run({{2, 16, inner}, 1, 16, DataType::BF16, RotateCase::Operand});
}

TEST(Rotate, Nothing) {
  run({{0, 16}, 1, 16});
  run({{0, 32, 5}, 1, 16});
  run({{0, 5, 3}, 0, 4});
}
