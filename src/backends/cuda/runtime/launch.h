// SPDX-License-Identifier: Apache-2.0
// Choices that every launcher makes: the element type, whether 16-byte accesses fit, the grid.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "base/check.h"
#include "ops/kernel_table.h"
#include "tensor/view.h"

namespace twill::cuda {

template <class T>
struct TypeOf {
  using Type = T;
};

// Calls body(TypeOf<float>) or body(TypeOf<__nv_bfloat16>).
template <class Body>
void by_type(DType dtype, const Body& body) {
  if (dtype == DType::kF32) return body(TypeOf<float>());
  TWILL_CHECK(dtype == DType::kBf16, "the cuda backend computes on f32 and bf16");
  return body(TypeOf<__nv_bfloat16>());
}

template <class T, class Byte>
auto* pointer(const BasicView<Byte>& view) {
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return reinterpret_cast<Element*>(view.bytes());
}

// Whether every present view begins on a 16-byte boundary.
inline bool is_aligned(std::initializer_list<ConstView> views) {
  return std::ranges::all_of(views, [](const ConstView& view) {
    return reinterpret_cast<std::uintptr_t>(view.bytes()) % 16 == 0;
  });
}

// Whether 16-byte accesses fit every row of heads (ops/attention/heads_view.h): the first begins on a line
// of 16 bytes, and rows are whole lines.
template <class Heads>
bool has_aligned_rows(const Heads& heads) {
  return reinterpret_cast<std::uintptr_t>(heads.bytes()) % 16 == 0 &&
         heads.row_stride() * size_of(heads.dtype()) % 16 == 0;
}

inline constexpr std::int64_t kMostBlocksDown = 65535;  // of a grid's second side

// Blocks for `items` pieces of work, at most `per_sm` on every multiprocessor; never zero.
inline unsigned grid_for(std::int64_t items, int per_sm, const Device& device) {
  const std::int64_t resident = std::int64_t{std::max(device.num_sms, 1)} * per_sm;
  return static_cast<unsigned>(std::clamp<std::int64_t>(items, 1, resident));
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace twill::cuda
