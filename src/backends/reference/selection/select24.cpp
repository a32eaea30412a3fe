// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/select24.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "backends/reference/selection/magnitude.h"

namespace twill::reference {
namespace {

// Four elements `stride` apart.
template <class T>
void select_group(const T* x, std::uint8_t* mask, std::int64_t stride) {
  for (int i = 0; i < 4; ++i) {
    const T mine = magnitude(x[i * stride]);
    int num_better = 0;
    for (int j = 0; j < 4; ++j) {
      const T other = magnitude(x[j * stride]);
      num_better += other > mine || (other == mine && j < i);
    }
    mask[i * stride] = num_better < 2;
  }
}

template <class T>
void run(const Select24Args& args) {
  const T* x = args.x.as<T>();
  std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const std::int64_t R = args.x.rows(), C = args.x.cols();
  if (args.axis == GroupAxis::kWithinRow) {
    for (std::int64_t i = 0; i < R * C; i += 4) select_group(x + i, mask + i, 1);
  } else {
    for (std::int64_t r = 0; r < R; r += 4)
      for (std::int64_t c = 0; c < C; ++c) select_group(x + r * C + c, mask + r * C + c, C);
  }
}

}  // namespace

void select24(const Select24Args& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
