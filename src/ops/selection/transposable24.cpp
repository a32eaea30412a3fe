// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/transposable24.h"

#include "ops/validate.h"

namespace twill {
namespace {

constexpr bool is_legal(std::uint32_t pattern) {
  for (int i = 0; i < 4; ++i) {
    int row = 0, column = 0;
    for (int j = 0; j < 4; ++j) {
      row += static_cast<int>(pattern >> (15 - (4 * i + j)) & 1u);
      column += static_cast<int>(pattern >> (15 - (4 * j + i)) & 1u);
    }
    if (row != 2 || column != 2) return false;
  }
  return true;
}

// Descending numbers are descending lexicographic order, because bit 15 is the first entry.
constexpr std::array<std::uint16_t, 90> list_patterns() {
  std::array<std::uint16_t, 90> patterns{};
  std::size_t count = 0;
  for (std::uint32_t pattern = 0xCC33; pattern >= 0x33CC; --pattern)
    if (is_legal(pattern)) patterns[count++] = static_cast<std::uint16_t>(pattern);
  return patterns;
}

}  // namespace

const std::array<std::uint16_t, 90>& transposable_patterns() {
  static const std::array<std::uint16_t, 90> patterns = list_patterns();
  return patterns;
}

void validate(const Transposable24Args& args) {
  require_one_float_type("transposable24", {{"x", args.x}});
  require(args.x.shape().rank() == 2, "[transposable24] x must have shape (R, C), got {}",
          to_string(args.x.shape()));
  require_bytes("transposable24", {"mask", args.mask}, args.x.shape());
  require(args.x.rows() % 4 == 0, "[transposable24] rows must be a multiple of 4, got {}",
          args.x.rows());
  require(args.x.cols() % 4 == 0, "[transposable24] cols must be a multiple of 4, got {}",
          args.x.cols());
}

void transposable24(const Context& context, const Transposable24Args& args) {
  validate(args);
  context.run("transposable24", context.kernels().transposable24, args);
}

}  // namespace twill
