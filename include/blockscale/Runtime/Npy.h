//===-- Npy.h - NumPy's array files -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads .npy versions 1 to 3, little- and big-endian, C and Fortran order;
// writes version 1, little-endian, C order. Nothing in a file can make the
// reader crash or take memory that the file does not fill.
//
// NumPy has no bf16. ml_dtypes stores it as two bytes of `void`, `<V2`; so do
// we, and `<u2` may be read as bf16 too. See loadNpyAs().
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_NPY_H
#define BLOCKSCALE_RUNTIME_NPY_H

#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

/// The array in the bytes of a .npy file. `<V2` becomes bf16 and `V1` (the
/// 8-bit floats of ml_dtypes) u8.
std::optional<Tensor> parseNpy(std::string_view bytes, std::string &error);

/// The array in a file (or pipe). The error names the file.
std::optional<Tensor> readNpy(const std::string &path, std::string &error);

/// readNpy(), as an argument of type `expected`: integers of the same width
/// are taken as they are, u16 as bf16 too. Another float type is rounded to
/// nearest even if `convert`, and an error that says so if not.
std::optional<Tensor> loadNpyAs(const std::string &path, DataType expected,
                                bool convert, std::string &error);

/// The header that makes `tensor`'s bytes a .npy file.
std::string npyHeader(const Tensor &tensor);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_NPY_H
