// SPDX-License-Identifier: Apache-2.0
// The soft threshold on CUDA. Groups within a row: a thread takes the elements of a 16-byte store,
// one group for y in f32 or two for y in bf16, two or four such packs in flight. Groups within a
// column: the same of each of four rows.
//
// Bound by memory: 8 B per element, or 6 B where y is bf16; some 35 instructions a group, where its
// bytes leave time for 220 or 167. The subtraction and the product name their rounding: any grid
// gives the same bits. Where 16-byte accesses do not fit, a thread takes one group, element by
// element.
//
// The sums read x four times (the group of every element), from the caches three times of them:
// they run once per weight and refresh of the scale.
#include "ops/selection/soft_threshold24.h"

#include "backends/cuda/device/selection/groups24.cuh"
#include "backends/cuda/numbers/run_sums.cuh"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 4;  // at most 64 registers a thread; all blocks are resident

// kPacks packs of V elements, `stride` packs apart; all loads stand before the first store, which
// may be to the same memory.
template <int kPacks, int V, bool kWhole, class Y>
__device__ __forceinline__ void project_packs(const float* x, Y* y, float scale, std::int64_t pack,
                                              std::int64_t stride) {
  float values[kPacks][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) read_values<kWhole>(x + (pack + p * stride) * V, values[p]);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    auto& v = values[p];
#pragma unroll
    for (int i = 0; i < V; i += 4) soften_group(v[i], v[i + 1], v[i + 2], v[i + 3], scale);
    write_values<kWhole>(y + (pack + p * stride) * V, v);
  }
}

template <class Y, int V, bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void project_rows_kernel(const float* x, Y* y,
                                                                              float scale,
                                                                              std::int64_t packs) {
  constexpr int kInFlight = 16 / V;  // packs: 64 bytes of a thread, 64 KB on an SM
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; pack + (kInFlight - 1) * stride < packs; pack += kInFlight * stride)
    project_packs<kInFlight, V, kWhole>(x, y, scale, pack, stride);
  for (; pack < packs; pack += stride) project_packs<1, V, kWhole>(x, y, scale, pack, stride);
}

template <class Y, int V, bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocksPerSm) void project_columns_kernel(
    const float* x, Y* y, float scale, std::int64_t items, std::int64_t cols) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t item = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; item < items;
       item += stride) {
    const std::int64_t at = quad_rows_at<V>(item, cols);
    float v[4][V];
#pragma unroll
    for (int r = 0; r < 4; ++r) read_values<kWhole>(x + at + r * cols, v[r]);
#pragma unroll
    for (int i = 0; i < V; ++i) soften_group(v[0][i], v[1][i], v[2][i], v[3][i], scale);
#pragma unroll
    for (int r = 0; r < 4; ++r) write_values<kWhole>(y + at + r * cols, v[r]);
  }
}

template <class Y, int V, bool kWhole>
void launch_rows(const SoftThreshold24Args& args, const Device& device, Queue& queue) {
  const std::int64_t packs = args.x.num_elements() / V;
  const unsigned blocks = grid_for(ceil_div(packs, kThreads), kBlocksPerSm, device);
  project_rows_kernel<Y, V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<float>(args.x), pointer<Y>(args.y), static_cast<float>(args.scale), packs);
  TWILL_CUDA_CHECK_LAUNCH();
}

template <class Y, int V, bool kWhole>
void launch_columns(const SoftThreshold24Args& args, const Device& device, Queue& queue) {
  const std::int64_t items = args.x.num_elements() / (4 * V);
  const unsigned blocks = grid_for(ceil_div(items, kThreads), kBlocksPerSm, device);
  project_columns_kernel<Y, V, kWhole><<<blocks, kThreads, 0, stream_of(queue)>>>(
      pointer<float>(args.x), pointer<Y>(args.y), static_cast<float>(args.scale), items,
      args.x.cols());
  TWILL_CUDA_CHECK_LAUNCH();
}

// x and S(x) of an element. Its group begins `before` strides in front of it.
struct SoftTerms {
  using Item = float2;

  const float* x;
  std::int64_t cols;
  bool within_row;

  __device__ __forceinline__ Item load(std::int64_t i) const {
    const std::int64_t stride = within_row ? 1 : cols;
    const std::int64_t before = (within_row ? i : divide(i, cols).quotient) % 4;
    const float* first = x + i - before * stride;
    const float threshold =
        threshold_of(first[0], first[stride], first[2 * stride], first[3 * stride]);
    const float mine = x[i];
    return {mine, softened(mine, threshold)};
  }

  // Products of two f32 are exact in f64.
  __device__ __forceinline__ void add(const Item& item, double (&sums)[4]) const {
    const double value = static_cast<double>(item.x), soft = static_cast<double>(item.y);
    sums[0] = __dadd_rn(sums[0], __dmul_rn(value, soft));
    sums[1] = __dadd_rn(sums[1], __dmul_rn(soft, soft));
    sums[2] = __dadd_rn(sums[2], fabs(value));
    sums[3] = __dadd_rn(sums[3], fabs(soft));
  }
};

}  // namespace

void soft_threshold24(const SoftThreshold24Args& args, const Device& device, Queue& queue) {
  if (args.x.num_elements() == 0) return;
  by_type(args.y.dtype(), [&]<class Y>(TypeOf<Y>) {
    constexpr int V = kVec<Y>;
    const bool aligned = is_aligned({args.x, args.y});
    if (args.axis == GroupAxis::kWithinRow) {
      if (aligned && args.x.num_elements() % V == 0)
        return launch_rows<Y, V, true>(args, device, queue);
      return launch_rows<Y, 4, false>(args, device, queue);
    }
    if (aligned && args.x.cols() % V == 0) return launch_columns<Y, V, true>(args, device, queue);
    return launch_columns<Y, 1, false>(args, device, queue);
  });
}

void soft_threshold24_sums(const SoftThreshold24SumsArgs& args, const Device&, Queue& queue) {
  const SoftTerms terms{.x = pointer<float>(args.x),
                        .cols = args.x.cols(),
                        .within_row = args.axis == GroupAxis::kWithinRow};
  sum_in_runs<4>(terms, args.x.num_elements(), args.sums, queue);
}

}  // namespace twill::cuda
