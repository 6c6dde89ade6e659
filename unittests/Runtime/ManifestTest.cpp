//===-- ManifestTest.cpp - What a compiled library offers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Manifest.h"

#include <gtest/gtest.h>
#include <random>

using namespace blockscale::runtime;

static const std::string packed =
    R"({"type":"tensor<?x64xf4E2M1FN>","dtype":"f4E2M1FN","shape":[-1,64],)"
    R"("storage":{"dtype":"u8","shape":[-1,32]},"layout":"linear"})";
static const std::string tiled =
    R"({"type":"tensor<2x?x6xf8E4M3FN, #t>","dtype":"f8E4M3FN",)"
    R"("shape":[2,-1,6],"storage":{"dtype":"u8","shape":[2,-1]},)"
    R"("layout":"tiled_128x4"})";
static const std::string plain =
    R"({"type":"tensor<3xf32>","dtype":"f32","shape":[3],)"
    R"("storage":{"dtype":"f32","shape":[3]},"layout":"linear"})";
static const std::string valid =
    R"({"version":3,"target":"cpu","entries":[{"name":"f","inputs":[)" +
    packed + "," + tiled + R"(],"results":[)" + plain + "]}]}";

static Manifest parse(const std::string &json) {
  std::string error;
  std::optional<Manifest> manifest = Manifest::parse(json, error);
  EXPECT_TRUE(manifest) << error;
  return manifest ? *manifest : Manifest();
}
static std::string errorOf(const std::string &json) {
  std::string error;
  EXPECT_FALSE(Manifest::parse(json, error));
  return error;
}
static std::string replaced(std::string text, const std::string &what,
                            const std::string &with) {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

/// What a manifest has in place of something valid, and what is said about it.
struct Fault {
  const char *valid, *faulty, *error;
};
static void expectFaults(const std::string &json,
                         std::initializer_list<Fault> faults) {
  for (const Fault &fault : faults)
    EXPECT_EQ(errorOf(replaced(json, fault.valid, fault.faulty)),
              "malformed manifest: " + std::string(fault.error));
}

TEST(Manifest, Valid) {
  Manifest manifest = parse(valid);
  EXPECT_EQ(manifest.target, "cpu");
  ASSERT_EQ(manifest.entries.size(), 1u);
  const Entry &entry = manifest.entries[0];
  EXPECT_EQ(entry.name, "f");
  ASSERT_EQ(entry.inputs.size(), 2u);
  ASSERT_EQ(entry.results.size(), 1u);
  EXPECT_EQ(entry.inputs[0].dtype, "f4E2M1FN");
  EXPECT_EQ(entry.inputs[0].shape, (std::vector<int64_t>{-1, 64}));
  EXPECT_EQ(entry.inputs[0].storageType, DataType::U8);
  EXPECT_EQ(entry.inputs[0].storageShape, (std::vector<int64_t>{-1, 32}));
  EXPECT_TRUE(entry.inputs[0].isDynamic());
  EXPECT_FALSE(entry.inputs[0].isTiled());
  EXPECT_TRUE(entry.inputs[1].isTiled());
  EXPECT_FALSE(entry.results[0].isDynamic());
  EXPECT_EQ(entry.inputs[0].text(),
            "tensor<?x64xf4E2M1FN>, stored as u8[?x32]");
  EXPECT_EQ(entry.results[0].text(), "tensor<3xf32>");
}

static const std::string gpu =
    R"({"version":3,"target":"sm_90a","entries":[],"kernels":[{"name":"k",)"
    R"("block":[256,1,1],"cluster":[2,1,1],"shared_bytes":65536}]})";

TEST(Manifest, Kernels) {
  Manifest manifest = parse(gpu);
  EXPECT_EQ(manifest.target, "sm_90a");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_EQ(manifest.kernels[0].name, "k");
  EXPECT_EQ(manifest.kernels[0].block, (std::array<int64_t, 3>{256, 1, 1}));
  EXPECT_EQ(manifest.kernels[0].cluster, (std::array<int64_t, 3>{2, 1, 1}));
  EXPECT_EQ(manifest.kernels[0].sharedBytes, 65536);
  // On the CPU they would mean nothing.
  EXPECT_TRUE(parse(replaced(gpu, "sm_90a", "cpu")).kernels.empty());
}

TEST(Manifest, MalformedKernels) {
  expectFaults(
      gpu,
      {{R"("kernels")", R"("others")", "'kernels' is missing"},
       {R"([{"name":"k",)", R"([7,{"name":"k",)",
        "kernels[0] expects an object, but got 7"},
       {"[256,1,1]", "[256,1]", "kernels[0].block expects 3 sizes, but got 2"},
       {"[2,1,1]", "[2,0,1]",
        "kernels[0].cluster expects positive sizes, but got 0"},
       {"65536", "-1",
        "kernels[0].shared_bytes expects a number of bytes, but got -1"},
       {"65536", "4294967296",
        "kernels[0].shared_bytes expects a number of bytes, but got "
        "4294967296"}});
}

TEST(Manifest, Find) {
  Manifest manifest = parse(valid);
  std::string error;
  EXPECT_EQ(manifest.find("f", error), &manifest.entries[0]);
  EXPECT_EQ(manifest.find("g", error), nullptr);
  EXPECT_EQ(error, "there is no entry 'g'; expects one of f");
}

TEST(Manifest, MoreKeysAreAllowed) {
  parse(replaced(valid, R"("target")", R"("compiler":"x","target")"));
}

TEST(Manifest, Malformed) {
  EXPECT_EQ(errorOf(""), "malformed manifest: it is not JSON");
  EXPECT_EQ(errorOf(valid.substr(0, valid.size() - 1)),
            "malformed manifest: it is not JSON");
  EXPECT_EQ(errorOf("[]"),
            "malformed manifest: it expects an object, but got an array");
  EXPECT_EQ(errorOf("{}"), "malformed manifest: 'version' is missing");
  EXPECT_EQ(errorOf(replaced(valid, R"("version":3)", R"("version":4)")),
            "expects a manifest of version 3, but got 4; use the tools the "
            "library came from");
}

TEST(Manifest, MalformedEntries) {
  expectFaults(
      valid,
      {{R"("name":"f")", R"("name":7)",
        "entries[0].name expects a string, but got 7"},
       {R"("name":"f",)", "", "entries[0]: 'name' is missing"},
       {"[-1,64]", "[-2,64]",
        "entries[0].inputs[0].shape expects sizes or -1, but got -2"},
       {"[-1,64]", "[-1,6.5]",
        "entries[0].inputs[0].shape expects sizes or -1, but got 6.5"},
       {"[-1,64]", "[-1,18446744073709551615]",
        "entries[0].inputs[0].shape expects sizes or -1, but got "
        "18446744073709551615"},
       {R"("dtype":"u8")", R"("dtype":"u3")",
        "entries[0].inputs[0].storage.dtype expects a type that memory can "
        "hold, but got \"u3\""},
       {R"("linear")", R"("diagonal")",
        "entries[0].inputs[0].layout expects \"linear\" or \"tiled_128x4\", "
        "but got \"diagonal\""},
       {"[-1,32]", "[32]",
        "entries[0].inputs[0].storage.shape expects a size per dimension, but "
        "got [32]"},
       {"[2,-1]}", "[-1]}",
        "entries[0].inputs[1].storage.shape expects the batch sizes and one "
        "size in bytes, but got [?]"}});
}

TEST(Manifest, DeepNestingIsRefused) {
  errorOf(std::string(100000, '['));
  errorOf(std::string(100000, '[') + std::string(100000, ']'));
}

TEST(Manifest, MutatedTextIsReadOrRefused) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      if (random() % 2)
        text[at] = static_cast<char>(random());
      else
        text.erase(at, random() % 9);
    }
    std::string error;
    if (!Manifest::parse(text, error))
      EXPECT_FALSE(error.empty());
  }
}

TEST(TensorType, StorageFor) {
  Manifest manifest = parse(valid);
  const TensorType &fp4 = manifest.entries[0].inputs[0];
  const TensorType &scales = manifest.entries[0].inputs[1];
  std::string error;
  EXPECT_EQ(fp4.storageFor({5, 64}, error), (std::vector<int64_t>{5, 32}));
  EXPECT_FALSE(fp4.storageFor({5, 63}, error));
  EXPECT_EQ(error, "expects sizes of tensor<?x64xf4E2M1FN>, but got 5x63");
  EXPECT_FALSE(fp4.storageFor({}, error));
  EXPECT_EQ(error, "expects sizes of tensor<?x64xf4E2M1FN>, but got none");
  EXPECT_FALSE(fp4.storageFor({-1, 64}, error));
  // Whole tiles of 128 rows and 4 columns: 129 x 6 scales take 256 x 8 bytes.
  EXPECT_EQ(scales.storageFor({2, 129, 6}, error),
            (std::vector<int64_t>{2, 2048}));
  EXPECT_EQ(scales.storageFor({2, 128, 6}, error),
            (std::vector<int64_t>{2, 1024}));
  EXPECT_EQ(scales.storageFor({2, 0, 6}, error), (std::vector<int64_t>{2, 0}));
  EXPECT_FALSE(scales.storageFor({2, INT64_MAX, 6}, error));
  EXPECT_EQ(error, "shape 2x9223372036854775807x6 is too large");
}

TEST(TensorType, Accepts) {
  Manifest manifest = parse(valid);
  const TensorType &fp4 = manifest.entries[0].inputs[0];
  const TensorType &scales = manifest.entries[0].inputs[1];
  const TensorType &vector = manifest.entries[0].results[0];
  std::string error;
  EXPECT_TRUE(fp4.accepts(DataType::U8, {7, 32}, error)) << error;
  EXPECT_TRUE(fp4.accepts(DataType::I8, {0, 32}, error)) << error;
  EXPECT_FALSE(fp4.accepts(DataType::U8, {7, 64}, error));
  EXPECT_EQ(error, "expects tensor<?x64xf4E2M1FN>, stored as u8[?x32], but got "
                   "u8[7x64]: dimension 1 must be 32");
  EXPECT_FALSE(fp4.accepts(DataType::F32, {7, 32}, error));
  EXPECT_EQ(error, "expects tensor<?x64xf4E2M1FN>, stored as u8[?x32], but got "
                   "f32[7x32]");
  EXPECT_FALSE(fp4.accepts(DataType::U8, {7, 1, 32}, error));
  EXPECT_NE(error.find("rank 2 is expected"), std::string::npos);
  EXPECT_FALSE(vector.accepts(DataType::F32, {4}, error));
  EXPECT_EQ(error,
            "expects tensor<3xf32>, but got f32[4]: dimension 0 must be 3");
  // 6 columns of scales are 2 tiles side by side: 1024 bytes per 128 rows.
  EXPECT_TRUE(scales.accepts(DataType::U8, {2, 2048}, error)) << error;
  EXPECT_FALSE(scales.accepts(DataType::U8, {2, 512}, error));
  EXPECT_NE(error.find("the last size must be a multiple of 1024"),
            std::string::npos);
}
