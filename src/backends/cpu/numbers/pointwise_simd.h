// SPDX-License-Identifier: Apache-2.0
// Element-wise loops without transcendental functions: sums, dropout, rotation.
#pragma once

#include <cstdint>

namespace twill::cpu {

// y[i] = the sum of terms[k][i] over the terms that are not nullptr, at least
// one. y may be one of the terms.
void add_terms(const float* const (&terms)[3], float* y, std::int64_t n);

// A dropout mask is a function of these and the element's number.
struct DropoutMask {
  std::uint64_t seed;
  std::uint32_t step;
  std::uint64_t first_element;  // philox element of the tensor's elements 0 to 3
  std::uint32_t threshold;      // keep when the upper 24 bits of the word are at least this
};

// y[i] = [addend[i] +] (keep(i) ? x[i] scale : 0) for i in [begin, end); begin % 4 == 0.
struct DropoutRange {
  DropoutMask mask;
  float scale;
  const float* x;
  const float* addend;  // nullptr when absent
  float* y;
  std::int64_t begin;
  std::int64_t end;
};
void dropout_range(const DropoutRange& range);

// Turns pairs (i, i + head_dim / 2) of num_heads heads of one token, by the angles of `cosines` and
// `sines` times `sign`.
struct RotateToken {
  float* x;  // (num_heads, head_dim)
  std::int64_t num_heads;
  std::int64_t head_dim;
  const float* cosines;  // (head_dim / 2)
  const float* sines;    // (head_dim / 2)
  float sign;
};
void rotate_token(const RotateToken& token);

}  // namespace twill::cpu
