//===-- LaunchTest.cpp - Limits of a launch ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
struct Kernel {
  std::string target = "sm_90a", directives, declarations;
  Launch launch;

  /// The report of a launch that does nothing.
  std::string error() {
    Device device;
    std::string error;
    EXPECT_TRUE(device.load(".version 9.0\n.target " + target +
                                "\n.address_size 64\n" +
                                ".extern .shared .align 16 .b8 dynamic[];\n" +
                                ".visible .entry k() " + directives + "\n{\n" +
                                ".reg .b32 %r<4>;\nmov.u32 %r0, dynamic;\n" +
                                declarations + "\nret;\n}\n",
                            error))
        << error;
    launch.entry = "k";
    Result result = device.launch(launch);
    EXPECT_EQ(bool(result), result.text().empty());
    return result.text();
  }
};
} // namespace

TEST(Launch, SharedMemoryOfEachChip) {
  // Programming guide: "Maximum amount of shared memory per thread block".
  for (auto [target, kilobytes] :
       {std::pair("sm_75", 64u), std::pair("sm_80", 163u),
        std::pair("sm_86", 99u), std::pair("sm_89", 99u),
        std::pair("sm_90", 227u), std::pair("sm_100a", 227u),
        std::pair("sm_120a", 99u)}) {
    Kernel kernel;
    kernel.target = target;
    kernel.declarations = ".shared .b8 fixed[1024]; mov.u32 %r1, fixed;";
    kernel.launch.sharedBytes = (kilobytes - 1) << 10;
    EXPECT_EQ(kernel.error(), "");
    kernel.launch.sharedBytes += 4;
    EXPECT_EQ(kernel.error(),
              "expects at most " + std::to_string(kilobytes << 10) +
                  " bytes of shared memory on " +
                  std::string(target).substr(0, target[3] == '1' ? 6 : 5) +
                  ", but got " + std::to_string((kilobytes << 10) + 4) +
                  ", 1024 of them static");
  }
  Kernel fixed;
  fixed.declarations = ".shared .b8 fixed[49152]; mov.u32 %r1, fixed;";
  EXPECT_EQ(fixed.error(), "");
  fixed.declarations = ".shared .b8 fixed[49153]; mov.u32 %r1, fixed;";
  EXPECT_NE(
      fixed.error().find("has 49153 bytes of shared variables, but 49152"),
      std::string::npos)
      << fixed.error();
}

TEST(Launch, GridAndBlock) {
  auto error = [](Dim3 grid, Dim3 block, const char *directives = "") {
    Kernel kernel;
    kernel.directives = directives;
    kernel.launch.grid = grid;
    kernel.launch.block = block;
    return kernel.error();
  };
  EXPECT_EQ(error({1, 1, 1}, {1024, 1, 1}), "");
  EXPECT_EQ(error({1, 1, 1}, {1, 16, 64}), "");
  EXPECT_EQ(error({1, 65536, 1}, {1, 1, 1}),
            "expects a grid from 1 to (2147483647,65535,65535), but got "
            "(1,65536,1)");
  EXPECT_NE(error({1, 1, 65536}, {1, 1, 1}), "");
  EXPECT_NE(error({1u << 31, 1, 1}, {1, 1, 1}), "");
  EXPECT_NE(error({0, 1, 1}, {1, 1, 1}), "");
  EXPECT_EQ(error({1, 1, 1}, {1, 1, 65}),
            "expects a block from 1 to (1024,1024,64), but got (1,1,65)");
  EXPECT_EQ(error({1, 1, 1}, {32, 33, 1}),
            "expects at most 1024 threads in a block, but got (32,33,1), which "
            "are 1056");
  EXPECT_EQ(error({1, 1, 1}, {64, 1, 1}, ".reqntid 32, 2"),
            "expects blocks of (32,2,1) (.reqntid), but got (64,1,1)");
  EXPECT_EQ(error({1, 1, 1}, {65, 1, 1}, ".maxntid 32, 2"),
            "expects at most 64 threads (.maxntid), but got 65");
  EXPECT_EQ(error({1, 1, 1}, {64, 1, 1}, ".maxntid 32, 2"), "");
}

TEST(Launch, Clusters) {
  auto error = [](uint32_t cluster, bool nonPortable,
                  const char *target = "sm_90a", const char *directives = "") {
    Kernel kernel;
    kernel.target = target;
    kernel.directives = directives;
    kernel.launch.grid = {32, 1, 1};
    kernel.launch.cluster = {cluster, 1, 1};
    kernel.launch.nonPortableCluster = nonPortable;
    return kernel.error();
  };
  EXPECT_EQ(error(8, false), "");
  EXPECT_EQ(error(16, false),
            "expects a cluster of at most 8 CTAs (16 where a launch allows a "
            "size that is not portable), but got (16,1,1)");
  EXPECT_EQ(error(16, true), "");
  EXPECT_EQ(error(32, true),
            "expects a cluster of at most 16 CTAs, but got (32,1,1)");
  EXPECT_EQ(error(3, false),
            "expects a cluster that divides the grid (32,1,1), but got "
            "(3,1,1)");
  EXPECT_EQ(error(2, false, "sm_89"),
            "expects no cluster on sm_89, which has none, but got (2,1,1)");
  EXPECT_EQ(error(4, false, "sm_90", ".reqnctapercluster 2, 1, 1"),
            "expects clusters of (2,1,1) (.reqnctapercluster), but got "
            "(4,1,1)");
  EXPECT_EQ(error(4, false, "sm_90", ".maxclusterrank 2"),
            "expects a cluster of at most 2 CTAs (.maxclusterrank), but got "
            "(4,1,1)");
  EXPECT_NE(error(1, false, "sm_80", ".reqnctapercluster 2, 1, 1")
                .find(".reqnctapercluster needs .target sm_90 or later"),
            std::string::npos);
}

TEST(Launch, ParameterSpace) {
  auto error = [](const std::string &version, unsigned bytes) {
    Device device;
    std::string error;
    EXPECT_TRUE(device.load(".version " + version +
                                "\n.target sm_80\n.address_size 64\n"
                                ".entry k(.param .b8 p[" +
                                std::to_string(bytes) + "])\n{\nret;\n}\n",
                            error));
    device.prepare("k", error);
    return error;
  };
  EXPECT_EQ(error("8.0", 4352), "");
  EXPECT_NE(error("8.0", 4353), "");
  EXPECT_EQ(error("8.1", 32764), "");
  EXPECT_EQ(error("8.1", 32765),
            "line 4: 'k': expects at most 32764 bytes of parameters, but got "
            "32765");
}
