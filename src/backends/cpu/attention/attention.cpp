// SPDX-License-Identifier: Apache-2.0
// Attention on the cpu.
//
// Forward: a task is 512 queries of one (batch, head). Backward: a task is one (batch, key/value
// head); it goes through its query heads and their blocks in ascending order and adds up dk and dv,
// so the order is fixed and nothing is shared. Probabilities are computed again from lse. The cut
// depends on the shape alone.
//
// Bound by FMAs: scores are computed for what the pattern shows (attention_reach.h), plus 8 T per
// head at every edge of its band. Where that is little, by the rows of qkv that come and go.
#include "ops/attention/attention.h"

#include <algorithm>

#include "backends/cpu/attention/attention_scratch.h"
#include "backends/cpu/attention/attention_simd.h"
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

// Head of task `index` of `count`: threads take tasks in turn, and each gets neighbouring heads.
// Rows of neighbours touch, and a core fetches beyond the row it writes: two that write neighbours
// at the same time keep taking lines from each other (1.5 x the time where T / 4 is visible).
std::int64_t spread_over(int num_threads, std::int64_t index, std::int64_t count) {
  const std::int64_t piece = index % num_threads;
  return piece * (count / num_threads) + std::min(piece, count % num_threads) + index / num_threads;
}

// Runs attend(head_of(piece, head, thread), next) for every piece of every head.
template <class HeadOf, class Attend>
void run_heads(Queue& queue, std::int64_t num_pieces, std::int64_t num_heads, const HeadOf& head_of,
               const Attend& attend) {
  const int num_threads = cpu_queue(queue).pool().num_threads();
  const std::int64_t num_tasks = num_pieces * num_heads;
  const auto task_of = [&](std::int64_t task, int thread) {
    return head_of(task / num_heads, spread_over(num_threads, task % num_heads, num_heads), thread);
  };
  run_tasks(queue, num_tasks, [&](std::int64_t task, int thread) {
    const auto head = task_of(task, thread);
    const std::int64_t later = task + num_threads;
    if (later >= num_tasks) return attend(head, nullptr);
    const auto next = task_of(later, thread);
    attend(head, &next);
  });
}

}  // namespace

std::int64_t attention_workspace_bytes(const AttentionForwardArgs& args, const Device& device) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  return device.num_threads * scratch_size(layout) * static_cast<std::int64_t>(sizeof(float));
}

void attention_forward(const AttentionForwardArgs& args, const Device&, Queue& queue) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  const std::int64_t num_pieces = (layout.T + kQueriesPerTask - 1) / kQueriesPerTask;
  const float* qkv = args.qkv.as<float>();
  const auto head_of = [&](std::int64_t piece, std::int64_t head, int thread) -> HeadForward {
    // Late queries see more keys: they come first, so that the end is even.
    const std::int64_t begin = (num_pieces - 1 - piece) * kQueriesPerTask;
    const std::int64_t b = head / layout.H, h = head % layout.H;
    const std::int64_t kv = h / (layout.H / layout.K);
    return {.shape = layout.head_shape(args),
            .begin = begin,
            .end = std::min(layout.T, begin + kQueriesPerTask),
            .q = qkv + layout.query(b, h),
            .k = qkv + layout.key(b, kv),
            .v = qkv + layout.value(b, kv),
            .out = args.out.as<float>() + layout.out(b, h),
            .lse = args.lse.as<float>() + layout.lse(b, h),
            .scratch = scratch_of(args.workspace, layout, thread)};
  };
  run_heads(queue, num_pieces, layout.B * layout.H, head_of, attend);
}

void attention_backward(const AttentionBackwardArgs& args, const Device&, Queue& queue) {
  const Layout layout(args.qkv.shape(), args.out.shape());
  const float* qkv = args.qkv.as<float>();
  float* dqkv = args.dqkv.as<float>();
  const auto head_of = [&](std::int64_t, std::int64_t head, int thread) -> HeadBackward {
    const std::int64_t group = layout.H / layout.K;
    const std::int64_t b = head / layout.K, kv = head % layout.K, h = kv * group;
    return {.shape = layout.head_shape(args),
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
            .scratch = scratch_of(args.workspace, layout, thread)};
  };
  run_heads(queue, 1, layout.B * layout.K, head_of, attend_backward);
}

}  // namespace twill::cpu
