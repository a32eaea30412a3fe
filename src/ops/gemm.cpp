// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm.h"

#include "ops/validate.h"

namespace twill {

void validate(const GemmArgs& args) {
  require_one_float_type("gemm", {{"a", args.a},
                                  {"b", args.b},
                                  {"c", args.c},
                                  {"bias", args.bias, true},
                                  {"addend", args.addend, true}});
  require(args.a.shape().rank() == 2 && args.b.shape().rank() == 2 && args.c.shape().rank() == 2,
          "[gemm] a, b and c must be matrices, got {}, {}, {}", to_string(args.a.shape()),
          to_string(args.b.shape()), to_string(args.c.shape()));
  const std::int64_t m = args.m(), n = args.n(), k = args.k();
  require_shape("gemm", {"a", args.a}, args.trans_a ? Shape{k, m} : Shape{m, k});
  require_shape("gemm", {"b", args.b}, args.trans_b ? Shape{n, k} : Shape{k, n});
  require_shape("gemm", {"bias", args.bias, true}, {n});
  require_shape("gemm", {"addend", args.addend, true}, {m, n});
}

void gemm(const Context& context, const GemmArgs& args) {
  validate(args);
  if (context.observer != nullptr) context.observer->gemm(args);
  context.run("gemm", context.kernels().gemm, args);
}

}  // namespace twill
