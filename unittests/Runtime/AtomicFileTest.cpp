//===-- AtomicFileTest.cpp - Files whole or not at all ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/AtomicFile.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::runtime;
using blockscale::test::TemporaryFolder;

TEST(AtomicFile, AppearsAtCommit) {
  TemporaryFolder folder;
  std::string error;
  {
    std::optional<AtomicFile> file =
        AtomicFile::create(folder.path("out"), error);
    ASSERT_TRUE(file) << error;
    ASSERT_TRUE(file->write("one ", error)) << error;
    ASSERT_TRUE(file->write("two", error)) << error;
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
    ASSERT_TRUE(file->commit(error)) << error;
    EXPECT_EQ(folder.read("out"), "one two");
  }
  EXPECT_EQ(folder.numFiles(), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  TemporaryFolder folder;
  folder.write("out", "old");
  std::string error;
  {
    std::optional<AtomicFile> file =
        AtomicFile::create(folder.path("out"), error);
    ASSERT_TRUE(file) << error;
    ASSERT_TRUE(file->write("half", error)) << error;
    ASSERT_TRUE(file->close(error)) << error;
  }
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.numFiles(), 1u);
}

TEST(AtomicFile, ChecksWithoutATrace) {
  TemporaryFolder folder;
  folder.write("old", "kept");
  std::string error;
  EXPECT_TRUE(AtomicFile::check(folder.path("new"), error)) << error;
  EXPECT_TRUE(AtomicFile::check(folder.path("old"), error)) << error;
  EXPECT_TRUE(AtomicFile::check("/dev/full", error)) << error;
  EXPECT_EQ(folder.read("old"), "kept");
  EXPECT_EQ(folder.numFiles(), 1u);
  EXPECT_FALSE(AtomicFile::check(folder.path("none/new"), error));
  EXPECT_NE(error.find("none/new': No such file"), std::string::npos) << error;
  EXPECT_FALSE(AtomicFile::check(folder.path("."), error));
  EXPECT_FALSE(AtomicFile::check("", error));
  EXPECT_EQ(error, "cannot write '': No such file or directory");
}

TEST(AtomicFile, ObeysUmask) {
  TemporaryFolder folder;
  std::string error;
  mode_t before = umask(027);
  std::optional<AtomicFile> file =
      AtomicFile::create(folder.path("out"), error);
  umask(before);
  ASSERT_TRUE(file && file->commit(error)) << error;
  struct stat status;
  ASSERT_EQ(stat(folder.path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  TemporaryFolder folder;
  folder.write("target", "old");
  ASSERT_EQ(symlink("target", folder.path("link").c_str()), 0);
  std::string error;
  std::optional<AtomicFile> file =
      AtomicFile::create(folder.path("link"), error);
  ASSERT_TRUE(file && file->write("new", error) && file->commit(error))
      << error;
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(folder.read("target"), "new");
}

TEST(AtomicFile, WritesDevicesDirectly) {
  std::string error;
  std::optional<AtomicFile> file = AtomicFile::create("/dev/null", error);
  ASSERT_TRUE(file && file->write("gone", error) && file->commit(error))
      << error;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, Errors) {
  TemporaryFolder folder;
  std::string error;
  EXPECT_FALSE(AtomicFile::create(folder.path("no/such/out"), error));
  EXPECT_EQ(error, "cannot write '" + folder.path("no/such/out") +
                       "': No such file or directory");
  EXPECT_FALSE(AtomicFile::create(folder.path(""), error));
  EXPECT_NE(error.find("Is a directory"), std::string::npos);
  // /dev/full takes nothing.
  std::optional<AtomicFile> file = AtomicFile::create("/dev/full", error);
  ASSERT_TRUE(file) << error;
  EXPECT_FALSE(file->write("x", error));
  EXPECT_EQ(error, "cannot write '/dev/full': No space left on device");
}
