// SPDX-License-Identifier: Apache-2.0
// Attention on the cpu.
//
// Forward: a task is 512 queries of one (batch, head). Backward: a task is one (batch, key/value
// head); it goes through its query heads and their blocks in ascending order and adds up dk and dv,
// so the order is fixed and nothing is shared. Probabilities are computed again from lse. The cut
// depends on the shape alone.
//
// Bound by FMAs: scores are computed for what the pattern shows (attention_reach.h), plus 8 T per
// head at every edge of its band. Where that is little, by the rows of q, k and v that come and go.
// Tokens beyond a length cost nothing but the zeros that are written.
#include "ops/attention/attention.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/attention/attention_scratch.h"
#include "backends/cpu/attention/attention_simd.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

// Every task copies its keys and values once: 1 / 512 of its work.
constexpr std::int64_t kQueriesPerTask = 512;
static_assert(kQueriesPerTask % kAttentionBlock == 0);

std::int64_t length_of(const ConstView& lengths, std::int64_t b, std::int64_t all) {
  return lengths ? std::clamp<std::int64_t>(lengths.as<std::int32_t>()[b], 0, all) : all;
}

template <class Args>
HeadShape shape_of(const Args& args, const AttentionExtents& is, std::int64_t b) {
  return {.num_queries = length_of(args.query_lengths, b, is.T),
          .num_keys = length_of(args.key_lengths, b, is.S),
          .all_queries = is.T,
          .all_keys = is.S,
          .D = is.D,
          .scale = static_cast<float>(args.scale),
          .mask = args.mask};
}

// Head h of sequence b.
template <class Byte>
auto rows_of(const BasicHeadsView<Byte>& heads, std::int64_t b, std::int64_t h) {
  using T = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  return HeadRows<T>{heads.template as<float>() + heads.at(b, 0, h), heads.row_stride()};
}

std::int64_t scratch_size(const AttentionExtents& is) {
  return AttentionScratch(is.S, is.D, nullptr).size;
}

float* scratch_of(const View& workspace, const AttentionExtents& is, int thread) {
  return reinterpret_cast<float*>(workspace.bytes()) + thread * scratch_size(is);
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
  return device.num_threads * scratch_size(AttentionExtents(args)) *
         static_cast<std::int64_t>(sizeof(float));
}

void attention_forward(const AttentionForwardArgs& args, const Device&, Queue& queue) {
  const AttentionExtents is(args);
  const std::int64_t num_pieces = (is.T + kQueriesPerTask - 1) / kQueriesPerTask;
  const auto head_of = [&](std::int64_t piece, std::int64_t head, int thread) -> HeadForward {
    // Late queries see more keys: they come first, so that the end is even.
    const std::int64_t begin = (num_pieces - 1 - piece) * kQueriesPerTask;
    const std::int64_t b = head / is.H, h = head % is.H;
    const std::int64_t kv = h / (is.H / is.K);
    return {.shape = shape_of(args, is, b),
            .begin = begin,
            .end = std::min(is.T, begin + kQueriesPerTask),
            .q = rows_of(args.q, b, h),
            .k = rows_of(args.k, b, kv),
            .v = rows_of(args.v, b, kv),
            .out = rows_of(HeadsView(args.out), b, h),
            .lse = args.lse.as<float>() + (b * is.H + h) * is.T,
            .scratch = scratch_of(args.workspace, is, thread)};
  };
  run_heads(queue, num_pieces, is.B * is.H, head_of, attend);
}

void attention_backward(const AttentionBackwardArgs& args, const Device&, Queue& queue) {
  const AttentionExtents is(args);
  const auto head_of = [&](std::int64_t, std::int64_t head, int thread) -> HeadBackward {
    const std::int64_t group = is.H / is.K;
    const std::int64_t b = head / is.K, kv = head % is.K, h = kv * group;
    return {.shape = shape_of(args, is, b),
            .group = group,
            .q = rows_of(args.q, b, h),
            .k = rows_of(args.k, b, kv),
            .v = rows_of(args.v, b, kv),
            .out = rows_of(ConstHeadsView(args.out), b, h),
            .dout = rows_of(ConstHeadsView(args.dout), b, h),
            .lse = args.lse.as<float>() + (b * is.H + h) * is.T,
            .dq = rows_of(args.dq, b, h),
            .dk = rows_of(args.dk, b, kv),
            .dv = rows_of(args.dv, b, kv),
            .scratch = scratch_of(args.workspace, is, thread)};
  };
  run_heads(queue, 1, is.B * is.K, head_of, attend_backward);
}

}  // namespace twill::cpu
