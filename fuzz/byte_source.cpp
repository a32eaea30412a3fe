// SPDX-License-Identifier: Apache-2.0
// A plain or packed file, read as a stream. Four kilobytes can stand for gigabytes, and streaming
// them is right: the target reads the first megabytes.
#include "io/packed/byte_source.h"

#include <array>
#include <memory>

#include "target.h"

TWILL_FUZZ(bytes) {
  constexpr std::size_t kEnough = std::size_t{4} << 20;
  const auto source = twill::byte_source_of(std::string(bytes), "fuzz");
  std::array<char, 1 << 14> buffer;
  std::size_t total = 0, got = 0;
  while (total < kEnough && (got = source->read(buffer)) > 0) total += got;
}
