// SPDX-License-Identifier: Apache-2.0
#include "nn/route.h"

namespace twill {

void Route::set_rounding(Fp8Mode mode) {
  forward.rounding = dgrad.rounding = wgrad.rounding = std::nullopt;
  if (mode == Fp8Mode::kNone) return;
  const Fp8Format other = mode == Fp8Mode::kReference ? Fp8Format::kE5m2 : Fp8Format::kE4m3;
  forward.rounding = {.left = Fp8Format::kE4m3, .right = Fp8Format::kE4m3};
  dgrad.rounding = wgrad.rounding = {.left = Fp8Format::kE5m2, .right = other};
}

}  // namespace twill
