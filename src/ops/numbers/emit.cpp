// SPDX-License-Identifier: Apache-2.0
#include "ops/numbers/emit.h"

#include "ops/validate.h"

namespace twill {
namespace {

bool is_a_copy(DType type) {
  return type == DType::kF32 || type == DType::kBf16 || type == DType::kF64 || is_fp8(type);
}

}  // namespace

void require_emits(std::string_view op, ConstView x, std::span<const Emit> emits) {
  for (const Emit& emit : emits) {
    require(emit.to || emit.amax, "[{}] a copy has neither a place nor an amax", op);
    if (emit.to) {
      require(is_a_copy(emit.to.dtype()),
              "[{}] a copy must be f32, bf16, f64, e4m3 or e5m2, got {}", op,
              name_of(emit.to.dtype()));
      require_shape(op, {"copy", emit.to},
                    emit.transposed ? Shape{x.cols(), x.rows()} : Shape{x.rows(), x.cols()});
    }
    if (emit.scale.at) {
      require_dtype(op, {"scale", emit.scale.at}, DType::kF32);
      require_shape(op, {"scale", emit.scale.at}, {1});
    }
    if (!emit.amax) continue;
    require_dtype(op, {"amax", emit.amax}, DType::kF32);
    require_shape(op, {"amax", emit.amax}, {1});
  }
}

void require_emits(std::string_view op, const Context& context, ConstView x,
                   std::span<const Emit> emits) {
  if (emits.empty()) return;
  require(context.kernels().emit != nullptr,
          "[{}] the {} backend makes no further copies of a result: leave emits empty", op,
          context.kernels().name);
  require_emits(op, x, emits);
}

void emit_behind(std::string_view op, const Context& context, ConstView x,
                 std::span<const Emit> emits) {
  const KernelTable& kernels = context.kernels();
  if (emits.empty()) return;
  if (kernels.emits_inside != nullptr && kernels.emits_inside(op, x, emits)) return;
  context.run("emit", kernels.emit, EmitArgs{x, emits});
}

}  // namespace twill
