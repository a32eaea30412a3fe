// SPDX-License-Identifier: Apache-2.0
// Further copies of a result, written by the op that makes it: another type, another layout, the largest
// magnitude. A product whose operands must lie otherwise than the next layer reads them (8-bit operands lie
// along K) then costs no pass of its own.
//
//   to      x as it is stored, each number divided by the scale: (R, C), or (C, R) where `transposed`; f32,
//           bf16, e4m3 or e5m2 (reference: also f64). Quotients are f32; a smaller type rounds them once more,
//           which changes nothing where the scale is a power of two. Must overlap nothing else of the call
//   scale   a stored number times the scale is the number that it stands for
//   amax    (1) f32, optional: the largest |x| as it is stored, of this call alone; a NaN gives NaN. Without
//           `to` nothing is copied
//
// Norms, activations and AdamW take a list of them; so do products (ops/products/product.h), by rules of their
// own. Rounding is to nearest even, 8-bit types saturate: of the same x all backends write the same bits. The
// copies are made behind the op by KernelTable::emit, in a pass over x of their own, unless the kernel of the
// op writes them on its way (KernelTable::emits_inside).
#pragma once

#include <span>
#include <string_view>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

// What a stored number is multiplied by: a number of the host, or one that is read when the work runs.
struct Scale {
  float value = 1.0f;
  ConstView at = {};  // (1) f32, optional

  bool is_one() const { return value == 1.0f && !at; }
  // For backends that share the host's memory.
  float now() const { return at ? *at.as<float>() : value; }
};

struct Emit {
  View to = {};
  bool transposed = false;
  Scale scale = {};
  View amax = {};
};

struct EmitArgs {
  ConstView x;
  std::span<const Emit> emits;
};

// For front doors of ops that make x, behind the kernel: what that has not written yet.
void emit_behind(std::string_view op, const Context& context, ConstView x,
                 std::span<const Emit> emits);
// For front doors: every copy has the shape of x, a type and a place.
void require_emits(std::string_view op, ConstView x, std::span<const Emit> emits);
// The same, and the backend makes copies at all.
void require_emits(std::string_view op, const Context& context, ConstView x,
                   std::span<const Emit> emits);

}  // namespace twill
