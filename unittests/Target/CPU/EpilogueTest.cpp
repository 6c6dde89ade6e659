//===-- EpilogueTest.cpp - Epilogues against scalar evaluation ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulators are exact (see MatmulTest.cpp); each element of the result
// is computed here once more, in f32 where the epilogue is arithmetic, in
// double where it has transcendental functions.
//
//===----------------------------------------------------------------------===//
#include "MatmulCase.h"

#include "blockscale/Runtime/Convert.h"

#include <cmath>
#include <cstring>
#include <functional>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

namespace {

/// An operand of an epilogue, f32 unless it says otherwise.
struct Operand {
  std::vector<int64_t> shape;
  DataType type = DataType::F32;
};

/// Value of an element from its accumulator and its operands' elements.
using Evaluate = std::function<double(float, const std::vector<double> &)>;

struct Epilogue {
  std::vector<Operand> operands;
  std::string region;
  Evaluate evaluate;
  /// In units of the last place of f32; 0 compares bits.
  double ulps = 0;
  DataType result = DataType::F32;
};

constexpr int64_t kM = 19, kN = 37;

} // namespace

static std::string typeOf(const Operand &operand) {
  std::string text = "tensor<";
  // As dynamic as can be: an extent of 1 is broadcast.
  for (int64_t extent : operand.shape)
    text += extent == 1 ? "1x" : "?x";
  return text + std::string(name(operand.type)) + ">";
}

/// The element of an operand that belongs to an element of the result.
static int64_t indexIn(const Operand &operand,
                       const std::vector<int64_t> &position) {
  int64_t index = 0;
  size_t missing = position.size() - operand.shape.size();
  for (size_t dim = 0; dim < operand.shape.size(); ++dim) {
    int64_t extent = operand.shape[dim];
    index = index * extent + (extent == 1 ? 0 : position[missing + dim]);
  }
  return index;
}

static std::vector<uint8_t> fill(const Operand &operand, uint32_t seed) {
  int64_t count = 1;
  for (int64_t extent : operand.shape)
    count *= extent;
  std::vector<float> values = awkwardValues(count, seed, false);
  std::vector<uint8_t> bytes(count * size(operand.type));
  for (int64_t i = 0; i < count; ++i) {
    uint8_t *to = &bytes[i * size(operand.type)];
    float x = values[i];
    if (operand.type == DataType::F32) {
      std::memcpy(to, &x, 4);
    } else if (operand.type == DataType::F64) {
      double wide = x;
      std::memcpy(to, &wide, 8);
    } else if (operand.type == DataType::I1) {
      *to = x > 0;
    } else if (isFloat(operand.type)) {
      uint16_t half = operand.type == DataType::BF16 ? runtime::toBF16(x)
                                                     : runtime::toF16(x);
      std::memcpy(to, &half, 2);
    } else {
      int64_t whole = int64_t(std::fmod(double(x) * 10, 100));
      std::memcpy(to, &whole, size(operand.type));
    }
  }
  return bytes;
}

static double valueAt(const Operand &operand, const std::vector<uint8_t> &bytes,
                      int64_t index) {
  std::string error;
  auto one = runtime::Tensor::allocate(operand.type, {1}, error);
  std::memcpy(one->data(), &bytes[index * size(operand.type)],
              size(operand.type));
  if (isFloat(operand.type))
    return runtime::valueAt(*one, 0);
  int64_t whole = 0;
  std::memcpy(&whole, one->data(), size(operand.type));
  unsigned unused = 64 - 8 * size(operand.type);
  return double(int64_t(uint64_t(whole) << unused) >> unused);
}

static void run(const Epilogue &epilogue, std::vector<int64_t> batch = {}) {
  SCOPED_TRACE(epilogue.region);
  MatmulCase c{{*Format::fromPreset("nvfp4")}, {*Format::fromPreset("mxfp4")}};
  c.k = 96;
  c.batchDims = int64_t(batch.size());
  c.result = epilogue.result;
  c.epilogue = epilogue.region;
  std::vector<std::vector<uint8_t>> memory;
  for (const Operand &operand : epilogue.operands) {
    c.operandTypes.push_back(typeOf(operand));
    memory.push_back(fill(operand, uint32_t(17 * memory.size() + 5)));
  }
  Compiled compiled(c.text());
  ASSERT_TRUE(bool(compiled)) << c.text();
  MatmulData data(c, batch, kM, kN, 99);
  std::vector<runtime::TensorView> inputs = data.inputs();
  for (size_t i = 0; i < memory.size(); ++i)
    inputs.push_back(view(epilogue.operands[i].type, memory[i].data(),
                          epilogue.operands[i].shape));
  std::vector<runtime::Tensor> results = compiled(inputs);
  ASSERT_EQ(results.size(), 1u);
  std::vector<float> actual = floatsOf(results[0]);
  ASSERT_EQ(actual.size(), data.expected.size());

  for (size_t i = 0; i < actual.size(); ++i) {
    std::vector<int64_t> position(data.resultShape.size());
    int64_t rest = int64_t(i);
    for (size_t dim = position.size(); dim-- > 0;) {
      position[dim] = rest % data.resultShape[dim];
      rest /= data.resultShape[dim];
    }
    std::vector<double> operands;
    for (size_t j = 0; j < memory.size(); ++j)
      operands.push_back(valueAt(epilogue.operands[j], memory[j],
                                 indexIn(epilogue.operands[j], position)));
    double expected = epilogue.evaluate(data.expected[i], operands);
    if (epilogue.ulps == 0) {
      Reals rounded(epilogue.result, {float(expected)});
      ASSERT_EQ(bitsOf({actual[i]}), bitsOf(rounded.values))
          << i << ": " << data.expected[i] << " to " << actual[i] << ", not "
          << rounded.values[0];
    } else {
      ASSERT_NEAR(actual[i], expected,
                  epilogue.ulps * 0x1p-23 * std::max(std::fabs(expected), 0.1))
          << i << ": of " << data.expected[i];
    }
  }
}

/// The epilogue that adds an operand of `shape`.
static Epilogue biasOf(const std::vector<int64_t> &shape) {
  return {{{shape}},
          R"(  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    blockscale.yield %s : f32)",
          [](float acc, const std::vector<double> &e) {
            return double(acc + float(e[0]));
          }};
}

TEST(Epilogue, Bias) {
  // A row, a column, one value, one for each element.
  for (std::vector<int64_t> shape : std::vector<std::vector<int64_t>>{
           {kN}, {kM, 1}, {}, {1}, {1, 1}, {1, kN}, {kM, kN}})
    run(biasOf(shape));
}

TEST(Epilogue, BatchesBroadcast) {
  for (std::vector<int64_t> shape :
       std::vector<std::vector<int64_t>>{{kN},
                                         {3, kM, kN},
                                         {3, 1, kN},
                                         {3, kM, 1},
                                         {3, 1, 1},
                                         {1, kM, kN},
                                         {2, 1, kM, 1},
                                         {2, 3, 1, 1},
                                         {1, 3, 1, kN},
                                         {2, 1, 1, 1},
                                         {2, 3, kM, kN}})
    run(biasOf(shape), {2, 3});
}

TEST(Epilogue, RowAndColumnScales) {
  run({{{{kM, 1}}, {{kN}}},
       R"(  ^bb0(%acc: f32, %row: f32, %col: f32):
    %a = arith.mulf %acc, %row : f32
    %b = arith.mulf %a, %col : f32
    blockscale.yield %b : f32)",
       [](float acc, const std::vector<double> &e) {
         return double(acc * float(e[0]) * float(e[1]));
       }});
}

TEST(Epilogue, OperandsOfEveryType) {
  Operand column{{kM, 1}};
  struct {
    DataType type;
    const char *convert;
  } cases[] = {
      {DataType::BF16, "arith.extf %b : bf16 to f32"},
      {DataType::F16, "arith.extf %b : f16 to f32"},
      {DataType::F64, "arith.truncf %b : f64 to f32"},
      {DataType::I8, "arith.sitofp %b : i8 to f32"},
      {DataType::I16, "arith.sitofp %b : i16 to f32"},
      {DataType::I32, "arith.sitofp %b : i32 to f32"},
      {DataType::I64, "arith.sitofp %b : i64 to f32"},
      {DataType::I1, "arith.uitofp %b : i1 to f32"},
  };
  for (auto [type, convert] : cases)
    for (std::vector<int64_t> shape :
         std::vector<std::vector<int64_t>>{{kN}, {kM, 1}, {kM, kN}, {}})
      run({{{shape, type}},
           "  ^bb0(%acc: f32, %b: " + std::string(name(type)) +
               "):\n    %f = " + convert +
               "\n    %s = arith.addf %acc, %f : f32\n"
               "    blockscale.yield %s : f32",
           [](float acc, const std::vector<double> &e) {
             return double(acc + float(e[0]));
           }});
}

TEST(Epilogue, Relu) {
  run({{},
       R"(  ^bb0(%acc: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %acc, %zero : f32
    blockscale.yield %r : f32)",
       [](float acc, const std::vector<double> &) {
         return double(std::fmax(acc, 0.0f));
       }});
  run({{},
       R"(  ^bb0(%acc: f32):
    %zero = arith.constant 0.0 : f32
    %slope = arith.constant 0.125 : f32
    %small = arith.mulf %acc, %slope : f32
    %positive = arith.cmpf ogt, %acc, %zero : f32
    %r = arith.select %positive, %acc, %small : f32
    blockscale.yield %r : f32)",
       [](float acc, const std::vector<double> &) {
         return double(acc > 0 ? acc : acc * 0.125f);
       }});
}

TEST(Epilogue, Gelu) {
  const char *region = R"(  ^bb0(%acc: f32, %b: f32):
    %x = arith.addf %acc, %b : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678 : f32
    %scaled = arith.mulf %x, %root : f32
    %erf = math.erf %scaled : f32
    %sum = arith.addf %one, %erf : f32
    %p = arith.mulf %half, %sum : f32
    %y = arith.mulf %x, %p : f32
    blockscale.yield %y : f32)";
  run({{{{kN}}},
       region,
       [](float acc, const std::vector<double> &e) {
         double x = double(acc + float(e[0]));
         return x * 0.5 * (1 + std::erf(x * 0.70710678));
       },
       32});
  const char *tanhRegion = R"(  ^bb0(%acc: f32):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %a = arith.constant 0.044715 : f32
    %b = arith.constant 0.79788456 : f32
    %square = arith.mulf %acc, %acc : f32
    %cube = arith.mulf %square, %acc : f32
    %scaled = arith.mulf %cube, %a : f32
    %inner = arith.addf %acc, %scaled : f32
    %argument = arith.mulf %inner, %b : f32
    %tanh = math.tanh %argument : f32
    %sum = arith.addf %one, %tanh : f32
    %p = arith.mulf %half, %sum : f32
    %y = arith.mulf %acc, %p : f32
    blockscale.yield %y : f32)";
  run({{},
       tanhRegion,
       [](float acc, const std::vector<double> &) {
         double x = acc;
         return 0.5 * x *
                (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
       },
       64});
}

TEST(Epilogue, SiluToShortFloats) {
  for (DataType result : {DataType::F32, DataType::BF16, DataType::F16}) {
    std::string to(name(result));
    std::string region = R"(  ^bb0(%acc: f32, %s: f32):
    %x = arith.mulf %acc, %s : f32
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %x : f32
    %e = math.exp %minus : f32
    %d = arith.addf %one, %e : f32
    %y = arith.divf %x, %d : f32
)";
    region += result == DataType::F32
                  ? "    blockscale.yield %y : f32"
                  : "    %t = arith.truncf %y : f32 to " + to +
                        "\n    blockscale.yield %t : " + to;
    // Half a unit in the last place of 11 or 8 bits, and the polynomial's.
    double ulps = result == DataType::F32    ? 16
                  : result == DataType::BF16 ? 1 << 16
                                             : 1 << 13;
    run({{{{}}},
         region,
         [](float acc, const std::vector<double> &e) {
           double x = double(acc * float(e[0]));
           return x / (1 + std::exp(-x));
         },
         ulps,
         result});
  }
}

// Rounding to a short float is to nearest even, whatever came before.
TEST(Epilogue, YieldsShortFloats) {
  for (DataType result : {DataType::BF16, DataType::F16}) {
    std::string to(name(result));
    run({{{{kN}}},
         "  ^bb0(%acc: f32, %b: f32):\n    %s = arith.mulf %acc, %b : f32\n"
         "    %t = arith.truncf %s : f32 to " +
             to + "\n    blockscale.yield %t : " + to,
         [](float acc, const std::vector<double> &e) {
           return double(acc * float(e[0]));
         },
         0,
         result});
  }
}

// A value from integer arithmetic, as quantized epilogues have it.
TEST(Epilogue, IntegersInside) {
  run({{{{kN}, DataType::I32}},
       R"(  ^bb0(%acc: f32, %shift: i32):
    %bits = arith.bitcast %acc : f32 to i32
    %mask = arith.constant -65536 : i32
    %cut = arith.andi %bits, %mask : i32
    %f = arith.bitcast %cut : i32 to f32
    %g = arith.sitofp %shift : i32 to f32
    %s = arith.addf %f, %g : f32
    blockscale.yield %s : f32)",
       [](float acc, const std::vector<double> &e) {
         uint32_t bits;
         std::memcpy(&bits, &acc, 4);
         bits &= 0xffff0000u;
         std::memcpy(&acc, &bits, 4);
         return double(acc + float(e[0]));
       }});
}

TEST(Epilogue, AConstantAlone) {
  run({{},
       R"(  ^bb0(%acc: f32):
    %c = arith.constant 2.5 : f32
    blockscale.yield %c : f32)",
       [](float, const std::vector<double> &) { return 2.5; }});
}
