// SPDX-License-Identifier: Apache-2.0
// moment_change on CUDA: the runs of the contract (device/run_sums.cuh). Reads 8 B per element; the
// f64 pipe adds 64 numbers a clock on an SM, of which an element asks for five operations.
#include "ops/update/moment_change.h"

#include "backends/cuda/numbers/run_sums.cuh"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

struct ChangeTerms {
  using Item = float2;  // the gradient and v

  const float* grad;
  const float* v;
  double grad_scale, one_minus_beta2;

  __device__ __forceinline__ Item load(std::int64_t i) const { return {grad[i], v[i]}; }

  // Each operation rounds by itself, as it does in the reference.
  __device__ __forceinline__ void add(const Item& item, double (&sums)[1]) const {
    const double g = __dmul_rn(grad_scale, static_cast<double>(item.x));
    const double apart = __dsub_rn(__dmul_rn(g, g), static_cast<double>(item.y));
    sums[0] = __dadd_rn(sums[0], fabs(__dmul_rn(one_minus_beta2, apart)));
  }
};

}  // namespace

void moment_change(const MomentChangeArgs& args, const Device&, Queue& queue) {
  const ChangeTerms terms{.grad = pointer<float>(args.grad),
                          .v = pointer<float>(args.v),
                          .grad_scale = args.grad_scale,
                          .one_minus_beta2 = 1.0 - args.beta2};
  sum_in_runs<1>(terms, args.grad.num_elements(), args.sum, queue);
}

}  // namespace twill::cuda
