// SPDX-License-Identifier: Apache-2.0
// cross_entropy on CUDA: a block per row, cut at 16-byte boundaries whatever V and the alignment.
//
//   1  every thread walks through its pieces with a running maximum and a sum of exp(x - maximum);
//      pieces also go to shared memory where two rows fit on a multiprocessor (V = 50304 in bf16:
//      2 x 98 KiB of 227)
//   2  the block agrees on maximum and sum: the loss, and the id of the maximum
//   3  the gradient, from shared memory; longer rows are read again, from the second-level cache as
//      far as they still lie there
//
// Bound by memory: logits are read once and the gradient is written once, 4 B per element in bf16.
// In that time some 27 instructions per element can be issued; two exponentials and what stands
// around them take 16. Two blocks per multiprocessor, so that one loads while the other computes.
// Sums run in an order that V, the alignment and the type fix.
#include "ops/layers/cross_entropy.h"

#include <climits>
#include <cmath>

#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/row.cuh"
#include "backends/cuda/device/vec.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"

namespace twill::cuda {
namespace {

constexpr int kWide = 512;    // threads for a long row: two blocks with 64 registers each
constexpr int kNarrow = 128;  // for V below kLongRow: eight blocks
constexpr std::int64_t kLongRow = 8192;
constexpr int kInFlight = 4;  // 16-byte loads of a thread: 64 KiB per multiprocessor

template <class T>
struct Problem {
  const T* logits;  // (rows, V)
  const std::int32_t* targets;
  float* loss;
  T* dlogits;          // or nullptr; may be logits
  std::int32_t* best;  // or nullptr
  int vocabulary;
  bool is_kept;  // in shared memory
  double scale;
  const double* count;  // or nullptr

  __device__ __forceinline__ double gradient_scale() const {
    if (count == nullptr) return scale;
    return *count > 0.0 ? scale / *count : 0.0;
  }
};

// A row: whole pieces on 16-byte boundaries, and edges before and behind them of less than a piece.
template <class T>
struct Row {
  static constexpr int N = kVec<T>;

  const T* logits;
  T* dlogits;
  int vocabulary;
  int head;  // elements before the first piece
  int pieces;
  int edge;        // this thread's element of the edges; -1: none
  bool is_paired;  // pieces of dlogits lie on 16-byte boundaries too

  __device__ __forceinline__ Row(const Problem<T>& p, std::int64_t row)
      : logits(p.logits + row * p.vocabulary),
        dlogits(p.dlogits == nullptr ? nullptr : p.dlogits + row * p.vocabulary),
        vocabulary(p.vocabulary),
        head(min(to_boundary(logits), vocabulary)),
        pieces((vocabulary - head) / N),
        is_paired(to_boundary(dlogits) == to_boundary(logits)) {
    const int thread = static_cast<int>(threadIdx.x);
    edge = thread < head ? thread : thread + pieces * N;
    if (edge >= vocabulary) edge = -1;
  }

  static __device__ __forceinline__ int to_boundary(const T* x) {
    return static_cast<int>((N - reinterpret_cast<std::uintptr_t>(x) / sizeof(T) % N) % N);
  }
  __device__ __forceinline__ int begin_of(int piece) const { return head + piece * N; }
  __device__ __forceinline__ uint4 read(int piece) const {
    return load16(logits + begin_of(piece));
  }
  __device__ __forceinline__ void write(int piece, const float (&d)[N]) const {
    T* to = dlogits + begin_of(piece);
    if (is_paired) return store(to, d);
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = from_f32<T>(d[j]);
  }
};

// exp(x) for x <= 0. __expf is off by 2 + 1.2 |x| ulp of f32: at |x| = 90, where f32 ends, that is
// a hundredth of bf16's rounding; it is of the size of what rounding x = logit - maximum does.
template <class T>
__device__ __forceinline__ float exp_of(float x) {
  return sizeof(T) == sizeof(float) ? expf(x) : __expf(x);
}

// The same as a term of a sum that is at least 1: what lies below 2^-126 may be zero, which saves
// three of five instructions.
template <class T>
__device__ __forceinline__ float exp_term(float x) {
  if (sizeof(T) == sizeof(float)) return expf(x);
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
}

// A thread's share of a row: its maximum, Σ exp(x - maximum), and where the maximum is first met:
// the element, or the piece that begins there.
struct Share {
  float max = -INFINITY;
  float sum = 0.0f;
  int first = INT_MAX;

  // Only -Inf so far: its exponentials are zero, not exp(-Inf + Inf).
  __device__ __forceinline__ float shift() const { return max == -INFINITY ? 0.0f : max; }
};

// A NaN is passed over here and met again in the sum.
template <class T>
__device__ __forceinline__ float max_of(const uint4& piece) {
  if constexpr (sizeof(T) == sizeof(float)) {
    float x[kVec<T>];
    unpack<T>(piece, x);
    return fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
  } else {
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&piece);
    const __nv_bfloat162 max = __hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3]));
    return fmaxf(__low2float(max), __high2float(max));
  }
}

template <class T>
__device__ __forceinline__ float sum_of_exp(const uint4& piece, float shift) {
  float x[kVec<T>], sum = 0.0f;
  unpack<T>(piece, x);
#pragma unroll
  for (int j = 0; j < kVec<T>; ++j) sum += exp_term<T>(x[j] - shift);
  return sum;
}

template <class T, int kThreads>
__device__ __forceinline__ Share walk(const Row<T>& row, uint4* kept) {
  Share share;
#pragma unroll 1
  for (int begin = static_cast<int>(threadIdx.x); begin < row.pieces;
       begin += kInFlight * kThreads) {
    uint4 x[kInFlight];
    const auto at = [&](int i) { return begin + i * kThreads; };
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      if (at(i) < row.pieces) x[i] = row.read(at(i));
    const float before = share.max;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (at(i) >= row.pieces) continue;
      if (kept != nullptr) kept[at(i)] = x[i];
      const float largest = max_of<T>(x[i]);
      if (largest > share.max) share.max = largest, share.first = row.begin_of(at(i));
    }
    share.sum *= exp_term<T>(before - share.shift());
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      if (at(i) < row.pieces) share.sum += sum_of_exp<T>(x[i], share.shift());
  }
  if (row.edge >= 0) {
    const float x = to_f32(row.logits[row.edge]), before = share.max;
    if (x > share.max || (x == share.max && row.edge < share.first))
      share.max = x, share.first = row.edge;
    share.sum = share.sum * exp_term<T>(before - share.shift()) + exp_term<T>(x - share.shift());
  }
  return share;
}

// The id of the row's maximum, the lowest of equals.
template <class T>
__device__ __forceinline__ int first_of(const Row<T>& row, const Share& share, float largest) {
  __shared__ int lowest;
  if (threadIdx.x == 0) lowest = INT_MAX;
  __syncthreads();
  if (share.max == largest && share.first < row.vocabulary) {
    int id = share.first;
    while (id + 1 < row.vocabulary && to_f32(row.logits[id]) != largest) ++id;
    atomicMin(&lowest, id);
  }
  __syncthreads();
  return lowest;
}

// scale · softmax, with factor = scale / sum.
template <class T, int kThreads>
__device__ __forceinline__ void write_gradient(const Row<T>& row, const uint4* kept, float max,
                                               float factor) {
  constexpr int N = Row<T>::N;
#pragma unroll 1
  for (int begin = static_cast<int>(threadIdx.x); begin < row.pieces;
       begin += kInFlight * kThreads) {
    uint4 x[kInFlight];
    const auto at = [&](int i) { return begin + i * kThreads; };
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      if (at(i) < row.pieces) x[i] = kept != nullptr ? kept[at(i)] : row.read(at(i));
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (at(i) >= row.pieces) continue;
      float d[N];
      unpack<T>(x[i], d);
#pragma unroll
      for (int j = 0; j < N; ++j) d[j] = exp_of<T>(d[j] - max) * factor;
      row.write(at(i), d);
    }
  }
  if (row.edge >= 0) {
    const float e = exp_of<T>(to_f32(row.logits[row.edge]) - max);
    row.dlogits[row.edge] = from_f32<T>(e * factor);
  }
}

template <class T, int kThreads>
__device__ __forceinline__ void write_zeros(const Row<T>& row) {
  const float zeros[Row<T>::N] = {};
  for (int piece = static_cast<int>(threadIdx.x); piece < row.pieces; piece += kThreads)
    row.write(piece, zeros);
  if (row.edge >= 0) row.dlogits[row.edge] = from_f32<T>(0.0f);
}

template <class T, int kThreads>
__global__ __launch_bounds__(kThreads, 1024 / kThreads) void cross_entropy_kernel(Problem<T> p) {
  extern __shared__ uint4 shared[];
  const std::int64_t r = blockIdx.x;
  const Row<T> row(p, r);
  const int target = p.targets[r];
  const bool leads = threadIdx.x == 0;
  if (target < 0) {
    if (leads) p.loss[r] = 0.0f;
    if (leads && p.best != nullptr) p.best[r] = -1;
    if (row.dlogits != nullptr) write_zeros<T, kThreads>(row);
    return;
  }

  // Until the end every thread keeps to its own elements, so that they may be overwritten.
  uint4* kept = p.is_kept ? shared : nullptr;
  const float at_target = to_f32(row.logits[target]);
  const Share share = walk<T, kThreads>(row, kept);

  // A maximum of +-Inf makes exp(Inf - Inf) = NaN here: the loss of such rows.
  const float max = block_max<kThreads>(share.max);
  const float sum = block_sum<kThreads>(share.sum * exp_term<T>(share.max - max));
  const float loss = logf(sum) + (max - at_target);
  if (leads) p.loss[r] = loss;
  if (p.best != nullptr) {
    const int id = first_of(row, share, max);
    if (leads) p.best[r] = isnan(loss) ? -1 : id;
  }

  if (row.dlogits == nullptr) return;
  // Divided once: an H200 has 64 units for f64 on a multiprocessor, an A100 32, other cards 2.
  __shared__ float factor;
  const double scale = leads ? p.gradient_scale() : 0.0;
  if (leads) factor = static_cast<float>(scale / double{sum});
  __syncthreads();
  write_gradient<T, kThreads>(row, kept, max, factor);
  __syncthreads();  // the target's gradient goes over what its element's thread has written
  if (leads) {
    const double e = exp_of<T>(at_target - max);
    row.dlogits[target] = from_f32<T>(static_cast<float>(scale * (e / double{sum} - 1.0)));
  }
}

// Bytes of shared memory of which two blocks fit on a multiprocessor, each with 2 KiB for itself.
std::int64_t shared_bytes(const Device& device) {
  int bytes = 0;
  TWILL_CUDA_CHECK(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device.index));
  return bytes / 2 - 2048;
}

template <class T, int kThreads>
void launch(Problem<T> problem, std::int64_t rows, const Device& device, Queue& queue) {
  const auto kernel = cross_entropy_kernel<T, kThreads>;
  const std::int64_t row_bytes = 16 * (problem.vocabulary / kVec<T>);
  const std::int64_t most = shared_bytes(device);
  problem.is_kept = problem.dlogits != nullptr && row_bytes <= most;
  const int bytes = problem.is_kept ? static_cast<int>(row_bytes) : 0;
  // Without asking a kernel gets 48 KiB less what it declares itself; so it always asks, for the
  // same amount.
  if (bytes > 0) {
    TWILL_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(most)));
    TWILL_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                          cudaSharedmemCarveoutMaxShared));
  }
  kernel<<<static_cast<unsigned>(rows), kThreads, static_cast<unsigned>(bytes), stream_of(queue)>>>(
      problem);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args, const Device& device, Queue& queue) {
  const std::int64_t rows = args.logits.rows(), V = args.logits.cols();
  if (rows == 0) return;
  by_type(args.logits.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const Problem<T> problem{.logits = pointer<T>(args.logits),
                             .targets = pointer<std::int32_t>(args.targets),
                             .loss = pointer<float>(args.loss),
                             .dlogits = pointer<T>(args.dlogits),
                             .best = pointer<std::int32_t>(args.best),
                             .vocabulary = static_cast<int>(V),
                             .is_kept = false,
                             .scale = args.scale,
                             .count = pointer<double>(args.count)};
    if (V >= kLongRow)
      launch<T, kWide>(problem, rows, device, queue);
    else
      launch<T, kNarrow>(problem, rows, device, queue);
  });
}

}  // namespace twill::cuda
