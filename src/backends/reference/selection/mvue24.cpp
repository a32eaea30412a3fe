// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mvue24.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "base/rng.h"

namespace twill::reference {
namespace {

// The uniform number of group `g` of a channel, exact in f32.
double uniform(const Mvue24Args& args, Purpose purpose, std::int64_t g, std::int64_t channel) {
  const auto tag = static_cast<std::uint32_t>(purpose) | args.stream << 8;
  const Philox4 words = philox4x32({static_cast<std::uint32_t>(args.first_block() + g / 4),
                                    static_cast<std::uint32_t>(channel), args.step_now(), tag},
                                   static_cast<std::uint32_t>(args.seed),
                                   static_cast<std::uint32_t>(args.seed >> 32));
  return static_cast<double>(words[static_cast<std::size_t>(g % 4)] >> 9) * 0x1p-23;
}

template <class T>
MvuePair<T> draw(const Mvue24Args& args, const T (&group)[4], std::int64_t g, std::int64_t c) {
  const double u = uniform(args, Purpose::kMvue, g, c);
  if (args.law == MvueLaw::kExact) return mvue24_exact(group, static_cast<T>(u));
  return mvue24_two_draw(group, u, uniform(args, Purpose::kMvueSecond, g, c));
}

template <class T>
void run(const Mvue24Args& args) {
  const std::int64_t tokens = args.x.shape()[0], C = args.x.shape()[1];
  for (std::int64_t g = 0; 4 * g < tokens; ++g) {
    for (std::int64_t c = 0; c < C; ++c) {
      T group[4] = {};
      for (std::int64_t k = 0; k < 4 && 4 * g + k < tokens; ++k)
        group[k] = args.x.as<T>()[(4 * g + k) * C + c];
      const MvuePair<T> pair = draw(args, group, g, c);
      for (std::int64_t k = 0; k < 4 && 4 * g + k < tokens; ++k) {
        const std::int64_t at = (4 * g + k) * C + c;
        args.y.as<T>()[at] = pair.value_at(static_cast<int>(k));
        if (args.mask) args.mask.as<std::uint8_t>()[at] = pair.keeps(static_cast<int>(k)) ? 1 : 0;
      }
    }
  }
}

}  // namespace

void mvue24(const Mvue24Args& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
