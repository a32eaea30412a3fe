// SPDX-License-Identifier: Apache-2.0
// From a view's dtype to a C++ type, and from an optional view to a pointer.
#pragma once

#include "tensor/view.h"

namespace twill::reference {

// Calls body(T{}) with T the element type: float, or else double. Front doors let nothing else in.
template <class Body>
void with_element_type(DType dtype, const Body& body) {
  if (dtype == DType::kF32) {
    body(float{});
  } else {
    body(double{});
  }
}

// The data of an optional operand: nullptr when absent.
template <class T, class Byte>
auto* data_or_null(const BasicView<Byte>& view) {
  return view ? view.template as<T>() : nullptr;
}

}  // namespace twill::reference
