// SPDX-License-Identifier: Apache-2.0
#include "io/tensors/float_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/bf16.h"
#include "base/f16.h"

namespace twill {
namespace {

constexpr std::int64_t kNumbersAtOnce = 1 << 16;  // numbers; at most 512 KiB, which a cache holds

float to_float(double v) { return static_cast<float>(v); }

template <class T>
void convert(const std::byte* bytes, std::int64_t count, float* destination) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    destination[i] = to_float(value);
  }
}

void convert(FloatFormat format, const std::byte* bytes, std::int64_t count, float* destination) {
  if (format == FloatFormat::kF16) convert<F16>(bytes, count, destination);
  if (format == FloatFormat::kBf16) convert<Bf16>(bytes, count, destination);
  if (format == FloatFormat::kF64) convert<double>(bytes, count, destination);
}

}  // namespace

std::optional<FloatFormat> float_format(std::string_view name) {
  if (name == "F32") return FloatFormat::kF32;
  if (name == "F16") return FloatFormat::kF16;
  if (name == "BF16") return FloatFormat::kBf16;
  if (name == "F64") return FloatFormat::kF64;
  return std::nullopt;
}

std::int64_t size_of(FloatFormat format) {
  if (format == FloatFormat::kF64) return 8;
  return format == FloatFormat::kF32 ? 4 : 2;
}

void read_as_f32(FloatFormat format, std::int64_t count, const ByteReader& read,
                 float* destination) {
  const std::int64_t size = size_of(format);
  if (format == FloatFormat::kF32) return read(0, destination, count * size);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(count, kNumbersAtOnce) * size));
  for (std::int64_t first = 0; first < count; first += kNumbersAtOnce) {
    const std::int64_t numbers = std::min(kNumbersAtOnce, count - first);
    read(first * size, piece.data(), numbers * size);
    convert(format, piece.data(), numbers, destination + first);
  }
}

}  // namespace twill
