// SPDX-License-Identifier: Apache-2.0
// The canonical packed form of a 2:4 matrix, and back. Every hardware layout is a bijection of it.
//
//   dense    (R, C)            x; with `transpose` the matrix packed is xᵀ, (R, C) below its shape
//   mask     (R, C) u8         in dense's own orientation, any byte but 0 is set; not "value != 0"
//   values   (R, C / 2)        the two kept entries of each group of four, lower index first
//   nibbles  (R, ceil(C/8)) u8 per group: index of the first kept entry in the low two bits, of the
//                              second in the high two; group 2 k in the low half of byte k
//
// C is a multiple of 4. Six codes: 1100 0x4, 1010 0x8, 0110 0x9, 1001 0xC, 0101 0xD, 0011 0xE.
// A group whose mask has fewer than two set bits is filled with its lowest unset positions, stored
// with the value 0; of more than two the first two count. An odd last half byte is 0.
// unpack24 writes zeros where nothing is stored.
//
// dense is f32, bf16 or f64. Values have its type; pack24 also makes bf16 of f32, rounded to
// nearest even: operands of products from master weights. Copies otherwise: bit-exact.
#pragma once

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct Pack24Args {
  ConstView dense;
  ConstView mask;
  View values;
  View nibbles;
  bool transpose = false;
};

struct Unpack24Args {
  ConstView values;
  ConstView nibbles;
  View dense;
  bool transpose = false;
};

void validate(const Pack24Args& args);
void validate(const Unpack24Args& args);
void pack24(const Context& context, const Pack24Args& args);
void unpack24(const Context& context, const Unpack24Args& args);

}  // namespace twill
