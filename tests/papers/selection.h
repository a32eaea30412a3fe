// SPDX-License-Identifier: Apache-2.0
// Selection on plain vectors, for the paper tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ops/selection/mask.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "support/seeds.h"

namespace twill {

struct Matrix {
  std::int64_t rows, cols;
  std::vector<float> x;

  Shape shape() const { return {rows, cols}; }
  ConstView view() const { return view_of(x.data(), shape()); }
};
using Bytes = std::vector<std::uint8_t>;

inline Bytes row_mask(const Context& context, const Matrix& w) {
  Bytes mask(w.x.size());
  select24(context, {.x = w.view(), .mask = view_of(mask.data(), w.shape())});
  return mask;
}
inline Bytes block_mask(const Context& context, const Matrix& w,
                        TransposableMethod method = TransposableMethod::kExact) {
  Bytes mask(w.x.size());
  transposable24(context,
                 {.x = w.view(), .mask = view_of(mask.data(), w.shape()), .method = method});
  return mask;
}

// Share of bits that differ.
inline double flip_rate(const Context& context, const Bytes& a, const Bytes& b) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  double count = -1.0;
  mask_difference(context, {.a = view_of(a.data(), shape),
                            .b = view_of(b.data(), shape),
                            .count = view_of(&count, {1})});
  return count / static_cast<double>(a.size());
}

// "0110/0101/1001/1010": rows of four.
inline std::string to_text(const Bytes& mask) {
  std::string text;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (i > 0 && i % 4 == 0) text += '/';
    text += mask[i] != 0 ? '1' : '0';
  }
  return text;
}

// N(0, 1), two numbers per call of philox.
inline Matrix normal_matrix(std::int64_t rows, std::int64_t cols, std::uint32_t stream) {
  Matrix w{rows, cols, std::vector<float>(static_cast<std::size_t>(rows * cols))};
  for (std::size_t i = 0; i + 1 < w.x.size(); i += 2) {
    const Philox4 bits = random_bits(test_seed(), Purpose::kTest, stream, i);
    w.x[i] = normal_float(bits[0], bits[1]);
    w.x[i + 1] = normal_float(bits[2], bits[3]);
  }
  return w;
}

inline Matrix transposed(const Matrix& w) {
  Matrix t{w.cols, w.rows, std::vector<float>(w.x.size())};
  for (std::int64_t r = 0; r < w.rows; ++r)
    for (std::int64_t c = 0; c < w.cols; ++c)
      t.x[static_cast<std::size_t>(c * w.rows + r)] = w.x[static_cast<std::size_t>(r * w.cols + c)];
  return t;
}

}  // namespace twill
