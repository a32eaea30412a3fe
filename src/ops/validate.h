// SPDX-License-Identifier: Apache-2.0
// What front doors check again and again. Messages: "[op] name must be …, got …".
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/require.h"
#include "tensor/view.h"

namespace twill {

struct NamedView {
  std::string_view name;
  ConstView view;
  bool optional = false;
};

// Present views must all be f32, or all f64 (which only the reference backend runs).
void require_one_float_type(std::string_view op, std::initializer_list<NamedView> views);

void require_shape(std::string_view op, const NamedView& view, const Shape& shape);
void require_dtype(std::string_view op, const NamedView& view, DType dtype);

// A mask or other bytes of a given shape: present, u8, and that shape. An optional one may miss.
void require_bytes(std::string_view op, const NamedView& bytes, const Shape& shape);

}  // namespace twill
