// SPDX-License-Identifier: Apache-2.0
// Cross-entropy with its gradient, in place, as training runs it.
#include "ops/layers/cross_entropy.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

void loss(benchmark::State& state, std::int64_t rows, std::int64_t vocabulary, int num_threads) {
  Tensor logits = random_tensor({rows, vocabulary});
  const Tensor targets = random_tokens({rows}, static_cast<std::int32_t>(vocabulary));
  Tensor losses(DType::kF32, {rows});
  run_memory_bound(state, num_threads, rows * vocabulary * 8, [&](const Context& context) {
    cross_entropy(context, {.logits = logits.view(),
                            .targets = targets.view(),
                            .loss = losses.view(),
                            .dlogits = logits.view(),
                            .scale = 1.0});
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t vocabulary : {256, 4096, 50257})
    register_bench("cross_entropy/v" + std::to_string(vocabulary),
                   [=](benchmark::State& state, int threads) {
                     loss(state, vocabulary > 10000 ? 512 : 2048, vocabulary, threads);
                   });
  return true;
}();

}  // namespace
}  // namespace twill::bench
