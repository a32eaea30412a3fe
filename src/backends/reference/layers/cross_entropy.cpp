// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
double log_sum_exp(const T* x, std::int64_t count) {
  const double largest = *std::max_element(x, x + count);
  double sum = 0.0;
  for (std::int64_t v = 0; v < count; ++v) sum += std::exp(x[v] - largest);
  return largest + std::log(sum);
}

// The first of the largest, unless the loss is no number.
template <class T>
std::int32_t best_of(const T* x, std::int64_t count, T loss) {
  return std::isnan(loss) ? -1 : static_cast<std::int32_t>(std::max_element(x, x + count) - x);
}

double scale_of(const CrossEntropyArgs& args) {
  if (!args.count) return args.scale;
  const double count = *args.count.as<double>();
  return count > 0.0 ? args.scale / count : 0.0;
}

template <class T>
void run(const CrossEntropyArgs& args) {
  const std::int64_t V = args.logits.cols();
  T* dlogits = data_or_null<T>(args.dlogits);
  const double scale = scale_of(args);
  for (std::int64_t r = 0; r < args.logits.rows(); ++r) {
    const T* logits = args.logits.as<T>() + r * V;
    const std::int64_t target = args.targets.as<std::int32_t>()[r];
    const bool ignored = target < 0;
    const double lse = log_sum_exp(logits, V);
    args.loss.as<T>()[r] = ignored ? T{0} : static_cast<T>(lse - logits[target]);
    if (args.best)
      args.best.as<std::int32_t>()[r] = ignored ? -1 : best_of(logits, V, args.loss.as<T>()[r]);
    if (dlogits == nullptr) continue;
    for (std::int64_t v = 0; v < V; ++v) {  // one by one: dlogits may be the memory of logits
      const double wanted = v == target ? 1.0 : 0.0;
      const double gradient = scale * (std::exp(logits[v] - lse) - wanted);
      dlogits[r * V + v] = ignored ? T{0} : static_cast<T>(gradient);
    }
  }
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args, const Device&, Queue&) {
  with_element_type(args.logits.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
