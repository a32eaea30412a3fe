// SPDX-License-Identifier: Apache-2.0
// Rotary embedding on the cpu: tokens are cut into pieces of about 16384 elements; the sines come
// from the queue's tables.
//
// Bound by memory: every turned element is read and written once. Elements are independent: any cut
// gives the same bits.
#include "ops/attention/rotary.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/numbers/pointwise_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kPiece = 16384;  // 64 KB: some 5 us of work in cache

}  // namespace

void rotary(const RotaryArgs& args, const Device&, Queue& queue) {
  const Shape& shape = args.x.shape();  // (B, T, heads, D)
  const std::int64_t num_tokens = shape[0] * shape[1], T = shape[1], D = shape[3];
  const std::int64_t token_size = shape[2] * D, rotated_size = args.num_rotated * D;
  if (num_tokens == 0 || rotated_size == 0) return;
  const std::int64_t first = args.first_position;
  const RotaryTable& table = cpu_queue(queue).rotary_tables().get(first + T, D, args.theta);
  const auto turn = [&](std::int64_t token) {
    const std::int64_t angles = (first + token % T) * (D / 2);
    rotate_token({.x = args.x.as<float>() + token * token_size,
                  .num_heads = args.num_rotated,
                  .head_dim = D,
                  .cosines = table.cosines.data() + angles,
                  .sines = table.sines.data() + angles,
                  .sign = args.inverse ? -1.0f : 1.0f});
  };
  run_pieces(queue, num_tokens, rows_per_task(kPiece, rotated_size),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t token = begin; token < end; ++token) turn(token);
             });
}

}  // namespace twill::cpu
