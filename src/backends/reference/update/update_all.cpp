// SPDX-License-Identifier: Apache-2.0
#include "ops/update/update_all.h"

#include <cmath>
#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/update/adamw_tensor.h"
#include "ops/update/masked_decay.h"

namespace twill::reference {
namespace {

// masked_decay on a copy of the gradient, so that rounding is its own, then AdamW of that.
void update_masked(const UpdateTensor& tensor, AdamwTensor args, const Device& device,
                   Queue& queue) {
  with_element_type(tensor.grad.dtype(), [&]<class T>(T) {
    const T* grad = tensor.grad.as<T>();
    std::vector<T> decayed(grad, grad + tensor.grad.num_elements());
    const View target = view_of(decayed.data(), tensor.grad.shape());
    masked_decay({.target = target,
                  .weight = tensor.weight,
                  .mask = tensor.mask,
                  .scale = args.grad_scale,
                  .rate = tensor.decay},
                 device, queue);
    args.grad = target;
    args.grad_scale = 1.0;
    update_tensor(args);
  });
}

void pull_weight(const UpdateTensor& tensor, double lr, const Device& device, Queue& queue) {
  masked_decay({.target = tensor.weight,
                .weight = tensor.weight,
                .mask = tensor.mask,
                .scale = 1.0,
                .rate = -lr * tensor.decay},
               device, queue);
}

}  // namespace

// The tensors come with every call: nothing needs to be kept.
void prepare_update(const PrepareUpdateArgs&, const Device&, Queue&) {}

void norm_all(const NormAllArgs& args, const Device&, Queue&) {
  double sum = 0.0;
  for (const UpdateTensor& tensor : args.tensors)
    with_element_type(tensor.grad.dtype(), [&]<class T>(T) {
      const T* grad = tensor.grad.as<T>();
      for (std::int64_t i = 0; i < tensor.grad.num_elements(); ++i)
        sum += double{grad[i]} * double{grad[i]};
    });
  args.norm2.as<double>()[0] = sum;
}

void adamw_all(const AdamwAllArgs& args, const Device& device, Queue& queue) {
  const double* scalars = args.scalars.as<double>();
  const double norm2 = args.norm2.as<double>()[0], norm = std::sqrt(norm2);
  if (!std::isfinite(scalars[kLoss]) || !std::isfinite(norm2)) return;
  for (std::size_t i = 0; i < args.tensors.size(); ++i) {
    const UpdateTensor& tensor = args.tensors[i];
    const AdamwTensor update{
        .weight = tensor.weight,
        .grad = tensor.grad,
        .m = tensor.m,
        .v = tensor.v,
        .operand = tensor.operand,
        .lr = scalars[kLr] * tensor.lr_scale,
        .beta1 = args.beta1,
        .beta2 = args.beta2,
        .eps = args.eps,
        .weight_decay = tensor.weight_decay,
        .grad_scale = args.clip > 0.0 && norm > args.clip ? args.clip / norm : 1.0,
        .correction1 = scalars[kCorrection1],
        .correction2 = scalars[kCorrection2],
        .freeze_v = args.freeze_v,
        .seed = args.seed,
        .stream = i,
        .step = static_cast<std::uint32_t>(static_cast<std::int64_t>(scalars[kUpdate]))};
    if (tensor.mask && tensor.pulls_weight) pull_weight(tensor, update.lr, device, queue);
    if (tensor.mask && !tensor.pulls_weight)
      update_masked(tensor, update, device, queue);
    else
      update_tensor(update);
  }
}

}  // namespace twill::reference
