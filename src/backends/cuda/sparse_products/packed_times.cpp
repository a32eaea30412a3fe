// SPDX-License-Identifier: Apache-2.0
// packed_times on CUDA: P is A of a product on sparse tensor cores with its columns whole, b as it lies,
// f32 sums. A bf16 result and operands that the copy engine refuses are multiplied dense.
#include "ops/products/packed_times.h"

#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/sparse_products/sparse_call.h"
#include "backends/cuda/sparse_products/sparse_products.h"
#include "backends/cuda/sparsity_kernels.h"
#include "ops/products/gemm.h"

namespace twill::cuda {

namespace {

SparseProduct product_of(const PackedTimesArgs& args) {
  SparseProduct product = sparse_product(args.packed);
  product.n = args.n();
  product.b = args.b.bytes();
  product.d = args.c.bytes();
  product.addend = args.accumulate ? args.c.bytes() : nullptr;
  return product;
}

bool is_suitable(const PackedTimesArgs& args) {
  return args.packed.shape.side == PackedSide::kLeft && !args.trans_b && !args.bias &&
         !args.addend && !args.trans_c && args.n() % 8 == 0 && args.c.dtype() == DType::kF32 &&
         is_aligned({args.b, args.c});
}

}  // namespace

std::string way_of(const PackedTimesArgs& args, const Device& device, Queue& queue) {
  if (!is_suitable(args)) return {};
  return sparse_way_name(SparseEpilogue::kWeightGradient, product_of(args), device, queue);
}

void packed_times(const PackedTimesArgs& args, const Device& device, Queue& queue) {
  const SparseProduct product = product_of(args);
  if (is_suitable(args) && run_sparse(SparseEpilogue::kWeightGradient, product, device, queue))
    return;
  const View dense = unpacked_scratch(args.packed, device, queue);
  GemmArgs plain{.a = dense,
                 .b = args.b,
                 .c = args.c,
                 .trans_b = args.trans_b,
                 .bias = args.bias,
                 .addend = args.addend,
                 .accumulate = args.accumulate};
  if (args.trans_c) {  // cᵀ = bᵀ Pᵀ
    plain.a = args.b;
    plain.b = dense;
    plain.trans_a = !args.trans_b;
    plain.trans_b = true;
  }
  gemm(plain, device, queue);
}

}  // namespace twill::cuda
