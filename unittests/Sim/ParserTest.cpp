//===-- ParserTest.cpp - Names and operand types ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
/// Of loading and decoding; empty if neither complains.
std::string errorOf(const std::string &module) {
  Device device;
  std::string error;
  if (device.load(".version 8.0\n.target sm_90\n.address_size 64\n" + module,
                  error))
    device.prepare("k", error);
  return error;
}
std::string inKernel(const std::string &body) {
  return errorOf(".entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 "
                 "%d<4>; .reg .f32 %f<4>; .reg .pred %q;\n" +
                 body + "\nret;\n}\n");
}
} // namespace

TEST(Parser, NamesOnceInAScope) {
  EXPECT_EQ(inKernel(".reg .b32 %r3;"),
            "line 7: '%r3' is declared twice in one scope");
  EXPECT_EQ(inKernel("a: bra a;\na: bra a;"),
            "line 8: 'a' is declared twice in one scope");
  EXPECT_NE(inKernel(".reg .b32 a; a: bra a;"), "");
  EXPECT_NE(inKernel(".reg .b32 p;"), "");
  EXPECT_NE(inKernel(".shared .b32 s; .shared .b32 s;"), "");
  // Inner scopes hide outer ones, and labels are known before they stand.
  EXPECT_EQ(inKernel("a: { .reg .b64 %r1; a: bra a; }"), "");
  EXPECT_EQ(inKernel("{ bra x; } x:"), "");
  EXPECT_EQ(inKernel("bra x; { x: ret; }"),
            "line 7: bra: expects a label, but got 'x'");

  const std::string entry = ".entry k()\n{\nret;\n}\n";
  EXPECT_EQ(errorOf(entry), "");
  EXPECT_EQ(errorOf(entry + entry),
            "line 8: 'k' is declared twice in one scope");
  EXPECT_NE(errorOf(".entry k(.param .u64 p, .param .u64 p)\n{\nret;\n}\n"),
            "");
  EXPECT_NE(errorOf(".global .u32 g; .global .u32 g;\n" + entry), "");
  EXPECT_EQ(
      errorOf(".extern .shared .b8 g[]; .extern .shared .b8 g[];\n" + entry),
      "");
  EXPECT_EQ(errorOf(".func f();\n.func f()\n{ ret; }\n" + entry), "");
}

TEST(Parser, LimitsInsteadOfMemoryWithoutEnd) {
  const std::string registers =
      "line 7: expects at most 1048576 registers of a function";
  EXPECT_EQ(inKernel(".reg .b64 %many<18446744073709551615>;"), registers);
  EXPECT_EQ(inKernel(".reg .b64 %many<1048577>;"), registers);
  EXPECT_EQ(inKernel(".reg .b64 %a<600000>, %b<600000>;"), registers);
  std::string open(200000, '{'), close(200000, '}');
  EXPECT_EQ(inKernel(open + close),
            "line 7: expects at most 1000 braces and brackets inside each "
            "other");
  EXPECT_NE(inKernel("mov.b32 %r0, " + open + close + ";"), "");
  // 2^30 copies, were they expanded.
  std::string text = ".func f0()\n{\nret;\n}\n";
  for (int i = 1; i <= 30; ++i) {
    std::string call = "call f" + std::to_string(i - 1) + ";\n";
    text +=
        ".func f" + std::to_string(i) + "()\n{\n" + call + call + "ret;\n}\n";
  }
  std::string error = errorOf(text + ".entry k()\n{\ncall f30;\nret;\n}\n");
  EXPECT_NE(error.find("calls expand, in place, to more than 65536 functions"),
            std::string::npos)
      << error;
}

TEST(Parser, EntriesOnceInADevice) {
  Device device;
  std::string error;
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\nret;\n}\n";
  ASSERT_TRUE(device.load(text, error));
  EXPECT_FALSE(device.load(text, error));
  EXPECT_EQ(error, "line 4: entry 'k' was loaded before");
}

TEST(OperandTypes, RegistersAreAsWideAsTheInstruction) {
  // "Operand Type Checking" and "Operand Size Exceeding Instruction-Type Size".
  EXPECT_EQ(inKernel("add.u32 %d1, %r1, %r2;"),
            "line 7: add.u32: expects .u32, but got '%d1', which is .b64");
  EXPECT_EQ(inKernel("add.u32 %r1, %f1, %r2;"),
            "line 7: add.u32: expects .u32, but got '%f1', which is .f32");
  EXPECT_EQ(inKernel("ld.global.u64 %r1, [%d1];"),
            "line 7: ld.global.u64: expects .u64 or wider, but got '%r1', "
            "which is .b32");
  EXPECT_EQ(inKernel("ld.global.u16 %d1, [%d1];"), "");
  EXPECT_EQ(inKernel("cvt.u16.u32 %d1, %r1;"), "");
  EXPECT_EQ(inKernel("mul.wide.u32 %d1, %r1, %r2;"), "");
  EXPECT_NE(inKernel("mul.wide.u32 %r1, %r1, %r2;"), "");
  EXPECT_EQ(inKernel("mov.b64 %d1, {%r1, %f2};"), "");
  EXPECT_EQ(inKernel("mov.b64 %d1, {%r1, %d2};"),
            "line 7: mov.b64: expects 32 bits, but got '%d2', which is .b64");
  EXPECT_EQ(inKernel("@%r1 ret;"),
            "line 7: ret: expects a predicate after '@', but got '%r1', which "
            "is .b32");
  EXPECT_EQ(inKernel("selp.b32 %r1, %r2, %r3, %r0;"),
            "line 7: selp.b32: expects .pred, but got '%r0', which is .b32");
  EXPECT_EQ(inKernel("add.f32 %f1, %f2, 1;"),
            "line 7: add.f32: expects .f32, but got an integer");
  EXPECT_EQ(inKernel("add.u32 %r1, %r2, 1.0;"),
            "line 7: add.u32: expects .u32, but got a float constant");
  EXPECT_EQ(inKernel("add.u32 %r1, %r2, %tid.x;"),
            "line 7: add.u32: expects a register, but got '%tid.x', which only "
            "mov and cvt may read");
  EXPECT_EQ(inKernel("mov.u64 %d1, %tid.x;"),
            "line 7: mov.u64: expects .u64, but got '%tid.x', which is .u32");
  EXPECT_EQ(inKernel("mov.u64 %d1, %globaltimer;"), "");
}
