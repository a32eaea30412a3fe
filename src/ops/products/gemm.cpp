// SPDX-License-Identifier: Apache-2.0
#include "ops/products/gemm.h"

#include "ops/validate.h"

namespace twill {

namespace {

// bf16 operands may have an f32 result; otherwise all types agree.
void require_types(const GemmArgs& args) {
  const bool widens = args.a.dtype() == DType::kBf16 && args.c && args.c.dtype() == DType::kF32;
  if (widens) {
    require_float_types("gemm", {{"a", args.a}, {"b", args.b}, {"bias", args.bias, true}},
                        {{"c", args.c}, {"addend", args.addend, true}});
  } else {
    require_float_types("gemm",
                        {{"a", args.a},
                         {"b", args.b},
                         {"c", args.c},
                         {"bias", args.bias, true},
                         {"addend", args.addend, true},
                         {"before", args.before, true}},
                        {});
  }
}

void require_epilogue(const GemmArgs& args) {
  if (args.epilogue == GemmEpilogue::kNone) return;
  require(!is_gated(args.activation) && !args.accumulate,
          "[gemm] an epilogue takes a plain activation and does not accumulate");
  require(static_cast<bool>(args.before) || args.c.num_elements() == 0, "[gemm] before is missing");
  if (args.before) require_dtype("gemm", {"before", args.before}, args.c.dtype());
  require_shape("gemm", {"before", args.before, true}, {args.m(), args.n()});
}

void run_product(const Context& context, const GemmArgs& args) {
  if (context.observer != nullptr) context.observer->gemm(args);
  context.run("gemm", context.kernels().gemm, args);
}

// The product and the activation one after the other.
void run_in_two(const Context& context, const GemmArgs& args) {
  run_product(context, sum_of(args));
  if (args.epilogue == GemmEpilogue::kActivation) {
    activation_forward(context, activation_of(args));
  } else {
    activation_backward(context, gradient_of(args));
  }
}

}  // namespace

GemmArgs sum_of(const GemmArgs& args) {
  GemmArgs sum = args;
  if (args.epilogue == GemmEpilogue::kActivation) sum.c = args.before;
  sum.epilogue = GemmEpilogue::kNone;
  sum.before = {};
  return sum;
}

ActivationForwardArgs activation_of(const GemmArgs& args) {
  return {.kind = args.activation, .x = args.before, .y = args.c};
}

ActivationBackwardArgs gradient_of(const GemmArgs& args) {
  return {.kind = args.activation, .x = args.before, .dy = args.c, .dx = args.c};
}

void validate(const GemmArgs& args) {
  require_types(args);
  require(args.a.shape().rank() == 2 && args.b.shape().rank() == 2 && args.c.shape().rank() == 2,
          "[gemm] a, b and c must be matrices, got {}, {}, {}", to_string(args.a.shape()),
          to_string(args.b.shape()), to_string(args.c.shape()));
  const std::int64_t m = args.m(), n = args.n(), k = args.k();
  require_shape("gemm", {"a", args.a}, args.trans_a ? Shape{k, m} : Shape{m, k});
  require_shape("gemm", {"b", args.b}, args.trans_b ? Shape{n, k} : Shape{k, n});
  require_shape("gemm", {"bias", args.bias, true}, {n});
  require_shape("gemm", {"addend", args.addend, true}, {m, n});
  require_epilogue(args);
}

void gemm(const Context& context, const GemmArgs& args) {
  validate(args);
  require_stored("gemm", context.kernels(), args.a);
  if (args.c.num_elements() == 0) return;
  const KernelTable& kernels = context.kernels();
  const bool is_whole = args.epilogue == GemmEpilogue::kNone ||
                        (kernels.gemm_fuses != nullptr && kernels.gemm_fuses(args));
  if (is_whole) return run_product(context, args);
  run_in_two(context, args);
}

}  // namespace twill
