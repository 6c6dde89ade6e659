//===-- MatrixMovesTest.cpp - ldmatrix, stmatrix, movmatrix -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim::test;

TEST(MatrixMoves, LoadStoreAndTranspose) {
  // 32 rows of 16 bytes: the byte's value is its place.
  std::string fill =
      "mad.lo.u32 %x0, %lane, 16, %smem;\n"
      "mul.lo.u32 %x1, %lane, 0x10101010;\n"
      "add.u32 %x2, %x1, 0x03020100; add.u32 %x3, %x1, 0x07060504;\n"
      "add.u32 %x4, %x1, 0x0b0a0908; add.u32 %x5, %x1, 0x0f0e0d0c;\n"
      "st.shared.v4.b32 [%x0], {%x2,%x3,%x4,%x5};\n"
      "bar.warp.sync -1;\n";
  // lane * 0x10101010 carries for lanes from 16 on; take rows modulo 16 rows.
  auto byteAt = [](unsigned row, unsigned column) {
    uint32_t base = row * 0x10101010u,
             pattern[4] = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c};
    return uint8_t((base + pattern[column / 4]) >> (8 * (column % 4)));
  };
  Snippet plain(fill + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                       "{%x6,%x7,%x8,%x9}, [%x0];\nmov.b64 %o0, {%x6,%x7};"
                       "mov.b64 %o1, {%x8,%x9};");
  plain.outputs = 2;
  std::vector<Words> out = plain({});
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned matrix = 0; matrix < 4; ++matrix)
      for (unsigned byte = 0; byte < 4; ++byte)
        ASSERT_EQ(uint8_t(out[matrix / 2][l] >> (32 * (matrix % 2) + 8 * byte)),
                  byteAt(matrix * 8 + l / 4, l % 4 * 4 + byte));
  Snippet transposed(fill + "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 "
                            "{%x6,%x7}, [%x0]; mov.b64 %o0, {%x6,%x7};");
  out = transposed({});
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned matrix = 0; matrix < 2; ++matrix)
      for (unsigned k = 0; k < 2; ++k)
        for (unsigned byte = 0; byte < 2; ++byte)
          ASSERT_EQ(uint8_t(out[0][l] >> (32 * matrix + 16 * k + 8 * byte)),
                    byteAt(matrix * 8 + l % 4 * 2 + k, l / 4 * 2 + byte));
  Snippet move("movmatrix.sync.aligned.m8n8.trans.b16 %x0, %r0;"
               "cvt.u64.u32 %o0, %x0;");
  Words in = Random(44).words(32);
  out = move({in});
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned k = 0; k < 2; ++k) {
      unsigned row = l % 4 * 2 + k, column = l / 4;
      ASSERT_EQ(uint16_t(out[0][l] >> (16 * k)),
                uint16_t(in[row * 4 + column / 2] >> (16 * (column % 2))));
    }
  Snippet store("mad.lo.u32 %x0, %lane, 16, %smem;\n"
                "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%x0], {%r0};\n"
                "bar.warp.sync -1; mad.lo.u32 %x1, %lane, 4, %smem;\n"
                "ld.shared.b32 %x2, [%x1]; cvt.u64.u32 %o0, %x2;");
  EXPECT_EQ(store({in})[0], out[0]);
}

TEST(MatrixMoves, LoadPackedElements) {
  // Rows of 16 elements of 4 or 6 bits, each then a byte.
  for (unsigned bitsPer : {4u, 6u}) {
    Random random(45);
    unsigned codes[8][16];
    Words low(32), high(32);
    for (unsigned row = 0; row < 8; ++row) {
      unsigned __int128 packed = 0;
      for (unsigned k = 0; k < 16; ++k) {
        codes[row][k] = random.next() & ((1u << bitsPer) - 1);
        packed |= (unsigned __int128)(codes[row][k]) << (bitsPer * k);
      }
      low[row] = uint64_t(packed);
      high[row] = uint64_t(packed >> 64);
    }
    std::string format = bitsPer == 4 ? "b4x16_p64" : "b6x16_p32";
    // The padding is not written: reading it would be a fault.
    std::string tail = bitsPer == 4 ? "" : "st.shared.b32 [%x0+8], %r1;\n";
    Snippet snippet("mad.lo.u32 %x0, %lane, 16, %smem;\n"
                    "st.shared.b64 [%x0], %a0;\n" +
                    tail +
                    "bar.warp.sync -1;\nldmatrix.sync.aligned.m8n16.x1.shared."
                    "b8x16." +
                    format + " {%x1}, [%x0]; cvt.u64.u32 %o0, %x1;");
    snippet.target = "sm_120a";
    Words out = snippet({low, high})[0];
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned k = 0; k < 4; ++k)
        ASSERT_EQ(uint8_t(out[l] >> (8 * k)), codes[l / 4][l % 4 * 4 + k]);
  }
}

TEST(MatrixMoves, LoadBytesTransposed) {
  // Byte c of row r is 16 r + c. A lane's registers have, low byte first, rows
  // 4 t, 4 t + 1 of column g, the same of column g + 8; then rows 4 t + 2, + 3.
  Snippet snippet("mad.lo.u32 %x0, %lane, 16, %smem;\n"
                  "st.shared.v2.b64 [%x0], {%a0, %a1};\nbar.warp.sync -1;\n"
                  "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%x1, %x2}, "
                  "[%x0]; mov.b64 %o0, {%x1, %x2};");
  snippet.target = "sm_120a";
  std::vector<Words> in(2, Words(32));
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned c = 0; c < 16; ++c)
      in[c / 8][r] |= uint64_t(16 * r + c) << (8 * (c % 8));
  std::vector<Words> out = snippet(in);
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l >> 2, t = l % 4;
    const unsigned expected[8][2] = {
        {4 * t, g},     {4 * t + 1, g}, {4 * t, g + 8},     {4 * t + 1, g + 8},
        {4 * t + 2, g}, {4 * t + 3, g}, {4 * t + 2, g + 8}, {4 * t + 3, g + 8}};
    for (unsigned k = 0; k < 8; ++k)
      ASSERT_EQ(uint8_t(out[0][l] >> (8 * k)),
                16 * expected[k][0] + expected[k][1]);
  }
}

TEST(MatrixMoves, StoreBytesTransposed) {
  // Accumulators of m16n8 as bytes: e0, e1 in row g, e2, e3 in row g + 8; a row
  // of memory is a column.
  Snippet snippet(
      "mad.lo.u32 %x0, %lane, 16, %smem;\n"
      "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%x0], {%r0};\n"
      "bar.warp.sync -1; mad.lo.u32 %x1, %lane, 4, %smem;\n"
      "ld.shared.b32 %x2, [%x1]; cvt.u64.u32 %o0, %x2;");
  snippet.target = "sm_120a";
  Words in(32);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned k = 0; k < 4; ++k) {
      unsigned row = (l >> 2) + k / 2 * 8, column = l % 4 * 2 + k % 2;
      in[l] |= (row * 8 + column) << (8 * k);
    }
  std::vector<Words> out = snippet({in});
  for (unsigned byte = 0; byte < 128; ++byte) {
    unsigned column = byte / 16, row = byte % 16;
    ASSERT_EQ(uint8_t(out[0][byte / 4] >> (8 * (byte % 4))), row * 8 + column);
  }
}
