// SPDX-License-Identifier: Apache-2.0
// What front doors check again and again. Messages: "[op] name must be …, got …".
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/require.h"
#include "ops/kernel_table.h"
#include "tensor/view.h"

namespace twill {

struct NamedView {
  std::string_view name;
  ConstView view;
  bool optional = false;
};

// Present views must all be f32, or all f64 (which only the reference backend runs).
void require_one_float_type(std::string_view op, std::initializer_list<NamedView> views);

// `narrow` views must all have one type of f32, bf16 and f64; `wide` ones the wide_type() of it.
void require_float_types(std::string_view op, std::initializer_list<NamedView> narrow,
                         std::initializer_list<NamedView> wide);

// bf16 is stored by backends that say so.
void require_stored(std::string_view op, const KernelTable& kernels, ConstView view);

void require_shape(std::string_view op, const NamedView& view, const Shape& shape);
void require_dtype(std::string_view op, const NamedView& view, DType dtype);

// A mask or other bytes of a given shape: present, u8, and that shape. An optional one may miss.
void require_bytes(std::string_view op, const NamedView& bytes, const Shape& shape);

}  // namespace twill
