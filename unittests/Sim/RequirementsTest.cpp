//===-- RequirementsTest.cpp - Targets, versions, modifiers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <sstream>

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
struct Chip {
  int number;
  char suffix;
  int since; ///< PTX version, times ten.
  std::string text() const {
    std::string text = "sm_" + std::to_string(number);
    return suffix ? text + suffix : text;
  }
};
const Chip chips[] = {
    {75, 0, 63},    {80, 0, 70},    {86, 0, 71},    {87, 0, 74},
    {88, 0, 90},    {89, 0, 78},    {90, 0, 78},    {90, 'a', 80},
    {100, 0, 86},   {100, 'a', 86}, {100, 'f', 88}, {103, 0, 88},
    {103, 'a', 88}, {103, 'f', 88}, {110, 0, 90},   {110, 'a', 90},
    {110, 'f', 90}, {120, 0, 87},   {120, 'a', 87}, {120, 'f', 88},
    {121, 0, 88},   {121, 'a', 88}, {121, 'f', 88}};
const int versions[] = {63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77,
                        78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

/// `sm_90@7.8`
bool hasSince(const Chip &chip, int version, const std::string &need) {
  int number = 0, major = 0, minor = 0;
  char suffix = 0;
  if (std::sscanf(need.c_str(), "sm_%d%c", &number, &suffix) != 2 ||
      std::sscanf(need.c_str() + need.find('@'), "@%d.%d", &major, &minor) != 2)
    ADD_FAILURE() << need;
  bool has = suffix == 'a'   ? chip.number == number && chip.suffix == 'a'
             : suffix == 'f' ? chip.number / 10 == number / 10 &&
                                   chip.number >= number && chip.suffix
                             : chip.number >= number;
  return has && version >= 10 * major + minor;
}

std::string header(const std::string &target, const std::string &version) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n";
}

std::string loadError(const std::string &text) {
  Device device;
  std::string error;
  EXPECT_FALSE(device.load(text, error)) << text;
  return error;
}

/// Of `instruction` in a kernel for `target`; empty if it may be there.
std::string errorOf(const std::string &instruction, const std::string &target,
                    const std::string &version = "9.0") {
  Device device;
  std::string error;
  EXPECT_TRUE(device.load(header(target, version) +
                              ".visible .entry k()\n{\n.reg .b32 %r<20>; "
                              ".reg .f32 %f<9>; .reg .b64 %d<9>;\n" +
                              instruction + "\nret;\n}\n",
                          error))
      << error;
  device.prepare("k", error);
  return error;
}
} // namespace

TEST(Requirements, EveryTargetAndVersion) {
  std::string declarations, needs, line;
  std::vector<std::pair<std::string, std::string>> cases;
  std::istringstream file(readFile(SIM_KERNELS "/Requirements.txt"));
  while (std::getline(file, line)) {
    if (line.rfind("declare ", 0) == 0)
      declarations += line.substr(8) + "\n";
    else if (line.rfind("needs ", 0) == 0)
      needs = line.substr(6);
    else if (!line.empty() && line[0] != '#')
      cases.emplace_back(needs, line);
  }
  ASSERT_GT(cases.size(), 250u);
  for (const Chip &chip : chips)
    for (int version : versions) {
      // All versions where they matter most, and the first and last.
      bool every = chip.number == 75 || chip.number == 80 ||
                   (chip.suffix == 'a' && chip.number % 10 == 0);
      if (version < chip.since ||
          !(every || version == chip.since || version == 90))
        continue;
      std::string text =
          header(chip.text(), std::to_string(version / 10) + "." +
                                  std::to_string(version % 10));
      for (size_t i = 0; i < cases.size(); ++i)
        text += ".visible .entry k" + std::to_string(i) +
                "(.param .u64 p)\n{\n" + declarations + cases[i].second +
                "\nret;\n}\n";
      Device device;
      std::string error;
      ASSERT_TRUE(device.load(text, error)) << error;
      for (size_t i = 0; i < cases.size(); ++i) {
        bool expected = false;
        std::istringstream all(cases[i].first);
        for (std::string need; all >> need;)
          expected |= hasSince(chip, version, need);
        error.clear();
        bool got = device.prepare("k" + std::to_string(i), error);
        EXPECT_EQ(got, expected) << chip.text() << " " << version << " "
                                 << cases[i].second << " " << error;
        EXPECT_EQ(got, error.find(" needs ") == std::string::npos) << error;
      }
    }
}

TEST(Requirements, Messages) {
  const std::string scaled =
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X"
      ".f32.e2m1.e2m1.f32.ue8m0 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
      "{%r4,%r5}, {%f0,%f1,%f2,%f3}, %r6, {0, 0}, %r7, {0, 0};";
  EXPECT_EQ(errorOf(scaled, "sm_120a"), "");
  EXPECT_EQ(errorOf(scaled, "sm_80"),
            "line 7: mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale"
            ".scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0: mma.block_scale needs "
            ".target sm_120a, sm_120f, sm_121a or sm_121f; this module's is "
            "sm_80");
  EXPECT_EQ(errorOf("redux.sync.add.u32 %r0, %r1, -1;", "sm_75"),
            "line 7: redux.sync.add.u32: redux needs .target sm_80 or later; "
            "this module's is sm_75");
  EXPECT_EQ(errorOf("elect.sync %r0|%r1, -1;", "sm_90", "7.8"),
            "line 7: elect.sync: elect needs PTX 8.0 or later; this module's "
            ".version is 7.8");
  EXPECT_EQ(errorOf("mov.u32 %r0, %clusterid.x;", "sm_89"),
            "line 7: mov.u32: %clusterid.x needs .target sm_90 or later; this "
            "module's is sm_89");
}

TEST(Requirements, Directives) {
  EXPECT_EQ(loadError(header("sm_120a", "8.6")),
            "line 2: .target sm_120a needs PTX 8.7 or later; this module's "
            ".version is 8.6");
  std::string unknown = loadError(header("sm_999", "8.6"));
  EXPECT_EQ(unknown.find("line 2: expects '.target' with a chip of sm_50, "), 0)
      << unknown;
  EXPECT_NE(unknown.find(", but got 'sm_999'"), std::string::npos) << unknown;
  EXPECT_NE(loadError(".target sm_80\n.address_size 64\n").find(".version"),
            std::string::npos);
  EXPECT_NE(loadError(".version 8.0\n.address_size 64\n").find(".target"),
            std::string::npos);
}

TEST(Requirements, ModifiersThatAnOpcodeDoesNotHave) {
  for (const char *instruction :
       {"add.foo.u32 %r0, %r1, %r2;", "add.u32.u32 %r0, %r1, %r2;",
        "ld.foo.global.u32 %r0, [%d0];", "cvt.foo.f32.s32 %f0, %r0;",
        // Real ones that are not executed.
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r0], %r1, "
        "[%r2];"}) {
    std::string error = errorOf(instruction, "sm_100a");
    EXPECT_NE(error.find("does not know this modifier: ."), std::string::npos)
        << instruction << ": " << error;
  }
}
