// SPDX-License-Identifier: Apache-2.0
// Embedding on the cpu. Forward: pieces of whole tokens. Backward: a task owns a strip of 64
// columns and walks through all tokens in ascending order, so every table row is summed in the
// order of the contract without locks or scratch.
//
// Bound by memory; the table rows of one batch are scattered.
#include "ops/layers/embedding.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/products/operand.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // forward: some 10 us of copies
constexpr std::int64_t kStrip = 64;     // backward: four cache lines, so strips share none

void add_to(float* y, const float* x, std::int64_t n) { add_terms({y, x, nullptr}, y, n); }

}  // namespace

void embedding_forward(const EmbeddingForwardArgs& args, const Device&, Queue& queue) {
  const std::int64_t T = args.tokens.cols(), C = args.token_table.cols();
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  const std::int64_t first = args.first_position;
  const float* token_table = data_of(args.token_table);
  const float* position_table = data_of(args.position_table);
  float* out = data_of(args.out);
  run_pieces(queue, args.tokens.num_elements(), rows_per_task(kPiece, C),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 const float* token = token_table + tokens[i] * C;
                 const float* position =
                     position_table == nullptr ? nullptr : position_table + (first + i % T) * C;
                 add_terms({token, position, nullptr}, out + i * C, C);
               }
             });
}

void embedding_backward(const EmbeddingBackwardArgs& args, const Device&, Queue& queue) {
  const std::int64_t T = args.tokens.cols(), C = args.dtoken_table.cols();
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  const float* dout = data_of(args.dout);
  float* dtoken_table = data_of(args.dtoken_table);
  float* dposition_table = data_of(args.dposition_table);
  run_pieces(queue, C, kStrip, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < args.tokens.num_elements(); ++i) {
      const float* d = dout + i * C + begin;
      add_to(dtoken_table + tokens[i] * C + begin, d, end - begin);
      if (dposition_table != nullptr) add_to(dposition_table + i % T * C + begin, d, end - begin);
    }
  });
}

}  // namespace twill::cpu
