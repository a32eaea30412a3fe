// SPDX-License-Identifier: Apache-2.0
// The kernels of embedding's backward pass, in the order in which embedding.cu launches them, and
// rows in pieces, which its forward pass shares.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device/row.cuh"
#include "backends/cuda/device/vec.cuh"

namespace twill::cuda::embedding {

inline constexpr int kThreads = 256;
inline constexpr int kTile = 32;          // places: one warp prepares them
inline constexpr int kRowsInFlight = 4;   // 16-byte loads of a thread, with table rows beside them
inline constexpr int kPartsInFlight = 8;  // the same where nothing stands beside them

// N is 1, or the elements of 16 bytes: these are held as loaded, in four registers.
template <class T, int N>
using Piece = std::conditional_t<N == 1, T, uint4>;

template <int N, class T>
__device__ __forceinline__ Piece<T, N> read(const T* from) {
  if constexpr (N == 1)
    return *from;
  else
    return load16(from);
}

template <class T, int N>
__device__ __forceinline__ void values(const Piece<T, N>& piece, float (&x)[N]) {
  if constexpr (N == 1)
    x[0] = to_f32(piece);
  else
    unpack<T>(piece, x);
}

template <class T, int N>
__device__ __forceinline__ void add(float (&sum)[N], const Piece<T, N>& piece) {
  float x[N];
  values<T>(piece, x);
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] += x[j];
}

// N floats in accesses of 16 bytes, or one.
template <int N>
__device__ __forceinline__ void load_wide(const float* from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = *from;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const float4 x = *reinterpret_cast<const float4*>(from + i);
      to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
    }
  }
}
// The intrinsic keeps a store whole that the compiler would split.
template <int N>
__device__ __forceinline__ void store_wide(float* to, const float (&from)[N]) {
  if constexpr (N == 1) {
    *to = from[0];
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      __stwb(reinterpret_cast<float4*>(to + i),
             make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]));
  }
}

// The tokens in ascending order, equal ones in ascending (b, t).
struct Sorted {
  const std::uint32_t* tokens;
  const std::uint32_t* places;  // b T + t
  std::int64_t count;

  __device__ __forceinline__ bool is_at(std::int64_t index, std::uint32_t token) const {
    return index >= 0 && index < count && tokens[index] == token;
  }
};

template <class T>
struct Backward {
  Sorted sorted;
  const T* dout;  // (count, width)
  float* dtable;  // (V, width)
  float* parts;   // (tiles, width): of the run that comes from before
  std::int64_t width;
};

template <class T, int N>
__global__ __launch_bounds__(kThreads) void tile_kernel(Backward<T> p) {
  constexpr std::int64_t kRunGoesOn = -1;
  __shared__ std::int64_t from[kTile];  // in dout
  __shared__ std::int64_t to[kTile];    // where the sum goes behind this place
  __shared__ bool is_part[kTile];       // in parts; otherwise it is added to the table
  const std::int64_t begin = std::int64_t{blockIdx.x} * kTile;
  const int count = static_cast<int>(min(std::int64_t{kTile}, p.sorted.count - begin));
  const int place = static_cast<int>(threadIdx.x);
  if (place < count) {
    const std::uint32_t token = p.sorted.tokens[begin + place];
    const bool ends = place + 1 == count || !p.sorted.is_at(begin + place + 1, token);
    from[place] = p.sorted.places[begin + place] * p.width;
    is_part[place] = p.sorted.is_at(begin - 1, token);
    to[place] = !ends ? kRunGoesOn : (is_part[place] ? blockIdx.x : token) * p.width;
  }
  __syncthreads();

  for (std::int64_t c = threadIdx.x * N; c < p.width; c += blockDim.x * N) {
    float sum[N] = {};
#pragma unroll 1
    for (int first = 0; first < count; first += kRowsInFlight) {
      Piece<T, N> x[kRowsInFlight];
      float held[kRowsInFlight][N] = {};
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const int k = first + i;
        if (k < count) x[i] = read<N>(p.dout + from[k] + c);
        if (k < count && to[k] >= 0 && !is_part[k]) load_wide(p.dtable + to[k] + c, held[i]);
      }
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const int k = first + i;
        if (k < count) add<T>(sum, x[i]);
        if (k >= count || to[k] < 0) continue;
#pragma unroll
        for (int j = 0; j < N; ++j) held[i][j] += sum[j], sum[j] = 0.0f;
        store_wide((is_part[k] ? p.parts : p.dtable) + to[k] + c, held[i]);
      }
    }
  }
}

template <int N>
__global__ __launch_bounds__(kThreads) void finish_kernel(Sorted sorted, const float* parts,
                                                          float* dtable, std::int64_t width) {
  const std::int64_t tile = blockIdx.x, next = tile + 1;
  if (next * kTile >= sorted.count) return;
  const std::uint32_t token = sorted.tokens[next * kTile];
  const bool begins_here =
      sorted.is_at(next * kTile - 1, token) && !sorted.is_at(tile * kTile - 1, token);
  if (!begins_here) return;

  // A part for every tile behind that begins with the token.
  std::int64_t count = 0;
  for (bool is_full = true; is_full;) {
    const std::int64_t place = (next + count + threadIdx.x) * kTile;
    const int found = __syncthreads_count(sorted.is_at(place, token));
    count += found;
    is_full = found == static_cast<int>(blockDim.x);
  }

  for (std::int64_t c = threadIdx.x * N; c < width; c += blockDim.x * N) {
    float* row = dtable + token * width + c;
    float sum[N];
    load_wide(row, sum);
#pragma unroll 1
    for (std::int64_t first = 0; first < count; first += kPartsInFlight) {
      Piece<float, N> part[kPartsInFlight];
#pragma unroll
      for (int i = 0; i < kPartsInFlight; ++i)
        if (first + i < count) part[i] = read<N>(parts + (next + first + i) * width + c);
#pragma unroll
      for (int i = 0; i < kPartsInFlight; ++i)
        if (first + i < count) add<float>(sum, part[i]);
    }
    store_wide(row, sum);
  }
}

// table[i] += Σ_b dout[b, i] over a plane of T C elements.
template <class T, int N>
__global__ __launch_bounds__(kThreads) void position_kernel(const T* dout, float* table,
                                                            std::int64_t batch,
                                                            std::int64_t plane) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads * N;
  for (std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * N; at < plane;
       at += stride) {
    float sum[N];
    load_wide(table + at, sum);
#pragma unroll 1
    for (std::int64_t first = 0; first < batch; first += kPartsInFlight) {
      Piece<T, N> x[kPartsInFlight];
#pragma unroll
      for (int i = 0; i < kPartsInFlight; ++i)
        if (first + i < batch) x[i] = read<N>(dout + (first + i) * plane + at);
#pragma unroll
      for (int i = 0; i < kPartsInFlight; ++i)
        if (first + i < batch) add<T>(sum, x[i]);
    }
    store_wide(table + at, sum);
  }
}

}  // namespace twill::cuda::embedding
