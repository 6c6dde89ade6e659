//===-- NpyTest.cpp - NumPy's array files -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Npy.h"
#include "TemporaryFolder.h"
#include "blockscale/Runtime/Convert.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace blockscale::runtime;
using blockscale::test::TemporaryFolder;

/// A file as NumPy writes it, without the padding, which readers ignore.
static std::string npy(const std::string &header, const std::string &data,
                       int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + data;
}
static std::string header(const std::string &descr, const std::string &shape,
                          const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }\n";
}
static const std::string floats("\0\0\x80\x3F\0\0\0\xC0", 8); // 1, -2

static std::string errorOf(const std::string &file) {
  std::string error;
  EXPECT_FALSE(parseNpy(file, error));
  return error;
}

TEST(Npy, EveryVersion) {
  for (int version : {1, 2, 3}) {
    std::string error;
    std::optional<Tensor> tensor =
        parseNpy(npy(header("<f4", "(2,)"), floats, version), error);
    ASSERT_TRUE(tensor) << error;
    EXPECT_EQ(tensor->text(), "f32[2]");
    EXPECT_EQ(valueAt(*tensor, 0), 1);
    EXPECT_EQ(valueAt(*tensor, 1), -2);
  }
}

TEST(Npy, EveryType) {
  const std::pair<const char *, DataType> rows[] = {
      {"<f2", DataType::F16},  {"<f4", DataType::F32},  {"<f8", DataType::F64},
      {"|b1", DataType::I1},   {"|i1", DataType::I8},   {"|u1", DataType::U8},
      {"<i2", DataType::I16},  {"<u2", DataType::U16},  {"<i4", DataType::I32},
      {"<u4", DataType::U32},  {"<i8", DataType::I64},  {"<u8", DataType::U64},
      {"<V2", DataType::BF16}, {"|V2", DataType::BF16}, {"V2", DataType::BF16},
      {"|V1", DataType::U8},   {"<V1", DataType::U8},
  };
  for (const auto &[descr, type] : rows) {
    std::string error;
    std::optional<Tensor> tensor = parseNpy(
        npy(header(descr, "(1, 3)"), std::string(3 * size(type), '\1')), error);
    ASSERT_TRUE(tensor) << error;
    EXPECT_EQ(tensor->text(), arrayText(type, {1, 3}));
  }
}

TEST(Npy, Scalar) {
  std::string error;
  std::optional<Tensor> tensor =
      parseNpy(npy(header("<f4", "()"), floats.substr(4)), error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->text(), "f32[]");
  EXPECT_EQ(valueAt(*tensor, 0), -2);
}

TEST(Npy, Empty) {
  std::string error;
  std::optional<Tensor> tensor =
      parseNpy(npy(header("<f4", "(0, 7)"), ""), error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->count(), 0);
}

TEST(Npy, BigEndianIsConverted) {
  std::string error;
  std::optional<Tensor> tensor = parseNpy(
      npy(header(">f4", "(2,)"), std::string("\x3F\x80\0\0\xC0\0\0\0", 8)),
      error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(valueAt(*tensor, 0), 1);
  EXPECT_EQ(valueAt(*tensor, 1), -2);
}

TEST(Npy, FortranOrderIsConverted) {
  // [[0, 1, 2], [3, 4, 5]] by columns.
  std::string error;
  std::optional<Tensor> tensor = parseNpy(
      npy(header("|u1", "(2, 3)", "True"), std::string("\0\3\1\4\2\5", 6)),
      error);
  ASSERT_TRUE(tensor) << error;
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(valueAt(*tensor, i), i);
}

TEST(Npy, BooleansAreZeroOrOne) {
  std::string error;
  std::optional<Tensor> tensor =
      parseNpy(npy(header("|b1", "(3,)"), std::string("\0\1\7", 3)), error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->data()[1], 1);
  EXPECT_EQ(tensor->data()[2], 1);
}

TEST(Npy, HeaderVariants) {
  std::string error;
  // Another key order, double quotes, no spaces, Python 2's L.
  EXPECT_TRUE(parseNpy(npy("{\"shape\":(2L,),\"fortran_order\":False,"
                           "\"descr\":\"<f4\"}",
                           floats),
                       error))
      << error;
}

TEST(Npy, MalformedHeaders) {
  const std::pair<std::string, const char *> rows[] = {
      {"", "expects '{', but got its end"},
      {"[]", "expects '{', but got '['"},
      {"{'descr': '<f4'", "expects ',' or '}' after a value"},
      {"{'descr': '<f4', 'shape': (2,)}", "'fortran_order' is missing"},
      {"{'fortran_order': False, 'shape': (2,)}", "'descr' is missing"},
      {"{'descr': '<f4', 'fortran_order': False}", "'shape' is missing"},
      {"{'descr': '<f4', 'descr': '<f4'}", "'descr' is given twice"},
      {"{'colour': 'red'}", "unknown key 'colour'"},
      {"{'descr' '<f4'}", "expects ':' after a key, but got '''"},
      {header("<f4", "(2,)", "Maybe"), "expects True or False, but got 'M'"},
      {header("<f4", "2"), "expects '(' before the shape, but got '2'"},
      {header("<f4", "(-2,)"), "expects a size or ')', but got '-'"},
      {header("<f4", "(2 3)"), "expects ',' or ')' after a size"},
      {header("<f4", "(2,"), "expects a size or ')', but got ','"},
      {header("<f4", "(99999999999999999999,)"), "does not fit in 64 bits"},
      {header("<f4", "(2,)") + "x", "expects nothing after '}', but got 'x'"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
       "structured types are not supported"},
      {header("<c8", "(2,)"), "type '<c8' is not supported; expects one of b1"},
      {header("|O", "(2,)"), "type '|O' is not supported"},
      {header("<U3", "(2,)"), "type '<U3' is not supported"},
      {header("\x1b[31m", "(2,)"), "expects a type in quotes, but got '''"},
      {"\x1b", "expects '{', but got byte 27"},
  };
  for (const auto &[text, message] : rows)
    EXPECT_NE(errorOf(npy(text, floats)).find(message), std::string::npos)
        << text << ": " << errorOf(npy(text, floats));
  std::string sizes = "(";
  for (int i = 0; i < 65; ++i)
    sizes += "1,";
  EXPECT_NE(errorOf(npy(header("|u1", sizes + ")"), "x"))
                .find("more than 64 dimensions"),
            std::string::npos);
}

TEST(Npy, AbsurdSizes) {
  EXPECT_EQ(errorOf(npy(header("<f4", "(4294967296, 4294967296)"), floats)),
            "shape 4294967296x4294967296 is too large");
  EXPECT_EQ(errorOf(npy(header("<f4", "(0, 4294967296, 4294967296)"), "")),
            "shape 0x4294967296x4294967296 is too large");
  // Believed only if the file is that long; no memory is taken before.
  EXPECT_EQ(errorOf(npy(header("<f4", "(1000000000000000,)"), floats)),
            "truncated: the data of f32[1000000000000000] expects "
            "4000000000000000 bytes, but got 8");
  std::string longHeader = npy("", "", 2);
  longHeader.replace(8, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_EQ(errorOf(longHeader), "malformed .npy header: expects at most "
                                 "1048576 bytes, but got 4294967295");
}

TEST(Npy, WrongFiles) {
  EXPECT_EQ(errorOf(""), "expects a .npy file, but it is empty");
  EXPECT_EQ(errorOf("hello, world"), "expects a .npy file, but it does not "
                                     "start with \\x93NUMPY");
  EXPECT_EQ(errorOf("PK\3\4............"),
            "expects a .npy file, but got a .npz archive; save each array of "
            "it with numpy.save");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\4\0\0\0", 10)),
            "expects .npy version 1.0, 2.0 or 3.0, but got 4.0");
  EXPECT_EQ(errorOf(npy(header("<f4", "(2,)"), floats + "x")),
            "the data of f32[2] expects 8 bytes, but the file goes on after "
            "them");
}

TEST(Npy, TruncatedAtEveryByte) {
  TemporaryFolder folder;
  for (int version : {1, 2}) {
    std::string whole = npy(header("<f4", "(2,)"), floats, version);
    for (size_t length = 0; length < whole.size(); ++length) {
      std::string error = errorOf(whole.substr(0, length));
      EXPECT_NE(error.find(length == 0 ? "empty" : "truncated"),
                std::string::npos)
          << length << ": " << error;
      std::string fileError;
      EXPECT_FALSE(
          readNpy(folder.write("x.npy", whole.substr(0, length)), fileError));
      EXPECT_EQ(fileError,
                "cannot read '" + folder.path("x.npy") + "': " + error);
    }
  }
}

TEST(Npy, RoundTrip) {
  TemporaryFolder folder;
  std::mt19937 random(1);
  const std::vector<int64_t> shapes[] = {{}, {0}, {5}, {3, 4}, {2, 3, 4, 5}};
  for (int i = 0; i <= static_cast<int>(DataType::F64); ++i)
    for (const std::vector<int64_t> &shape : shapes) {
      std::string error;
      std::optional<Tensor> tensor =
          Tensor::allocate(static_cast<DataType>(i), shape, error);
      ASSERT_TRUE(tensor) << error;
      for (size_t j = 0; j < tensor->bytes(); ++j)
        tensor->data()[j] = random() & (i == 0 ? 1 : 0xFF);
      std::string head = npyHeader(*tensor);
      EXPECT_EQ(head.size() % 64, 0u);
      std::string data(reinterpret_cast<char *>(tensor->data()),
                       tensor->bytes());
      std::optional<Tensor> back =
          readNpy(folder.write("x.npy", head + data), error);
      ASSERT_TRUE(back) << error;
      EXPECT_EQ(back->text(), tensor->text());
      EXPECT_EQ(0, std::memcmp(back->data(), tensor->data(), data.size()));
    }
}

TEST(Npy, HeaderIsNumPysOwn) {
  // What numpy.save writes for numpy.zeros((3, 4), numpy.float32).
  std::string error;
  std::optional<Tensor> tensor = Tensor::allocate(DataType::F32, {3, 4}, error);
  ASSERT_TRUE(tensor) << error;
  std::string expected = "\x93NUMPY";
  expected += std::string("\1\0v\0", 4);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  expected += std::string(128 - expected.size() - 1, ' ') + "\n";
  EXPECT_EQ(npyHeader(*tensor), expected);
}

TEST(Npy, LoadAs) {
  TemporaryFolder folder;
  std::string f32 = folder.write("f32.npy", npy(header("<f4", "(2,)"), floats));
  std::string u16 = folder.write(
      "u16.npy", npy(header("<u2", "(2,)"), std::string("\x80\x3F\0\xC0", 4)));
  std::string i8 =
      folder.write("i8.npy", npy(header("|i1", "(2,)"), "\xFF\x01"));
  std::string error;

  std::optional<Tensor> tensor = loadNpyAs(u16, DataType::BF16, false, error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->text(), "bf16[2]");
  EXPECT_EQ(valueAt(*tensor, 1), -2);

  tensor = loadNpyAs(i8, DataType::U8, false, error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(valueAt(*tensor, 0), 255);

  EXPECT_FALSE(loadNpyAs(f32, DataType::BF16, false, error));
  EXPECT_EQ(error, "'" + f32 +
                       "' holds f32[2], but bf16 is expected; "
                       "--convert-inputs rounds to nearest even");
  tensor = loadNpyAs(f32, DataType::BF16, true, error);
  ASSERT_TRUE(tensor) << error;
  EXPECT_EQ(tensor->text(), "bf16[2]");
  EXPECT_EQ(valueAt(*tensor, 1), -2);

  EXPECT_FALSE(loadNpyAs(i8, DataType::F32, true, error));
  EXPECT_EQ(error, "'" + i8 + "' holds i8[2], but f32 is expected");
  EXPECT_FALSE(loadNpyAs(f32, DataType::U8, true, error));
  EXPECT_FALSE(loadNpyAs(folder.path("none.npy"), DataType::F32, true, error));
  EXPECT_EQ(error, "cannot read '" + folder.path("none.npy") +
                       "': No such file or directory");
  EXPECT_FALSE(loadNpyAs(folder.path(""), DataType::F32, true, error));
  EXPECT_NE(error.find("Is a directory"), std::string::npos);
}

TEST(Npy, MutatedFilesAreReadOrRefused) {
  std::mt19937 random(2);
  const std::string seeds[] = {
      npy(header("<f4", "(2,)"), floats),
      npy(header(">V2", "(2, 2)", "True"), floats, 2),
      npy(header("|u1", "(0, 3, 8)"), "", 3),
      npy(header("|b1", "(8,)"), floats),
  };
  const std::string pieces[] = {"(", ")", ",",   "'",    "{",  "}",
                                "L", "9", "999", "True", "\\", "'shape': "};
  int accepted = 0;
  for (int i = 0; i < 40000; ++i) {
    std::string file = seeds[random() % std::size(seeds)];
    for (int edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % (file.size() + 1);
      switch (random() % 4) {
      case 0:
        if (at < file.size())
          file[at] = static_cast<char>(random());
        break;
      case 1:
        file.erase(at, random() % 5);
        break;
      case 2:
        file.insert(at, pieces[random() % std::size(pieces)]);
        break;
      case 3:
        file.insert(at, file.substr(random() % (file.size() + 1), 8));
        break;
      }
    }
    std::string error;
    std::optional<Tensor> tensor = parseNpy(file, error);
    if (tensor) {
      ++accepted;
      EXPECT_LE(tensor->bytes(), file.size());
    } else {
      EXPECT_FALSE(error.empty());
      EXPECT_EQ(error.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(accepted, 100);
}
