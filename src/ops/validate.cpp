// SPDX-License-Identifier: Apache-2.0
#include "ops/validate.h"

#include <optional>

namespace twill {

void require_one_float_type(std::string_view op, std::initializer_list<NamedView> views) {
  std::optional<NamedView> first;
  for (const NamedView& named : views) {
    const bool empty = named.view.num_elements() == 0;
    require(named.view || named.optional || empty, "[{}] {} is missing", op, named.name);
    if (!named.view) continue;
    const DType dtype = named.view.dtype();
    require(dtype == DType::kF32 || dtype == DType::kF64, "[{}] {} must be f32 or f64, got {}", op,
            named.name, name_of(dtype));
    if (!first) first = named;
    require(dtype == first->view.dtype(), "[{}] {} must be {} like {}, got {}", op, named.name,
            name_of(first->view.dtype()), first->name, name_of(dtype));
  }
}

void require_float_types(std::string_view op, std::initializer_list<NamedView> narrow,
                         std::initializer_list<NamedView> wide) {
  std::optional<NamedView> first;
  const auto check = [&](const NamedView& named, bool is_wide) {
    require(named.view || named.optional || named.view.num_elements() == 0, "[{}] {} is missing",
            op, named.name);
    if (!named.view) return;
    const DType dtype = named.view.dtype();
    if (!first) {
      require(dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBf16,
              "[{}] {} must be f32, bf16 or f64, got {}", op, named.name, name_of(dtype));
      first = named;
    }
    const DType expected = is_wide ? wide_type(first->view.dtype()) : first->view.dtype();
    require(dtype == expected, "[{}] {} must be {} {} {}, got {}", op, named.name,
            name_of(expected), is_wide ? "beside" : "like", first->name, name_of(dtype));
  };
  for (const NamedView& named : narrow) check(named, false);
  for (const NamedView& named : wide) check(named, true);
}

void require_stored(std::string_view op, const KernelTable& kernels, ConstView view) {
  require(view.dtype() != DType::kBf16 || kernels.stores_bf16,
          "[{}] the {} backend computes in f32 and got bf16", op, kernels.name);
}

void require_shape(std::string_view op, const NamedView& view, const Shape& shape) {
  if (!view.view && view.optional) return;
  require(view.view.shape() == shape, "[{}] {} must have shape {}, got {}", op, view.name,
          to_string(shape), to_string(view.view.shape()));
}

void require_dtype(std::string_view op, const NamedView& view, DType dtype) {
  require(view.view.dtype() == dtype, "[{}] {} must be {}, got {}", op, view.name, name_of(dtype),
          name_of(view.view.dtype()));
}

void require_bytes(std::string_view op, const NamedView& bytes, const Shape& shape) {
  if (!bytes.view && bytes.optional) return;
  require(bytes.view || shape.num_elements() == 0, "[{}] {} is missing", op, bytes.name);
  if (bytes.view) require_dtype(op, bytes, DType::kU8);
  require_shape(op, bytes, shape);
}

}  // namespace twill
