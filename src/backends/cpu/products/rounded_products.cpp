// SPDX-License-Identifier: Apache-2.0
// The products of a bf16 device on the cpu: operands are rounded to bf16, to nearest even, and kept
// as f32; then the ordinary kernel runs. So the terms of every sum are those of the device, and what
// is left between the two is the order of sums and the rounding of what the device stores.
//
// Rounded is what a bf16 device takes as bf16 operands: a, b and bias; q, k, v, out and dout. Sums and
// statistics are not: c, addend, lse. Neither are p and ds inside attention, which a device rounds.
//
// Bound by memory, 8 B per element of an operand: 5 to 15 % of a step of 1024 tokens at width 512. A
// rounding has no order, so the number of threads changes no bit.
#include "backends/cpu/products/rounded_products.h"

#include <utility>

#include "backends/cpu/queue.h"
#include "base/bf16.h"
#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/kernel_table.h"
#include "ops/products/gemm.h"

namespace twill {

namespace cpu {

float* RoundedOperands::slot(std::size_t index, std::int64_t count) {
  Tensor& kept = slots_[index];
  if (!kept.view() || kept.view().num_elements() < count) {
    { const Tensor given_back = std::move(kept); }  // before more is taken
    kept = Tensor(DType::kF32, {count});
  }
  return kept.view().as<float>();
}

}  // namespace cpu

namespace {

constexpr std::int64_t kPiece = 16384;  // 64 KB: some 5 us of reads

// The same view of a rounded copy. An absent or empty operand stays what it is; one of another type
// is left for the ordinary kernel to refuse.
ConstView rounded(const ConstView& x, std::size_t slot, Queue& queue) {
  if (!x || x.num_elements() == 0 || x.dtype() != DType::kF32) return x;
  const std::int64_t count = x.num_elements();
  const float* from = x.as<float>();
  float* to = cpu::cpu_queue(queue).rounded_operands().slot(slot, count);
  cpu::run_pieces(queue, count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = to_float(to_bf16(from[i]));
  });
  return view_of(to, x.shape());
}

// Rows of a copy lie side by side.
ConstHeadsView rounded(const ConstHeadsView& x, std::size_t slot, Queue& queue) {
  if (!x || x.num_elements() == 0 || x.dtype() != DType::kF32) return x;
  const Shape& shape = x.shape();
  const std::int64_t tokens = shape[0] * shape[1], row = shape[2] * shape[3];
  const float* from = x.as<float>();
  float* to = cpu::cpu_queue(queue).rounded_operands().slot(slot, x.num_elements());
  const std::int64_t grain = cpu::rows_per_task(kPiece, row);
  cpu::run_pieces(queue, tokens, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token)
      for (std::int64_t i = 0; i < row; ++i)
        to[token * row + i] = to_float(to_bf16(from[token * x.row_stride() + i]));
  });
  return ConstHeadsView(ConstView(view_of(to, shape)));
}

void rounded_gemm(const GemmArgs& args, const Device& device, Queue& queue) {
  GemmArgs product = args;
  product.a = rounded(args.a, 0, queue);
  product.b = rounded(args.b, 1, queue);
  product.bias = rounded(args.bias, 2, queue);
  cpu_table().gemm(product, device, queue);
}

void rounded_attention_forward(const AttentionForwardArgs& args, const Device& device,
                               Queue& queue) {
  AttentionForwardArgs pass = args;
  pass.q = rounded(args.q, 0, queue);
  pass.k = rounded(args.k, 1, queue);
  pass.v = rounded(args.v, 2, queue);
  cpu_table().attention_forward(pass, device, queue);
}

void rounded_attention_backward(const AttentionBackwardArgs& args, const Device& device,
                                Queue& queue) {
  AttentionBackwardArgs pass = args;
  pass.q = rounded(args.q, 0, queue);
  pass.k = rounded(args.k, 1, queue);
  pass.v = rounded(args.v, 2, queue);
  pass.out = rounded(args.out, 3, queue);
  pass.dout = rounded(args.dout, 4, queue);
  cpu_table().attention_backward(pass, device, queue);
}

// The cache then holds what was rounded before: attention_forward's law for the last tokens stays.
void rounded_cached_attention(const CachedAttentionArgs& args, const Device& device, Queue& queue) {
  CachedAttentionArgs pass = args;
  pass.qkv = rounded(args.qkv, 0, queue);
  cpu_table().cached_attention(pass, device, queue);
}

}  // namespace

const KernelTable& rounded_cpu_table() {
  static const KernelTable table = [] {
    KernelTable rounding = cpu_table();
    rounding.gemm = rounded_gemm;
    rounding.attention_forward = rounded_attention_forward;
    rounding.attention_backward = rounded_attention_backward;
    rounding.cached_attention = rounded_cached_attention;
    rounding.packed_bytes = nullptr;  // packed products would take operands as they are
    return rounding;
  }();
  return table;
}

}  // namespace twill
