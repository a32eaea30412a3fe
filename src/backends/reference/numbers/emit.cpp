// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/numbers/emit.h"

#include "backends/reference/kernels.h"

#include <algorithm>
#include <cmath>

#include "base/bf16.h"
#include "base/check.h"
#include "base/fp8.h"

namespace twill::reference {
namespace {

void find_amax(const ConstView& x, float& amax) {
  double most = 0.0;
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const double size = std::fabs(number_at(x, i));
    most = std::isnan(size) || std::isnan(most) ? std::nan("") : std::max(most, size);
  }
  amax = static_cast<float>(most);
}

double quotient(const ConstView& x, std::int64_t i, float scale) {
  if (x.dtype() == DType::kF64) return number_at(x, i) / double{scale};
  return double{static_cast<float>(number_at(x, i)) / scale};
}

}  // namespace

double number_at(const ConstView& view, std::int64_t i) {
  switch (view.dtype()) {
    case DType::kF32:
      return double{view.as<float>()[i]};
    case DType::kF64:
      return view.as<double>()[i];
    case DType::kBf16:
      return double{to_float(view.as<Bf16>()[i])};
    case DType::kE4m3:
      return double{to_float(view.as<Fp8E4m3>()[i])};
    case DType::kE5m2:
      return double{to_float(view.as<Fp8E5m2>()[i])};
    case DType::kI32:
    case DType::kU8:
      break;
  }
  TWILL_CHECK(false, "a number of a float type");
  return 0.0;
}

void store_number(const View& view, std::int64_t i, double value) {
  const auto narrow = static_cast<float>(value);
  switch (view.dtype()) {
    case DType::kF32:
      view.as<float>()[i] = narrow;
      return;
    case DType::kF64:
      view.as<double>()[i] = value;
      return;
    case DType::kBf16:
      view.as<Bf16>()[i] = to_bf16(narrow);
      return;
    case DType::kE4m3:
      view.as<Fp8E4m3>()[i] = to_fp8<Fp8E4m3>(narrow);
      return;
    case DType::kE5m2:
      view.as<Fp8E5m2>()[i] = to_fp8<Fp8E5m2>(narrow);
      return;
    case DType::kI32:
    case DType::kU8:
      break;
  }
  TWILL_CHECK(false, "a number of a float type");
}

void emit_copies(const ConstView& x, std::span<const Emit> emits) {
  const std::int64_t rows = x.rows(), cols = x.cols();
  for (const Emit& emit : emits) {
    if (emit.amax) find_amax(x, *emit.amax.as<float>());
    if (!emit.to) continue;
    const float scale = emit.scale.now();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        store_number(emit.to, emit.transposed ? j * rows + i : i * cols + j,
                     quotient(x, i * cols + j, scale));
  }
}

void emit(const EmitArgs& args, const Device&, Queue&) { emit_copies(args.x, args.emits); }

}  // namespace twill::reference
