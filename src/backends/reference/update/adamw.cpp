// SPDX-License-Identifier: Apache-2.0
#include "ops/update/adamw.h"

#include <bit>
#include <cmath>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/update/adamw_tensor.h"
#include "base/bf16.h"
#include "base/rng.h"

namespace twill::reference {
namespace {

// The bf16 number next to x on the side of zero, or the one behind it.
Bf16 rounded_by_chance(float x, std::uint32_t draw) {
  if (std::isnan(x)) return to_bf16(x);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t distance = bits & 0xffffu;
  const bool farther = distance + draw >= 0x1'0000u;
  return {static_cast<std::uint16_t>((bits >> 16) + (farther ? 1 : 0))};
}

double value_of(double x) { return x; }
double value_of(Bf16 x) { return to_float(x); }

template <class T>
void store(T& moment, double x, std::uint32_t) {
  moment = static_cast<T>(x);
}
void store(Bf16& moment, double x, std::uint32_t draw) {
  moment = rounded_by_chance(static_cast<float>(x), draw);
}

template <class T, class Moment>
void run(const AdamwTensor& args) {
  const T* grad = args.grad.as<T>();
  T* weight = args.weight.as<T>();
  Moment* m = args.m.as<Moment>();
  Moment* v = args.v.as<Moment>();
  Bf16* operand = data_or_null<Bf16>(args.operand);
  for (std::int64_t i = 0; i < args.weight.num_elements(); ++i) {
    const double g = args.grad_scale * grad[i];
    const double old_m = value_of(m[i]), old_v = value_of(v[i]);
    const double new_m = args.beta1 * old_m + (1.0 - args.beta1) * g;
    const double new_v = args.freeze_v ? old_v : args.beta2 * old_v + (1.0 - args.beta2) * g * g;
    const double v_hat = args.freeze_v ? new_v : new_v / args.correction2;
    const double update = new_m / args.correction1 / (std::sqrt(v_hat) + args.eps);
    weight[i] = static_cast<T>(weight[i] - args.lr * (update + args.weight_decay * weight[i]));
    const auto e = static_cast<std::uint64_t>(i);
    const std::uint32_t word =
        random_bits(args.seed, Purpose::kMoments, args.step, (args.stream << 40) + e / 4)[e % 4];
    store(m[i], new_m, word & 0xffffu);
    store(v[i], new_v, word >> 16);
    if (operand != nullptr) operand[i] = to_bf16(static_cast<float>(weight[i]));
  }
}

}  // namespace

void update_tensor(const AdamwTensor& args) {
  with_element_type(args.weight.dtype(), [&]<class T>(T) {
    args.m.dtype() == DType::kBf16 ? run<T, Bf16>(args) : run<T, T>(args);
  });
}

void adamw(const AdamwArgs& args, const Device&, Queue&) {
  const auto step = static_cast<double>(args.step);
  update_tensor({.weight = args.weight,
                 .grad = args.grad,
                 .m = args.m,
                 .v = args.v,
                 .operand = args.operand,
                 .lr = args.lr,
                 .beta1 = args.beta1,
                 .beta2 = args.beta2,
                 .eps = args.eps,
                 .weight_decay = args.weight_decay,
                 .grad_scale = args.grad_scale,
                 .correction1 = 1.0 - std::pow(args.beta1, step),
                 .correction2 = 1.0 - std::pow(args.beta2, step),
                 .freeze_v = args.freeze_v,
                 .seed = args.seed,
                 .stream = args.stream,
                 .step = static_cast<std::uint32_t>(args.step)});
}

}  // namespace twill::reference
