// SPDX-License-Identifier: Apache-2.0
// times_packed on the cpu. A task takes the tokens of one panel, transposes them into the panel,
// and multiplies P with it, 256 rows at a time; sums are transposed back into c while they are in
// the second cache, and an epilogue follows at once. No copy of x or c goes to memory. A gated
// activation follows behind the whole product: its value and its gate are of different blocks.
//
// Bound by multiply-adds (packed_simd.cpp); the transposes are 2 % of a product with half of the
// entries kept, 10 % with one of twenty.
#include "ops/products/times_packed.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/layers/activation_simd.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/products/packed_product.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kTokensAtOnce = 16;  // 16 KB of c

// Rows [row, row + rows) of the sums of some tokens: tokens [token, token + tokens) of c.
struct Piece {
  std::int64_t token;
  std::int64_t tokens;
  std::int64_t row;
  std::int64_t rows;
};

// Addend and epilogue of one piece, whose sums have been written.
void finish(const TimesPackedArgs& args, const Piece& piece) {
  const float* addend = data_of(args.addend);
  const bool is_forward = args.epilogue == GemmEpilogue::kActivation;
  for (std::int64_t token = piece.token; token < piece.token + piece.tokens; ++token) {
    const std::int64_t at = token * args.n() + piece.row;
    float* c = args.c.as<float>() + at;
    float* sum = is_forward ? args.before.as<float>() + at : c;
    if (addend != nullptr) {
      const float* terms[] = {sum, addend + at, nullptr};
      add_terms(terms, sum, piece.rows);
    }
    if (is_forward) activate(args.activation, sum, c, piece.rows);
    if (args.epilogue == GemmEpilogue::kActivationGradient)
      activate_backward(args.activation, args.before.as<float>() + at, c, c, piece.rows);
  }
}

void write(const TimesPackedArgs& args, const float* sums, const Piece& block) {
  const View& to = args.epilogue == GemmEpilogue::kActivation ? args.before : args.c;
  const bool is_done = !args.addend && args.epilogue == GemmEpilogue::kNone;
  for (std::int64_t first = 0; first < block.tokens; first += kTokensAtOnce) {
    const Piece piece{block.token + first, std::min(kTokensAtOnce, block.tokens - first), block.row,
                      block.rows};
    tokens_of_sums(sums + first, piece.rows, piece.tokens,
                   to.as<float>() + piece.token * args.n() + piece.row, args.n());
    if (!is_done) finish(args, piece);
  }
}

}  // namespace

void times_packed(const TimesPackedArgs& args, const Device& device, Queue& queue) {
  if (args.halves()) {
    times_packed(sum_of(args), device, queue);
    return activation_forward(activation_of(args), device, queue);
  }
  const std::int64_t m = args.m(), n = args.n(), k = args.k();
  if (m == 0 || n == 0) return;
  const PackedStorage<const std::byte> packed(args.packed.storage.bytes());
  const PackedGrid grid = packed.grid();
  const PackedCut cut(grid, m);
  const std::int64_t size = PackedPanel::size(grid, cut.width);
  float* memory = cpu_queue(queue).packed_scratch().take(device.num_threads * size);
  const float* bias = data_of(args.bias);
  run_tasks(queue, cut.tasks(), [&](std::int64_t task, int thread) {
    const PackedPanel scratch(grid, cut.width, memory + thread * size);
    const std::int64_t token = task / cut.parts * cut.width, part = task % cut.parts;
    const std::int64_t tokens = std::min(cut.width, m - token);
    panel_of_tokens(args.x.as<float>() + token * k, k, tokens, k, scratch.panel);
    const std::int64_t end = std::min(grid.blocks(), (part + 1) * cut.blocks);
    for (std::int64_t block = part * cut.blocks; block < end; ++block) {
      const std::int64_t row = block * kBlockRows, rows = std::min(kBlockRows, n - row);
      BlockInitial initial{};
      if (bias != nullptr) std::copy_n(bias + row, rows, initial.begin());
      multiply_block(packed, block, scratch, initial.data(), tokens);
      write(args, scratch.sums, {token, tokens, row, rows});
    }
  });
}

}  // namespace twill::cpu
