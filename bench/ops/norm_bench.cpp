// SPDX-License-Identifier: Apache-2.0
// Norms and the bias gradient over 2048 tokens.
#include <utility>

#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/numbers/column_sum.h"
#include "ops/support.h"

namespace twill::bench {
namespace {

constexpr std::int64_t kRows = 2048;

struct Operands {
  explicit Operands(std::int64_t cols)
      : x(random_tensor({kRows, cols})),
        dy(random_tensor({kRows, cols})),
        weight(random_tensor({cols})),
        bias(random_tensor({cols})),
        y(DType::kF32, {kRows, cols}),
        mean(DType::kF32, {kRows}),
        rstd(DType::kF32, {kRows}),
        dweight(DType::kF32, {cols}),
        dbias(DType::kF32, {cols}) {}

  void layer_forward(const Context& context) {
    layer_norm_forward(context, {.x = x.view(),
                                 .weight = weight.view(),
                                 .bias = bias.view(),
                                 .y = y.view(),
                                 .mean = mean.view(),
                                 .rstd = rstd.view()});
  }
  void layer_backward(const Context& context) {
    layer_norm_backward(context, {.x = x.view(),
                                  .weight = weight.view(),
                                  .mean = mean.view(),
                                  .rstd = rstd.view(),
                                  .dy = dy.view(),
                                  .dx = y.view(),
                                  .dweight = dweight.view(),
                                  .dbias = dbias.view(),
                                  .accumulate_dx = true});
  }
  void rms_forward(const Context& context) {
    rms_norm_forward(context,
                     {.x = x.view(), .weight = weight.view(), .y = y.view(), .rstd = rstd.view()});
  }
  void rms_backward(const Context& context) {
    rms_norm_backward(context, {.x = x.view(),
                                .weight = weight.view(),
                                .rstd = rstd.view(),
                                .dy = dy.view(),
                                .dx = y.view(),
                                .dweight = dweight.view(),
                                .accumulate_dx = true});
  }
  void sum_columns(const Context& context) {
    column_sum(context, {.x = x.view(), .sum = dbias.view(), .accumulate = true});
  }

  Tensor x, dy, weight, bias, y, mean, rstd, dweight, dbias;
};

using Call = void (Operands::*)(const Context&);

// `passes` counts the (rows, cols) operands that the op must read or write once.
void add(const char* name, std::int64_t cols, std::int64_t passes, Call call) {
  register_bench(std::string(name) + "/c" + std::to_string(cols),
                 [=](benchmark::State& state, int threads) {
                   Operands operands(cols);
                   operands.layer_forward(cpu_context(threads));
                   run_memory_bound(state, threads, kRows * cols * 4 * passes,
                                    [&](const Context& context) { (operands.*call)(context); });
                 });
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t cols : {512, 768, 2048}) {
    add("layer_norm/forward", cols, 2, &Operands::layer_forward);
    add("layer_norm/backward", cols, 4, &Operands::layer_backward);
    add("rms_norm/forward", cols, 2, &Operands::rms_forward);
    add("rms_norm/backward", cols, 4, &Operands::rms_backward);
    add("column_sum", cols, 1, &Operands::sum_columns);
  }
  return true;
}();

}  // namespace
}  // namespace twill::bench
