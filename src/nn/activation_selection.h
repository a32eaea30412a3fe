// SPDX-License-Identifier: Apache-2.0
// Sparse activations inside an FFN, in masked form: which of them are multiplied at all.
//
//   forward   order the tokens, select V:2:M of A, Ah = A · mask
//   backward  dZ · mask: what was not used has no gradient
//   wgrad     Ah and dZ are selected once more along tokens, each by its own magnitudes and only
//             inside the forward mask
//
// The order of tokens never moves a row: it only decides which rows share a block. Routed tokens of
// one cluster stand together in forward, where a block shares its columns, and apart in wgrad, where
// the rows of a window compete.
#pragma once

#include "nn/builder.h"
#include "nn/pass.h"

namespace twill {

class ActivationSelection {
 public:
  // Reserves what the seam may ask for, if the builder's options say so.
  ActivationSelection(Builder& builder, FfnSeam& seam);

  bool active(const Pass& pass) const { return pass.as_trained && seam_.selects; }

  // a (tokens, hidden) in place; x (tokens, width) is the FFN's input.
  void forward(const Pass& pass, ConstView x, View a) const;
  // dz (tokens, hidden) in place.
  void backward(const Pass& pass, View dz) const { apply_again(pass, dz); }
  // The mask of the last forward() on something else of its shape, in place.
  void apply_again(const Pass& pass, View a) const;
  // What stands for `a` (or dz) in the weight gradient: itself, or a selected copy.
  ConstView for_wgrad(const Pass& pass, ConstView a, bool is_gradient) const;

  // Counts what fired, while the seam measures.
  void measure(const Pass& pass, ConstView a) const;

 private:
  // An evaluation between two steps measures nothing: what is measured decides later selections.
  bool measures(const Pass& pass) const { return seam_.measures && pass.training; }
  ConstView token_order(const Pass& pass, ConstView x, ConstView a) const;

  FfnSeam& seam_;
  View mask_;             // (tokens, hidden) u8, kept for the backward pass
  View order_;            // (tokens) i32: beside each other in blocks of forward
  View dealt_;            // (tokens) i32: routed tokens in windows of wgrad; kept as the mask is
  View scores_;           // (tokens, clusters)
  View transposed_mask_;  // (tokens, hidden) u8
  View selected_;         // (tokens, hidden)
};

}  // namespace twill
