// SPDX-License-Identifier: Apache-2.0
// A block per row of a result, which writes zeros where the row is missing and ends at once where it
// is not. Bound by the launch: rows that exist cost two reads of a length.
#include "backends/cuda/attention/attention_clear.h"

#include <cuda_runtime.h>

#include <limits>

#include "backends/cuda/attention/attention_rule.cuh"
#include "backends/cuda/device/attention/attention_pairs.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 128;

// Which tokens of a result are missing.
struct Missing {
  const int* lengths;      // of the tokens themselves; nullptr: all exist
  const int* key_lengths;  // of what they see
  bool are_queries;
  int keys;
  PairRule rule;

  __device__ bool is(int b, int t) const {
    if (lengths != nullptr && t >= lengths[b]) return true;
    if (!are_queries) return false;
    return !sees_any_key(rule, t, key_lengths == nullptr ? keys : min(keys, key_lengths[b]));
  }
};

template <class T>
__global__ __launch_bounds__(kThreads) void clear_rows_kernel(T* data, std::int64_t stride, int row,
                                                              int tokens, Missing missing) {
  const int at = static_cast<int>(blockIdx.x);
  if (!missing.is(at / tokens, at % tokens)) return;
  for (int i = static_cast<int>(threadIdx.x); i < row; i += kThreads)
    data[at * stride + i] = T(0.0f);
}

// lse (B, H, T): a block per (b, t), a thread per head.
__global__ __launch_bounds__(kThreads) void clear_lse_kernel(float* lse, int heads, int tokens,
                                                             Missing missing) {
  const int b = static_cast<int>(blockIdx.x) / tokens, t = static_cast<int>(blockIdx.x) % tokens;
  if (!missing.is(b, t)) return;
  for (int h = static_cast<int>(threadIdx.x); h < heads; h += kThreads)
    lse[(std::int64_t{b} * heads + h) * tokens + t] = 0.0f;
}

// One block: a batch has some hundred sequences.
__global__ __launch_bounds__(kThreads) void clamp_lengths_kernel(const int* lengths, int count,
                                                                 int most, int* to) {
  for (int b = static_cast<int>(threadIdx.x); b < count; b += kThreads)
    to[b] = min(max(lengths[b], 0), most);
}

template <class Args>
Missing missing_of(const Args& args, bool are_queries) {
  const ConstView& own = are_queries ? args.query_lengths : args.key_lengths;
  const AttentionExtents is(args);
  return {own ? own.template as<std::int32_t>() : nullptr,
          args.key_lengths ? args.key_lengths.template as<std::int32_t>() : nullptr, are_queries,
          static_cast<int>(is.S), rule_of(args.mask, is)};
}

unsigned blocks_for(const Shape& heads) {
  const std::int64_t tokens = heads[0] * heads[1];
  TWILL_CHECK(tokens <= std::numeric_limits<int>::max(), "attention: too many tokens for a grid");
  return static_cast<unsigned>(tokens);
}

void clear_rows(const HeadsView& heads, const Missing& missing, Queue& queue) {
  if (heads.num_elements() == 0) return;
  const Shape& shape = heads.shape();
  by_type(heads.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    clear_rows_kernel<T><<<blocks_for(shape), kThreads, 0, stream_of(queue)>>>(
        reinterpret_cast<T*>(heads.bytes()), heads.row_stride(),
        static_cast<int>(shape[2] * shape[3]), static_cast<int>(shape[1]), missing);
  });
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void clear_missing(const AttentionForwardArgs& args, Queue& queue) {
  const Missing missing = missing_of(args, true);
  clear_rows(args.out, missing, queue);
  const Shape& out = args.out.shape();
  if (out.num_elements() == 0) return;
  clear_lse_kernel<<<blocks_for(out), kThreads, 0, stream_of(queue)>>>(
      args.lse.as<float>(), static_cast<int>(out[2]), static_cast<int>(out[1]), missing);
  TWILL_CUDA_CHECK_LAUNCH();
}

void clamp_lengths(ConstView lengths, std::int64_t most, std::int32_t* to, Queue& queue) {
  clamp_lengths_kernel<<<1, kThreads, 0, stream_of(queue)>>>(
      lengths.as<std::int32_t>(), static_cast<int>(lengths.num_elements()), static_cast<int>(most),
      to);
  TWILL_CUDA_CHECK_LAUNCH();
}

void clear_missing(const AttentionBackwardArgs& args, Queue& queue) {
  clear_rows(args.dq, missing_of(args, true), queue);
  clear_rows(args.dk, missing_of(args, false), queue);
  clear_rows(args.dv, missing_of(args, false), queue);
}

}  // namespace twill::cuda
