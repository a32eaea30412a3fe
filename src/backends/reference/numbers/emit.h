// SPDX-License-Identifier: Apache-2.0
// Numbers of any float type one at a time, and the copies of ops/numbers/emit.h.
#pragma once

#include <span>

#include "ops/numbers/emit.h"

namespace twill::reference {

double number_at(const ConstView& view, std::int64_t i);
// Rounded once, to nearest even; 8-bit types saturate.
void store_number(const View& view, std::int64_t i, double value);

void emit_copies(const ConstView& x, std::span<const Emit> emits);

}  // namespace twill::reference
