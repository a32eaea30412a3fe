// SPDX-License-Identifier: Apache-2.0
// A matrix product as a value: what is multiplied, over which parts, and what becomes of the sums.
//
//   c = epilogue(a b), over the parts that exist
//
//   a        (M, K), or (K, M) where trans_a
//   b        (K, N), or (N, K) where trans_b
//   c        (M, N), or (N, M) where trans_c; must not overlap a or b
//   accumulates  what c held is added to the sums
//
// Epilogue, in this order, on the sums as (M, N):
//   bias     (N)     optional  added to every row
//   addend   (M, N)  optional  e.g. the residual stream; must not overlap c
//   f        what kActivation and kActivationGradient make of `before`: see ops/products/gemm.h; a gated
//            activation halves the columns of c, forward only; keeps_slope as in ops/products/times_packed.h
//   emits    further copies of c (ops/numbers/emit.h)
//   sums     (N)     optional  the column sums of c as it is stored, f32 or f64; added to where accumulates_sums
//
// Parts, absent: all of it. `begin` and `tiles` are i32 and are read when the work runs.
//   kRowGroups    rows of a and c come in groups, each with a b of its own (experts): group g has the rows
//                 [begin[g], begin[g + 1]) and the g-th of the matrices that are stacked in b, (G K, N), or
//                 (G N, K) where trans_b; begin (G + 1). Rows in no group are not written
//   kDepthGroups  K comes in groups, each with a c of its own (gradients of experts): the sum over
//                 [begin[g], begin[g + 1]) is the g-th of the matrices stacked in c, (G M, N); begin (G + 1).
//                 An empty group has sums of 0
//   kLiveColumns  c is cut into tiles of tile_rows x tile_depth columns. Of row tile t those column tiles exist
//                 that tiles[begin[t]] … tiles[begin[t + 1] - 1] name; others are not written
//   kLiveDepth    K is cut into tiles of tile_depth. For row tile t of c, of tile_rows, the sum runs over the
//                 tiles that its list names, in the list's order
//   kKeptEntries  c (kept) has the entries of the result that `kept` names and no others, row by row
//                 (ops/selection/kept.h); a is transposed
// Row tiles are those of c as (M, N); the last of a kind may be smaller. bias, addend and activation do not go
// with kDepthGroups and kKeptEntries, a gated activation not with kLiveColumns, no activation with trans_c or
// accumulates, sums not with trans_c; trans_c, emits and sums go with no part but all.
//
// Types: c is f32 or bf16 (reference: also f64); a and b as their kernels take them. Sums are f32 in an order
// that is fixed by backend and shape, as the ops behind it promise (gemm.h, times_packed.h, packed_times.h,
// kept.h); the reference decodes both sides to f64, multiplies and finishes, and takes every layout that has
// a decoder. A scale multiplies the sums.
//
// can_run() says which kernel a product takes, and why a quicker one declined, or why it does not run at all;
// it multiplies nothing. multiply() runs it: by a kernel of the backend that takes it as one
// (KernelTable::takes), else by gemm or a product without zeros. Where several calls are needed (an activation
// behind a product) these follow each other; what nobody accepts throws with can_run()'s sentence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ops/layers/activation.h"
#include "ops/numbers/emit.h"
#include "ops/products/gemm.h"
#include "ops/products/operand.h"
#include "ops/selection/kept.h"

namespace twill {

struct Parts {
  enum class Kind : std::uint8_t {
    kAll,
    kRowGroups,
    kDepthGroups,
    kLiveColumns,
    kLiveDepth,
    kKeptEntries
  };
  Kind kind = Kind::kAll;
  ConstView begin = {};
  ConstView tiles = {};
  std::int64_t tile_rows = 0;
  std::int64_t tile_depth = 0;
  KeptPositions kept = {};

  bool are_all() const { return kind == Kind::kAll; }
  std::int64_t groups() const { return begin.num_elements() - 1; }
};

struct Epilogue {
  ConstView bias = {};
  ConstView addend = {};
  GemmEpilogue f = GemmEpilogue::kNone;
  Activation activation = Activation::kGelu;
  View before = {};
  bool keeps_slope = false;
  std::span<const Emit> emits = {};
  View sums = {};
  bool accumulates_sums = false;
};

// For who looks on: "blocks.0.ffn.input", "forward". Nothing depends on it.
struct ProductLabel {
  std::string_view site = {};
  std::string_view product = {};
};

struct Product {
  Operand a = {};
  Operand b = {};
  View c = {};
  bool trans_a = false;
  bool trans_b = false;
  bool trans_c = false;
  Parts parts = {};
  Epilogue epilogue = {};
  bool accumulates = false;
  ProductLabel label = {};

  // Of one group where b or c are stacked. K is that of a whole.
  std::int64_t m() const;
  std::int64_t n() const;
  std::int64_t k() const { return trans_a ? a.rows : a.cols; }
};

struct Verdict {
  bool runs = false;
  std::string kernel = {};  // "cpu: oneDNN sgemm"
  std::string reason =
      {};  // why it does not run; where it runs, why a quicker form declined, or nothing

  explicit operator bool() const { return runs; }
};

void validate(const Product& product);
Verdict can_run(const Context& context, const Product& product);
void multiply(const Context& context, const Product& product);

}  // namespace twill
