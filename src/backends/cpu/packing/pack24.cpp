// SPDX-License-Identifier: Apache-2.0
// pack24 and unpack24 on the cpu: a table of 16 masks gives the two positions and the code.
//
// Bound by memory: 7.1 B per dense element. Of a transposed matrix, 64 of its columns are a task,
// so that the lines of their packed rows stay in the first cache.
#include "ops/packing/pack24.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;    // dense elements
constexpr std::int64_t kMinColumns = 64;  // packed rows per task of a transposed matrix

struct Choice {
  std::uint8_t first, second;
  bool has_first, has_second;  // else filled in: value 0
};

// Index: bit i is set when the mask's entry i is. The first two set entries, and unset ones, lowest
// first, where there are fewer.
constexpr Choice choice_of(unsigned set) {
  std::uint8_t at[2] = {};
  int count = 0;
  for (const unsigned wanted : {1u, 0u})
    for (std::uint8_t i = 0; i < 4 && count < 2; ++i)
      if ((set >> i & 1u) == wanted) at[count++] = i;
  const std::uint8_t first = std::min(at[0], at[1]), second = std::max(at[0], at[1]);
  return {first, second, (set >> first & 1u) != 0, (set >> second & 1u) != 0};
}

constexpr std::array<Choice, 16> kChoices = [] {
  std::array<Choice, 16> choices{};
  for (unsigned set = 0; set < 16; ++set) choices[set] = choice_of(set);
  return choices;
}();

// Bit i is entry i of a group's mask, any byte but 0 being set. Of four neighbours, the lowest bit of
// each becomes whether it is set; the product collects these in its highest byte.
inline unsigned set_entries(const std::uint8_t* mask, std::int64_t stride) {
  if (stride == 1) {
    std::uint32_t word;
    std::memcpy(&word, mask, sizeof word);
    word = (((word & 0x7f7f'7f7fu) + 0x7f7f'7f7fu) | word) >> 7 & 0x0101'0101u;
    return word * 0x0102'0408u >> 24 & 15u;
  }
  unsigned set = 0;
  for (unsigned i = 0; i < 4; ++i) set |= unsigned{mask[i * stride] != 0} << i;
  return set;
}

// One group whose entries are `stride` apart; returns its code.
inline unsigned pack_group(const float* x, const std::uint8_t* mask, std::int64_t stride,
                           float* values) {
  const unsigned set = set_entries(mask, stride);
  const Choice& choice = kChoices[set];
  values[0] = choice.has_first ? x[choice.first * stride] : 0.0f;
  values[1] = choice.has_second ? x[choice.second * stride] : 0.0f;
  return choice.first | unsigned{choice.second} << 2;
}

inline void unpack_group(const float* values, unsigned code, float* x, std::int64_t stride) {
  for (std::int64_t i = 0; i < 4; ++i) x[i * stride] = 0.0f;
  x[(code & 3u) * stride] = values[0];
  x[(code >> 2 & 3u) * stride] = values[1];
}

// Where the group `group` of packed row `row` begins in the dense operand.
struct DenseLayout {
  std::int64_t row_stride, stride;

  DenseLayout(std::int64_t dense_cols, bool transpose)
      : row_stride(transpose ? 1 : dense_cols), stride(transpose ? dense_cols : 1) {}
  std::int64_t at(std::int64_t row, std::int64_t group) const {
    return row * row_stride + 4 * group * stride;
  }
};

// Calls body(row, byte) for every byte of `nibbles`: bytes of a row run innermost, or, transposed,
// rows do, as dense memory lies.
template <class Body>
void for_each_byte(Queue& queue, const ConstView& nibbles, bool transpose, const Body& body) {
  const std::int64_t bytes = nibbles.cols();
  const std::int64_t grain =
      std::max(transpose ? kMinColumns : 1, rows_per_task(kPiece, 8 * bytes));
  run_pieces(queue, nibbles.rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    if (transpose) {
      for (std::int64_t byte = 0; byte < bytes; ++byte)
        for (std::int64_t row = begin; row < end; ++row) body(row, byte);
    } else {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t byte = 0; byte < bytes; ++byte) body(row, byte);
    }
  });
}

}  // namespace

void pack24(const Pack24Args& args, const Device&, Queue& queue) {
  const DenseLayout layout(args.dense.cols(), args.transpose);
  const std::int64_t half = args.values.cols(), bytes = args.nibbles.cols();
  const float* dense = args.dense.as<float>();
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  float* values = args.values.as<float>();
  std::uint8_t* nibbles = args.nibbles.as<std::uint8_t>();
  const auto pack_one = [&](std::int64_t row, std::int64_t group) {
    const std::int64_t at = layout.at(row, group);
    return pack_group(dense + at, mask + at, layout.stride, values + row * half + 2 * group);
  };
  for_each_byte(queue, args.nibbles, args.transpose, [&](std::int64_t row, std::int64_t byte) {
    unsigned code = pack_one(row, 2 * byte);
    if (4 * byte + 2 < half) code |= pack_one(row, 2 * byte + 1) << 4;
    nibbles[row * bytes + byte] = static_cast<std::uint8_t>(code);
  });
}

void unpack24(const Unpack24Args& args, const Device&, Queue& queue) {
  const DenseLayout layout(args.dense.cols(), args.transpose);
  const std::int64_t half = args.values.cols(), bytes = args.nibbles.cols();
  const float* values = args.values.as<float>();
  const std::uint8_t* nibbles = args.nibbles.as<std::uint8_t>();
  float* dense = args.dense.as<float>();
  const auto unpack_one = [&](std::int64_t row, std::int64_t group, unsigned code) {
    unpack_group(values + row * half + 2 * group, code, dense + layout.at(row, group),
                 layout.stride);
  };
  for_each_byte(queue, args.nibbles, args.transpose, [&](std::int64_t row, std::int64_t byte) {
    const unsigned codes = nibbles[row * bytes + byte];
    unpack_one(row, 2 * byte, codes & 15u);
    if (4 * byte + 2 < half) unpack_one(row, 2 * byte + 1, codes >> 4);
  });
}

}  // namespace twill::cpu
