// SPDX-License-Identifier: Apache-2.0
// Embedding and dropout: 2048 tokens of width 512.
#include "ops/layers/embedding.h"

#include "ops/layers/dropout.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kBatch = 8, kLength = 256, kWidth = 512, kVocabulary = 50257;
constexpr std::int64_t kBytes = kBatch * kLength * kWidth * 4;  // of one (B, T, C) operand

void forward(benchmark::State& state, int num_threads) {
  const Tensor tokens = random_tokens({kBatch, kLength}, kVocabulary);
  const Tensor token_table = random_tensor({kVocabulary, kWidth});
  const Tensor position_table = random_tensor({kLength, kWidth});
  Tensor out(DType::kF32, {kBatch, kLength, kWidth});
  run_memory_bound(state, num_threads, 2 * kBytes, [&](const Context& context) {
    embedding_forward(context, {.tokens = tokens.view(),
                                .token_table = token_table.view(),
                                .position_table = position_table.view(),
                                .out = out.view()});
  });
}

void backward(benchmark::State& state, int num_threads) {
  const Tensor tokens = random_tokens({kBatch, kLength}, kVocabulary);
  const Tensor dout = random_tensor({kBatch, kLength, kWidth});
  Tensor dtoken_table(DType::kF32, {kVocabulary, kWidth});
  Tensor dposition_table(DType::kF32, {kLength, kWidth});
  run_memory_bound(state, num_threads, 3 * kBytes, [&](const Context& context) {
    embedding_backward(context, {.tokens = tokens.view(),
                                 .dout = dout.view(),
                                 .dtoken_table = dtoken_table.view(),
                                 .dposition_table = dposition_table.view()});
  });
}

void drop(benchmark::State& state, int num_threads) {
  const Tensor x = random_tensor({kBatch * kLength, kWidth});
  Tensor y = random_tensor({kBatch * kLength, kWidth});
  run_memory_bound(state, num_threads, 3 * kBytes, [&](const Context& context) {
    dropout(context, {.x = x.view(), .addend = y.view(), .y = y.view(), .p = 0.1, .seed = 1});
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  register_bench("embedding/forward", forward);
  register_bench("embedding/backward", backward);
  register_bench("dropout", drop);
  return true;
}();

}  // namespace
}  // namespace twill::bench
