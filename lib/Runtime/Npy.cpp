//===-- Npy.cpp - NumPy's array files ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Npy.h"
#include "NpyHeader.h"
#include "blockscale/Runtime/Convert.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::runtime;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "arrays are written as memory holds them");

/// NumPy's own readers refuse headers a hundredth of this.
constexpr size_t maxHeader = 1 << 20;

namespace {

/// Where the bytes of a file come from.
class Source {
public:
  virtual ~Source() = default;
  /// Reads up to `bytes`: fewer only at the end. Nullopt on an error.
  virtual std::optional<size_t> read(void *target, size_t bytes,
                                     std::string &error) = 0;
  /// Bytes up to the end, if known.
  virtual std::optional<uint64_t> remaining() = 0;
};

class MemorySource : public Source {
public:
  explicit MemorySource(std::string_view bytes) : rest(bytes) {}
  std::optional<size_t> read(void *target, size_t bytes,
                             std::string &) override {
    bytes = std::min(bytes, rest.size());
    if (bytes)
      std::memcpy(target, rest.data(), bytes);
    rest.remove_prefix(bytes);
    return bytes;
  }
  std::optional<uint64_t> remaining() override { return rest.size(); }

private:
  std::string_view rest;
};

class FileSource : public Source {
public:
  explicit FileSource(int descriptor) : descriptor(descriptor) {}
  ~FileSource() override { close(descriptor); }
  std::optional<size_t> read(void *target, size_t bytes,
                             std::string &error) override {
    size_t done = 0;
    while (done < bytes) {
      ssize_t got =
          ::read(descriptor, static_cast<char *>(target) + done, bytes - done);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0) {
        error = std::strerror(errno);
        return std::nullopt;
      }
      if (got == 0)
        break;
      done += static_cast<size_t>(got);
    }
    return done;
  }
  std::optional<uint64_t> remaining() override {
    struct stat status;
    off_t position = lseek(descriptor, 0, SEEK_CUR);
    if (position < 0 || fstat(descriptor, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size < position)
      return std::nullopt;
    return static_cast<uint64_t>(status.st_size - position);
  }

private:
  int descriptor;
};

} // namespace

static std::nullopt_t truncated(std::string_view part, uint64_t expected,
                                uint64_t got, std::string &error) {
  error = "truncated: " + std::string(part) + " expects " +
          std::to_string(expected) + " bytes, but got " + std::to_string(got);
  return std::nullopt;
}

static std::optional<NpyHeader> readHeader(Source &source, std::string &error) {
  unsigned char prefix[12] = {};
  std::optional<size_t> got = source.read(prefix, 10, error);
  if (!got)
    return std::nullopt;
  if (*got >= 4 && std::memcmp(prefix, "PK\3\4", 4) == 0) {
    error = "expects a .npy file, but got a .npz archive; save each array of "
            "it with numpy.save";
    return std::nullopt;
  }
  static constexpr char magic[] = "\x93NUMPY";
  size_t compared = std::min<size_t>(*got, 6);
  if (compared == 0 || std::memcmp(prefix, magic, compared) != 0) {
    error = compared == 0 ? "expects a .npy file, but it is empty"
                          : "expects a .npy file, but it does not start with "
                            "\\x93NUMPY";
    return std::nullopt;
  }
  if (*got < 10)
    return truncated("the prefix", 10, *got, error);
  unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0) {
    error = "expects .npy version 1.0, 2.0 or 3.0, but got " +
            std::to_string(major) + "." + std::to_string(minor);
    return std::nullopt;
  }
  size_t length = prefix[8] | prefix[9] << 8;
  if (major > 1) {
    got = source.read(prefix + 10, 2, error);
    if (!got)
      return std::nullopt;
    if (*got < 2)
      return truncated("the prefix", 12, 10 + *got, error);
    length |= static_cast<size_t>(prefix[10]) << 16 |
              static_cast<size_t>(prefix[11]) << 24;
  }
  if (length > maxHeader) {
    error = "malformed .npy header: expects at most " +
            std::to_string(maxHeader) + " bytes, but got " +
            std::to_string(length);
    return std::nullopt;
  }
  std::string text(length, '\0');
  got = source.read(text.data(), length, error);
  if (!got)
    return std::nullopt;
  if (*got < length)
    return truncated("the header", length, *got, error);
  return parseNpyHeader(text, error);
}

static void swapBytes(Tensor &tensor) {
  const size_t step = size(tensor.type());
  for (int64_t i = 0; i < tensor.count(); ++i)
    std::reverse(tensor.data() + i * step, tensor.data() + (i + 1) * step);
}

/// `tensor` holds an array of `shape` in column-major order.
static std::optional<Tensor> fromFortran(const Tensor &tensor,
                                         const std::vector<int64_t> &shape,
                                         std::string &error) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
  std::optional<Tensor> result = Tensor::allocate(tensor.type(), shape, error);
  if (result)
    copyStrided(result->data(), tensor.data(), size(tensor.type()), shape,
                strides);
  return result;
}

static std::optional<Tensor> read(Source &source, std::string &error) {
  std::optional<NpyHeader> header = readHeader(source, error);
  if (!header)
    return std::nullopt;
  std::optional<int64_t> count =
      elementCount(header->shape, size(header->type));
  if (!count) {
    error = "shape " + shapeText(header->shape) + " is too large";
    return std::nullopt;
  }
  // A header may claim anything: believe it only if the file is that long.
  const uint64_t bytes = static_cast<uint64_t>(*count) * size(header->type);
  std::string part = "the data of " + arrayText(header->type, header->shape);
  std::optional<uint64_t> remaining = source.remaining();
  if (remaining && *remaining < bytes)
    return truncated(part, bytes, *remaining, error);
  std::optional<Tensor> tensor =
      Tensor::allocate(header->type, header->shape, error);
  if (!tensor)
    return std::nullopt;
  std::optional<size_t> got = source.read(tensor->data(), bytes, error);
  if (!got)
    return std::nullopt;
  if (*got < bytes)
    return truncated(part, bytes, *got, error);
  char extra;
  got = source.read(&extra, 1, error);
  if (!got)
    return std::nullopt;
  if (*got != 0) {
    error = part + " expects " + std::to_string(bytes) +
            " bytes, but the file goes on after them";
    return std::nullopt;
  }
  if (header->bigEndian)
    swapBytes(*tensor);
  if (header->type == DataType::I1)
    for (int64_t i = 0; i < tensor->count(); ++i)
      tensor->data()[i] = tensor->data()[i] != 0;
  if (header->fortranOrder && header->shape.size() > 1)
    return fromFortran(*tensor, header->shape, error);
  return tensor;
}

std::optional<Tensor> blockscale::runtime::parseNpy(std::string_view bytes,
                                                    std::string &error) {
  MemorySource source(bytes);
  return read(source, error);
}

std::optional<Tensor> blockscale::runtime::readNpy(const std::string &path,
                                                   std::string &error) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    error = "cannot read '" + path + "': " + std::strerror(errno);
    return std::nullopt;
  }
  FileSource source(descriptor);
  std::optional<Tensor> tensor = read(source, error);
  if (!tensor)
    error = "cannot read '" + path + "': " + error;
  return tensor;
}

std::optional<Tensor> blockscale::runtime::loadNpyAs(const std::string &path,
                                                     DataType expected,
                                                     bool convert,
                                                     std::string &error) {
  std::optional<Tensor> tensor = readNpy(path, error);
  if (!tensor)
    return std::nullopt;
  DataType given = tensor->type();
  if (sameBits(expected, given) ||
      (expected == DataType::BF16 && given == DataType::U16)) {
    tensor->reinterpretAs(expected);
    return tensor;
  }
  const bool roundable = isFloat(expected) && isFloat(given);
  if (roundable && convert)
    return convertFloats(*tensor, expected, error);
  error = "'" + path + "' holds " + tensor->text() + ", but " +
          std::string(name(expected)) + " is expected";
  if (roundable)
    error += "; --convert-inputs rounds to nearest even";
  return std::nullopt;
}

std::string blockscale::runtime::npyHeader(const Tensor &tensor) {
  std::string text = "{'descr': '" + std::string(npyDescr(tensor.type())) +
                     "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape())
    text += std::to_string(extent) + ", ";
  // As NumPy spells it: (), (3,), (3, 4).
  if (tensor.shape().size() == 1)
    text.pop_back();
  else if (!tensor.shape().empty())
    text.resize(text.size() - 2);
  text += "), }";
  constexpr size_t prefix = 10, alignment = 64;
  size_t total =
      (prefix + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}
