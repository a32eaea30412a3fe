// SPDX-License-Identifier: Apache-2.0
#include "ops/packing/pack24.h"

#include <algorithm>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

// Where an element of the packed matrix lies in the dense operand.
struct Place {
  std::int64_t dense_cols;
  bool transpose;

  std::int64_t of(std::int64_t row, std::int64_t col) const {
    return transpose ? col * dense_cols + row : row * dense_cols + col;
  }
};

struct Pair {
  int first, second;  // positions in the group, ascending
};

// The first two set positions; unset ones, lowest first, where there are fewer.
Pair kept_pair(const bool (&set)[4]) {
  int chosen[2], count = 0;
  for (int i = 0; i < 4 && count < 2; ++i)
    if (set[i]) chosen[count++] = i;
  for (int i = 0; i < 4 && count < 2; ++i)
    if (!set[i]) chosen[count++] = i;
  return {std::min(chosen[0], chosen[1]), std::max(chosen[0], chosen[1])};
}

template <class T>
void pack(const Pack24Args& args) {
  const Place place{args.dense.cols(), args.transpose};
  const std::int64_t R = args.values.rows(), half = args.values.cols();
  const std::int64_t row_bytes = args.nibbles.cols();
  const T* dense = args.dense.as<T>();
  std::uint8_t* nibbles = args.nibbles.as<std::uint8_t>();
  std::fill_n(nibbles, args.nibbles.num_elements(), std::uint8_t{0});
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t group = 0; group < half / 2; ++group) {
      bool set[4];
      for (int i = 0; i < 4; ++i)
        set[i] = args.mask.as<std::uint8_t>()[place.of(r, 4 * group + i)] != 0;
      const auto [first, second] = kept_pair(set);
      T* values = args.values.as<T>() + r * half + 2 * group;
      values[0] = set[first] ? dense[place.of(r, 4 * group + first)] : T{0};
      values[1] = set[second] ? dense[place.of(r, 4 * group + second)] : T{0};
      const int code = (first | second << 2) << (group % 2 == 0 ? 0 : 4);
      nibbles[r * row_bytes + group / 2] |= static_cast<std::uint8_t>(code);
    }
  }
}

template <class T>
void unpack(const Unpack24Args& args) {
  const Place place{args.dense.cols(), args.transpose};
  const std::int64_t R = args.values.rows(), half = args.values.cols();
  T* dense = args.dense.as<T>();
  std::fill_n(dense, args.dense.num_elements(), T{0});
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t k = 0; k < half; ++k) {
      const std::int64_t group = k / 2;
      const int byte = args.nibbles.as<std::uint8_t>()[r * args.nibbles.cols() + group / 2];
      const int code = byte >> (group % 2 == 0 ? 0 : 4);
      const int position = (k % 2 == 0 ? code : code >> 2) & 3;
      dense[place.of(r, 4 * group + position)] = args.values.as<T>()[r * half + k];
    }
  }
}

}  // namespace

void pack24(const Pack24Args& args, const Device&, Queue&) {
  with_element_type(args.dense.dtype(), [&]<class T>(T) { pack<T>(args); });
}

void unpack24(const Unpack24Args& args, const Device&, Queue&) {
  with_element_type(args.dense.dtype(), [&]<class T>(T) { unpack<T>(args); });
}

}  // namespace twill::reference
