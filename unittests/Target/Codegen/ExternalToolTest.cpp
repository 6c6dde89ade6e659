//===-- ExternalToolTest.cpp - Files through a program --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/Codegen/ExternalTool.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

using namespace blockscale;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// Runs a shell script whose $1 and $2 are the two files.
struct Shell {
  explicit Shell(std::string script) : script(std::move(script)) {}

  std::string script;
  std::string input, output; ///< The files' paths, after the run.

  llvm::Expected<std::string> run(StringRef text) {
    ExternalTool tool{"/bin/sh", "the script", "in", "out"};
    return tool.run(text, [&](StringRef inputPath, StringRef outputPath) {
      input = inputPath.str();
      output = outputPath.str();
      return SmallVector<StringRef>{"-c", script, "sh", inputPath, outputPath};
    });
  }
  ~Shell() {
    EXPECT_FALSE(llvm::sys::fs::exists(input)) << "the input is left behind";
    EXPECT_FALSE(llvm::sys::fs::exists(output)) << "the output is left behind";
  }
};

std::string errorOf(llvm::Expected<std::string> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

TEST(ExternalTool, GivesWhatTheProgramWrites) {
  Shell shell(R"(tr a-z A-Z <"$1" >"$2"; echo chatter)");
  auto result = shell.run("two\nlines");
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(*result, "TWO\nLINES");
  EXPECT_TRUE(StringRef(shell.input).ends_with(".in"));
  EXPECT_TRUE(StringRef(shell.output).ends_with(".out"));
}

TEST(ExternalTool, BytesPassUnchanged) {
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    bytes += char(i);
  Shell shell(R"(cat "$1" >"$2")");
  auto result = shell.run(bytes);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(*result, bytes);
}

TEST(ExternalTool, AFailureSaysWhatTheProgramSaid) {
  Shell shell("echo out; echo ' line 3: bad  ' >&2; exit 3");
  EXPECT_EQ(errorOf(shell.run("x")), "the script failed: out\n line 3: bad");
}

TEST(ExternalTool, NoOutputIsAnError) {
  Shell shell(R"(rm "$2")");
  EXPECT_EQ(errorOf(shell.run("x")).find("the script wrote nothing: "), 0u);
}

TEST(ExternalTool, AProgramThatIsNotThere) {
  ExternalTool tool{"/nowhere/program", "ptxas", "in", "out"};
  EXPECT_EQ(
      errorOf(tool.run("x", [](StringRef,
                               StringRef) { return SmallVector<StringRef>{}; }))
          .find("ptxas failed: "),
      0u);
}

} // namespace
