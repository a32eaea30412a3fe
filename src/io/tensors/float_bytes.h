// SPDX-License-Identifier: Apache-2.0
// Numbers as files store them, read as f32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace twill {

enum class FloatFormat { kF32, kF16, kBf16, kF64 };

// The format by its name in safetensors files ("F32", "BF16"); empty for anything else.
std::optional<FloatFormat> float_format(std::string_view safetensors_name);
std::int64_t size_of(FloatFormat format);

// Reads `count` numbers in pieces: `read(first_byte, destination, bytes)` delivers the bytes.
using ByteReader = std::function<void(std::int64_t, void*, std::int64_t)>;
void read_as_f32(FloatFormat format, std::int64_t count, const ByteReader& read,
                 float* destination);

}  // namespace twill
