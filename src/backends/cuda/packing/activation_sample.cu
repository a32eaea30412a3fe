// SPDX-License-Identifier: Apache-2.0
// activation_sample on CUDA: a block takes 64 tokens of 64 channels of dy, and so one atom of
// packed_layout.h of dx, or for gated activations two, of value and of gate; a thread sixteen tokens of
// four channels. It walks over them four by four: inputs of the next four are on their way while these
// become dx, are stored, and are sampled as they are stored. Random words wait in shared memory, where
// sixteen or thirty-two registers would not fit beside the rest.
//
// Gated 6 B read and 6.25 B written per element of dy (1.69 GB at 24576 x 5632, 400 us at 4.26 TB/s),
// plain 4 and 3.125. SwiGLU takes 59 instructions per element of dy in all, 22 of them at half rate, of
// the 85 that fit into 12.25 B.
#include "ops/packing/activation_sample.h"

#include <cstdint>

#include "backends/cuda/device/selection/mvue24_pack.cuh"
#include "backends/cuda/layers/activation_kinds.cuh"
#include "backends/cuda/numbers/partial_sums.cuh"
#include "backends/cuda/packing/packed_operand.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/rng.h"

namespace twill::cuda {
namespace {

static_assert(kSampleSide == kAtom);
constexpr int kGroups = kMvueTokens / 4;
constexpr int kAcross = static_cast<int>(kAtom) / kSampleChannels;  // threads of a token
constexpr int kThreads = kAcross * static_cast<int>(kAtom) / kMvueTokens;
constexpr int kAtomPieces = static_cast<int>(kAtomHalves) / 8;  // of sixteen bytes
constexpr unsigned kZerosKept =
    0xeeeeu;  // four groups of zeros: ops/selection/mvue24.h keeps 2 and 3

// Of an SM: 72 registers of a plain thread, 96 of a gated one.
template <bool kGated>
constexpr int kBlocksPerSm = kGated ? 10 : 14;

template <bool kGated>
constexpr int kParts = kGated ? 2 : 1;  // of x and dx, each as wide as dy

struct ActivationSample {
  const __nv_bfloat16* x;
  const __nv_bfloat16* dy;
  __nv_bfloat16* dx;
  __nv_bfloat16* values;
  uint4* positions;
  float* partials;  // (atoms along tokens, channels of dx), with sums
  const std::int32_t* step_at;
  MvueDraws draws;
  std::int64_t tokens;
  std::int64_t cols;        // of dy
  std::int64_t atoms_down;  // along the channels of dx
};

template <bool kGated>
struct SampleShared {
  // Word g of the philox calls of a thread's channels, by part and thread.
  uint4 random[kGroups][kParts<kGated>][kThreads];
  uint4 atoms[kParts<kGated>][kAtomPieces];
  float4 sums[kParts<kGated>][kThreads];

  __device__ __forceinline__ std::uint16_t& codes(int part, int m, int k) {
    return reinterpret_cast<std::uint16_t*>(atoms[part])[word_in_atom(m, k)];
  }
};

// A token's four channels of everything that the gradient is made of.
template <bool kGated>
struct SampleInputs {
  unsigned x[kParts<kGated>][2];
  unsigned dy[2];

  __device__ __forceinline__ void load(const __nv_bfloat16* x_row, const __nv_bfloat16* dy_row,
                                       std::int64_t cols) {
#pragma unroll
    for (int part = 0; part < kParts<kGated>; ++part) load8(x_row + part * cols, x[part]);
    load8(dy_row, dy);
  }
};

// Word w of a row of dx, as it is stored.
template <class F, bool kGated>
__device__ __forceinline__ void gradient_word(const SampleInputs<kGated>& in, int w,
                                              unsigned (&dx)[kParts<kGated>]) {
  float d[kParts<kGated>][2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float dy = half_of(in.dy[w], c);
    if constexpr (kGated) {
      const GatedGradient of =
          gated_gradient<F>(half_of(in.x[0][w], c), half_of(in.x[1][w], c), dy);
      d[0][c] = of.value;
      d[1][c] = of.gate;
    } else {
      d[0][c] = plain_gradient<F>(half_of(in.x[0][w], c), dy);
    }
  }
#pragma unroll
  for (int part = 0; part < kParts<kGated>; ++part) dx[part] = word_at<__nv_bfloat16>(d[part], 0);
}

// The sample of a thread, group by group.
template <int kOfParts>
struct RunningSample {
  CountedPositions positions[kOfParts][2][2];  // by part, word and half
  MvuePairChecks checks;
  float first_step = 1.0f;

  // Two rows of what is kept of four.
  __device__ __forceinline__ void take(const unsigned (&rows)[4][2], const uint4& random, int part,
                                       unsigned (&kept)[2][2]) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const float uniform[2] = {mvue_uniform(w == 0 ? random.x : random.z),
                                mvue_uniform(w == 0 ? random.y : random.w)};
      const uint2 pair = mvue_pair(rows[0][w], rows[1][w], rows[2][w], rows[3][w], first_step,
                                   uniform, positions[part][w], checks);
      kept[0][w] = pair.x;
      kept[1][w] = pair.y;
    }
  }
};

// Draws the words of a thread's channels, and leaves them for its groups in order.
template <bool kGated>
__device__ __forceinline__ void draw_ahead(const MvueDraws& draws, const SamplePlace& at,
                                           std::int64_t cols, SampleShared<kGated>& shared) {
#pragma unroll
  for (int part = 0; part < kParts<kGated>; ++part) {
    uint4 words[kSampleChannels];
#pragma unroll
    for (int c = 0; c < kSampleChannels; ++c)
      words[c] = draws.words(at.block, at.channel + part * cols + c, draws.tag);
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      shared.random[group][part][threadIdx.x] =
          make_uint4(word_of(words[0], group), word_of(words[1], group), word_of(words[2], group),
                     word_of(words[3], group));
  }
}

// dx of a thread's tokens and its sample; kWhole: all sixteen exist. Sums of its channels go where
// kSums; codes into shared memory.
template <class F, bool kGated, bool kWhole, bool kSums>
__device__ __forceinline__ void run_thread(const ActivationSample& job, const MvueDraws& draws,
                                           const SamplePlace& at, int m_in, int k_in,
                                           SampleShared<kGated>& shared) {
  constexpr int kOf = kParts<kGated>;
  const std::int64_t width = kOf * job.cols, token = at.block * kMvueTokens;
  const __nv_bfloat16* x = job.x + token * width + at.channel;
  const __nv_bfloat16* dy = job.dy + token * job.cols + at.channel;
  __nv_bfloat16* dx = job.dx + token * width + at.channel;
  __nv_bfloat16* values = job.values + token / 2 * width + at.channel;
  SampleInputs<kGated> in[4];
  const auto fetch = [&](int group, int t) {
    if (kWhole || 4 * group + t < at.tokens) {
      in[t].load(x, dy, job.cols);
    } else {
      in[t] = {};  // of zeros dx is zero, and their sample keeps legal positions
    }
    x += width;
    dy += job.cols;
  };
#pragma unroll
  for (int t = 0; t < 4; ++t) fetch(0, t);
  draw_ahead<kGated>(draws, at, job.cols, shared);
  RunningSample<kOf> sample;
  float sums[kOf][kSampleChannels] = {};
#pragma unroll 1
  for (int group = 0; group < kGroups; ++group) {
    unsigned rows[kOf][4][2];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        unsigned words[kOf];
        gradient_word<F>(in[t], w, words);
#pragma unroll
        for (int part = 0; part < kOf; ++part) rows[part][t][w] = words[part];
      }
      if (group + 1 < kGroups) fetch(group + 1, t);
      if (kWhole || 4 * group + t < at.tokens) {
#pragma unroll
        for (int part = 0; part < kOf; ++part) store8(dx + part * job.cols, rows[part][t]);
      }
      dx += width;
      if constexpr (kSums) {
#pragma unroll
        for (int i = 0; i < kOf * kSampleChannels; ++i)
          sums[i / 4][i % 4] += half_of(rows[i / 4][t][i % 4 / 2], i % 2);
      }
    }
#pragma unroll
    for (int part = 0; part < kOf; ++part) {
      unsigned kept[2][2];
      sample.take(rows[part], shared.random[group][part][threadIdx.x], part, kept);
      if (!kWhole && 4 * group >= at.tokens) continue;
      store8(values + part * job.cols, kept[0]);
      store8(values + part * job.cols + width, kept[1]);
    }
    values += 2 * width;
    sample.first_step *= 16.0f;
  }
#pragma unroll
  for (int part = 0; part < kOf; ++part) {
#pragma unroll
    for (int c = 0; c < kSampleChannels; ++c)
      shared.codes(part, m_in + c, k_in) =
          static_cast<std::uint16_t>(sample.positions[part][c / 2][c % 2].bits());
    if constexpr (kSums)
      shared.sums[part][threadIdx.x] =
          make_float4(sums[part][0], sums[part][1], sums[part][2], sums[part][3]);
  }
  if (!sample.checks.failed()) return;
  dx = job.dx + token * width;
  values = job.values + token / 2 * width;
#pragma unroll 1
  for (int i = 0; i < kOf * kSampleChannels; ++i) {
    const int part = i / kSampleChannels, c = i % kSampleChannels;
    const std::int64_t channel = at.channel + part * job.cols + c;
    shared.codes(part, m_in + c, k_in) = static_cast<std::uint16_t>(
        sample_any(dx + channel, values + channel, width, {at.block, channel, at.tokens}, draws));
  }
}

template <class F, bool kGated, bool kWhole, bool kSums>
__global__ __launch_bounds__(kThreads, kBlocksPerSm<kGated>) void activation_sample_kernel(
    const ActivationSample job) {
  __shared__ SampleShared<kGated> shared;
  MvueDraws draws = job.draws;
  if (job.step_at != nullptr) draws.step = static_cast<std::uint32_t>(*job.step_at);
  const int m_in = static_cast<int>(threadIdx.x) % kAcross * kSampleChannels;
  const int k_in = static_cast<int>(threadIdx.x) / kAcross * kMvueTokens;
  const SamplePlace at = sample_place(m_in, k_in, job.tokens);
  if (at.channel < job.cols && at.tokens > 0) {
    run_thread<F, kGated, kWhole, kSums>(job, draws, at, m_in, k_in, shared);
  } else {
#pragma unroll
    for (int part = 0; part < kParts<kGated>; ++part) {
#pragma unroll
      for (int c = 0; c < kSampleChannels; ++c)
        shared.codes(part, m_in + c, k_in) = static_cast<std::uint16_t>(kZerosKept);
      if constexpr (kSums) shared.sums[part][threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
  __syncthreads();
  const std::int64_t atom = blockIdx.x + std::int64_t{blockIdx.y} * job.atoms_down;
#pragma unroll
  for (int part = 0; part < kParts<kGated>; ++part) {
    if (threadIdx.x < kAtomPieces)
      job.positions[(atom + part * (job.cols / kAtom)) * kAtomPieces + threadIdx.x] =
          shared.atoms[part][threadIdx.x];
    if constexpr (kSums) {
      static_assert(kThreads == kAtom);
      const std::int64_t channel = std::int64_t{blockIdx.x} * kAtom + threadIdx.x;
      if (channel < job.cols)
        job.partials[(std::int64_t{blockIdx.y} * kParts<kGated> + part) * job.cols + channel] =
            channel_sum(shared.sums[part], threadIdx.x);
    }
  }
}

template <class F, bool kGated>
void launch_sample(const ActivationSample& job, Queue& queue) {
  const auto kernel = [&] {
    const bool is_whole = job.tokens % kMvueTokens == 0;
    if (job.partials != nullptr)
      return is_whole ? activation_sample_kernel<F, kGated, true, true>
                      : activation_sample_kernel<F, kGated, false, true>;
    return is_whole ? activation_sample_kernel<F, kGated, true, false>
                    : activation_sample_kernel<F, kGated, false, false>;
  }();
  const dim3 blocks(static_cast<unsigned>(ceil_div(job.cols, kAtom)),
                    static_cast<unsigned>(ceil_div(job.tokens, kAtom)));
  kernel<<<blocks, kThreads, 0, stream_of(queue)>>>(job);
  TWILL_CUDA_CHECK_LAUNCH();
}

}  // namespace

// The gate's channels must begin an atom of their own.
bool fuses_activation_sample(const ActivationSampleArgs& args) {
  const ActivationBackwardArgs& activation = args.activation;
  return args.pack.first_token == 0 && args.pack.law == MvueLaw::kExact &&
         activation.dx.dtype() == DType::kBf16 &&
         is_aligned({activation.x, activation.dy, activation.dx, args.pack.storage}) &&
         (!is_gated(activation.kind) || activation.dy.cols() % kAtom == 0) &&
         layout_of(args.pack.shape).atoms_across() <= kMostBlocksDown;
}

void activation_sample(const ActivationSampleArgs& args, const Device& device, Queue& queue) {
  const ActivationBackwardArgs& activation = args.activation;
  const PackSampleArgs& pack = args.pack;
  const PackedLayout layout = layout_of(pack.shape);
  const std::int64_t count = layout.atoms_across();
  const std::int64_t partial_bytes = count * layout.rows * std::int64_t{sizeof(float)};
  const ActivationSample job{
      .x = pointer<__nv_bfloat16>(activation.x),
      .dy = pointer<__nv_bfloat16>(activation.dy),
      .dx = pointer<__nv_bfloat16>(activation.dx),
      .values = pointer<__nv_bfloat16>(pack.storage),
      .positions = reinterpret_cast<uint4*>(pack.storage.bytes() + layout.positions_begin()),
      .partials =
          pack.sum ? reinterpret_cast<float*>(reduction_scratch(queue, partial_bytes)) : nullptr,
      .step_at = pointer<std::int32_t>(pack.step_at),
      .draws = {.seed = pack.seed,
                .step = pack.step,
                .tag = static_cast<std::uint32_t>(Purpose::kMvue) | pack.stream << 8,
                .second_tag = 0},
      .tokens = layout.cols,
      .cols = activation.dy.cols(),
      .atoms_down = layout.atoms_down()};
  by_kind<__nv_bfloat16>(activation.kind, [&]<class F, bool kGated>(F, std::bool_constant<kGated>) {
    launch_sample<F, kGated>(job, queue);
  });
  if (!pack.sum) return;
  add_partials(
      job.partials, count, layout.rows,
      {.to = {pointer<float>(pack.sum)}, .columns = layout.rows, .accumulate = pack.accumulate},
      device, queue);
}

}  // namespace twill::cuda
