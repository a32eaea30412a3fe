// SPDX-License-Identifier: Apache-2.0
// Copies of ops/numbers/emit.h on the cpu, behind the op that made x: each copy reads x once more, in blocks
// of 64 rows and 64 columns, so that a transposed one writes whole lines. Bound by memory; a rounding has no
// order and a maximum none either, so threads change no bit.
#include "ops/numbers/emit.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/lossy_simd.h"
#include "base/bf16.h"
#include "base/fp8.h"
#include "base/require.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kPiece = 16384;

float narrowed(float value, float) { return value; }
Bf16 narrowed(float value, Bf16) { return to_bf16(value); }
Fp8E4m3 narrowed(float value, Fp8E4m3) { return to_fp8<Fp8E4m3>(value); }
Fp8E5m2 narrowed(float value, Fp8E5m2) { return to_fp8<Fp8E5m2>(value); }

template <class T>
void copy_rows(const ConstView& x, const Emit& emit, float scale, Queue& queue) {
  const float* from = x.as<float>();
  T* to = emit.to.as<T>();
  run_pieces(queue, x.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = narrowed(from[i] / scale, T{});
  });
}

template <class T>
void copy_columns(const ConstView& x, const Emit& emit, float scale, Queue& queue) {
  const std::int64_t rows = x.rows(), cols = x.cols();
  const std::int64_t down = (rows + kBlock - 1) / kBlock, across = (cols + kBlock - 1) / kBlock;
  const float* from = x.as<float>();
  T* to = emit.to.as<T>();
  run_tasks(queue, down * across, [&](std::int64_t task, int) {
    const std::int64_t row = task / across * kBlock, col = task % across * kBlock;
    const std::int64_t row_end = std::min(rows, row + kBlock),
                       col_end = std::min(cols, col + kBlock);
    for (std::int64_t j = col; j < col_end; ++j)
      for (std::int64_t i = row; i < row_end; ++i)
        to[j * rows + i] = narrowed(from[i * cols + j] / scale, T{});
  });
}

template <class T>
void copy(const ConstView& x, const Emit& emit, Queue& queue) {
  const float scale = emit.scale.now();
  emit.transposed ? copy_columns<T>(x, emit, scale, queue) : copy_rows<T>(x, emit, scale, queue);
}

// Bits of floats that are not negative order like them, and those of NaN are above all.
void find_amax(const ConstView& x, View amax, Queue& queue) {
  const std::int64_t count = x.num_elements(), pieces = (count + kPiece - 1) / kPiece;
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(pieces));
  run_tasks(queue, pieces, [&](std::int64_t piece, int) {
    const std::int64_t begin = piece * kPiece;
    bits[static_cast<std::size_t>(piece)] =
        largest_bits(x.as<float>() + begin, std::min(kPiece, count - begin));
  });
  std::uint32_t most = 0;
  for (const std::uint32_t one : bits) most = std::max(most, one);
  *amax.as<float>() = std::bit_cast<float>(most);
}

}  // namespace

void emit(const EmitArgs& args, const Device&, Queue& queue) {
  for (const Emit& emit : args.emits) {
    if (emit.amax) find_amax(args.x, emit.amax, queue);
    if (!emit.to) continue;
    switch (emit.to.dtype()) {
      case DType::kF32:
        copy<float>(args.x, emit, queue);
        break;
      case DType::kBf16:
        copy<Bf16>(args.x, emit, queue);
        break;
      case DType::kE4m3:
        copy<Fp8E4m3>(args.x, emit, queue);
        break;
      case DType::kE5m2:
        copy<Fp8E5m2>(args.x, emit, queue);
        break;
      case DType::kF64:
      case DType::kI32:
      case DType::kU8:
        fail("[emit] the cpu backend copies to f32, bf16, e4m3 and e5m2, not to {}",
             name_of(emit.to.dtype()));
    }
  }
}

}  // namespace twill::cpu
