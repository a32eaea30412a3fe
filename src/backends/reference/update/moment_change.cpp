// SPDX-License-Identifier: Apache-2.0
#include "ops/update/moment_change.h"

#include <algorithm>
#include <cmath>

#include "backends/reference/addition_order.h"
#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
double change_of(const MomentChangeArgs& args, std::int64_t i) {
  const double g = args.grad_scale * double{args.grad.as<T>()[i]};
  return std::abs((1.0 - args.beta2) * (g * g - double{args.v.as<T>()[i]}));
}

template <class T>
void run(const MomentChangeArgs& args) {
  const std::int64_t n = args.grad.num_elements();
  double total = 0.0;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    double sum = 0.0;
    for (std::int64_t i = begin; i < std::min(begin + kRun, n); ++i) sum += change_of<T>(args, i);
    total += sum;
  }
  args.sum.as<double>()[0] = total;
}

}  // namespace

void moment_change(const MomentChangeArgs& args, const Device&, Queue&) {
  with_element_type(args.grad.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
