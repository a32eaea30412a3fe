// SPDX-License-Identifier: Apache-2.0
// Causal attention on the cpu.
//
// Forward: a task is 512 queries of one (batch, head). Backward: a task is one (batch, key/value
// head); it goes through its query heads and their blocks in ascending order and adds up dk and dv,
// so the order is fixed and nothing is shared. Probabilities are computed again from lse. The cut
// depends on the shape alone.
//
// Bound by FMAs: scores are computed for what the causal mask shows, plus 8 T per head at its edge.
// Other patterns hide scores after the product: they save no work.
#include "ops/attention.h"

#include <algorithm>

#include "backends/cpu/attention_scratch.h"
#include "backends/cpu/attention_simd.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

// Every task copies its keys and values once: 1 / 512 of its work.
constexpr std::int64_t kQueriesPerTask = 512;
static_assert(kQueriesPerTask % kAttentionBlock == 0);

// Where the heads of a packed (B, T, H + 2 K, D) buffer lie.
struct Layout {
  Layout(const Shape& qkv, const Shape& out)
      : B(out[0]), T(out[1]), H(out[2]), K((qkv[2] - out[2]) / 2), D(out[3]) {}

  template <class Args>
  HeadShape head_shape(const Args& args) const {
    return {.T = T,
            .D = D,
            .stride = (H + 2 * K) * D,
            .out_stride = H * D,
            .scale = static_cast<float>(args.scale),
            .pattern = args.pattern,
            .pattern_stride = args.stride};
  }
  std::int64_t query(std::int64_t b, std::int64_t h) const { return (b * T * (H + 2 * K) + h) * D; }
  std::int64_t key(std::int64_t b, std::int64_t kv) const { return query(b, H + kv); }
  std::int64_t value(std::int64_t b, std::int64_t kv) const { return query(b, H + K + kv); }
  std::int64_t out(std::int64_t b, std::int64_t h) const { return (b * T * H + h) * D; }
  std::int64_t lse(std::int64_t b, std::int64_t h) const { return (b * H + h) * T; }

  std::int64_t B, T, H, K, D;
};

std::int64_t scratch_size(const Layout& layout) {
  return AttentionScratch(layout.T, layout.D, nullptr).size;
}

float* scratch_of(const View& workspace, const Layout& layout, int thread) {
  return reinterpret_cast<float*>(workspace.bytes()) + thread * scratch_size(layout);
}

}  // namespace

std::int64_t attention_workspace_bytes(const AttentionForwardArgs& args, const Device& device) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  return device.num_threads * scratch_size(layout) * static_cast<std::int64_t>(sizeof(float));
}

void attention_forward(const AttentionForwardArgs& args, const Device&, Queue& queue) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  const std::int64_t num_heads = layout.B * layout.H;
  const std::int64_t num_pieces = (layout.T + kQueriesPerTask - 1) / kQueriesPerTask;
  const float* qkv = args.qkv.as<float>();
  run_tasks(queue, num_heads * num_pieces, [&](std::int64_t task, int thread) {
    // Late queries see more keys: they come first, so that the end is even.
    const std::int64_t begin = (num_pieces - 1 - task / num_heads) * kQueriesPerTask;
    const std::int64_t b = task % num_heads / layout.H, h = task % layout.H;
    const std::int64_t kv = h / (layout.H / layout.K);
    attend({.shape = layout.head_shape(args),
            .begin = begin,
            .end = std::min(layout.T, begin + kQueriesPerTask),
            .q = qkv + layout.query(b, h),
            .k = qkv + layout.key(b, kv),
            .v = qkv + layout.value(b, kv),
            .out = args.out.as<float>() + layout.out(b, h),
            .lse = args.lse.as<float>() + layout.lse(b, h),
            .scratch = scratch_of(args.workspace, layout, thread)});
  });
}

void attention_backward(const AttentionBackwardArgs& args, const Device&, Queue& queue) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  const float* qkv = args.qkv.as<float>();
  float* dqkv = args.dqkv.as<float>();
  run_tasks(queue, layout.B * layout.K, [&](std::int64_t task, int thread) {
    const std::int64_t group = layout.H / layout.K;
    const std::int64_t b = task / layout.K, kv = task % layout.K, h = kv * group;
    attend_backward({.shape = layout.head_shape(args),
                     .num_queries = group,
                     .q = qkv + layout.query(b, h),
                     .k = qkv + layout.key(b, kv),
                     .v = qkv + layout.value(b, kv),
                     .out = args.out.as<float>() + layout.out(b, h),
                     .dout = args.dout.as<float>() + layout.out(b, h),
                     .lse = args.lse.as<float>() + layout.lse(b, h),
                     .dq = dqkv + layout.query(b, h),
                     .dk = dqkv + layout.key(b, kv),
                     .dv = dqkv + layout.value(b, kv),
                     .scratch = scratch_of(args.workspace, layout, thread)});
  });
}

}  // namespace twill::cpu
