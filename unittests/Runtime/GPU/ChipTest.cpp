//===-- ChipTest.cpp - Which GPU runs what ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/GPU/Chip.h"

#include <gtest/gtest.h>

using blockscale::runtime::Chip;

static bool runs(const char *target, int major, int minor) {
  std::optional<Chip> chip = Chip::parse(target);
  EXPECT_TRUE(chip) << target;
  return chip && chip->runsOn(major, minor);
}

TEST(Chip, RunsOn) {
  EXPECT_TRUE(runs("sm_80", 8, 0));
  EXPECT_TRUE(runs("sm_80", 8, 9));
  EXPECT_TRUE(runs("sm_80", 9, 0));
  EXPECT_TRUE(runs("sm_80", 12, 0));
  EXPECT_FALSE(runs("sm_86", 8, 0));
  EXPECT_FALSE(runs("sm_80", 7, 5));
  EXPECT_TRUE(runs("sm_90a", 9, 0));
  EXPECT_FALSE(runs("sm_90a", 10, 0));
  EXPECT_FALSE(runs("sm_90a", 8, 9));
  EXPECT_TRUE(runs("sm_103a", 10, 3));
  EXPECT_FALSE(runs("sm_103a", 10, 0));
  EXPECT_TRUE(runs("sm_100f", 10, 3));
  EXPECT_FALSE(runs("sm_103f", 10, 0));
  EXPECT_FALSE(runs("sm_100f", 11, 0));
  EXPECT_TRUE(runs("sm_120f", 12, 1));
}

TEST(Chip, OtherTargets) {
  for (const char *target :
       {"", "cpu", "sm_", "sm_9", "sm_9a", "sm_a", "sm_90b", "sm_90aa",
        "sm_1000", "sm_090", "sm_-9", "sm_90 "})
    EXPECT_FALSE(Chip::parse(target)) << target;
}

TEST(Chip, Requirement) {
  EXPECT_EQ(Chip::parse("sm_90a")->requirement(),
            "compute capability 9.0 exactly");
  EXPECT_EQ(Chip::parse("sm_80")->requirement(),
            "compute capability 8.0 or later");
  EXPECT_EQ(Chip::parse("sm_120f")->requirement(),
            "compute capability 12.0 or a later 12.x");
}
