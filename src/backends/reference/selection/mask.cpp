// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/mask.h"

#include <algorithm>
#include <cmath>

#include "backends/reference/addition_order.h"
#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
void add_run(const MaskMassArgs& args, std::int64_t begin, std::int64_t end) {
  double sums[5] = {};
  for (std::int64_t i = begin; i < end; ++i) {
    const double x = std::abs(double{args.x.as<T>()[i]});
    const bool kept = args.mask.as<std::uint8_t>()[i] != 0;
    sums[0] += x;
    sums[1] += x * x;
    sums[2] += kept ? x : 0.0;
    sums[3] += kept ? x * x : 0.0;
    sums[4] += kept ? 1.0 : 0.0;
  }
  for (int k = 0; k < 5; ++k) args.sums.as<double>()[k] += sums[k];
}

}  // namespace

void apply_mask(const ApplyMaskArgs& args, const Device&, Queue&) {
  const std::uint8_t* mask = args.mask.as<std::uint8_t>();
  const auto* columns = data_or_null<std::uint8_t>(args.keep_columns);
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < args.x.num_elements(); ++i) {
      const bool keep = mask[i] != 0 || (columns != nullptr && columns[i % args.x.cols()] != 0);
      args.y.as<T>()[i] = keep ? args.x.as<T>()[i] : T{0};
    }
  });
}

void mask_difference(const MaskDifferenceArgs& args, const Device&, Queue&) {
  double count = 0.0;
  for (std::int64_t i = 0; i < args.a.num_elements(); ++i)
    if (args.a.as<std::uint8_t>()[i] != args.b.as<std::uint8_t>()[i]) count += 1.0;
  *args.count.as<double>() = count;
}

void mask_mass(const MaskMassArgs& args, const Device&, Queue&) {
  std::fill_n(args.sums.as<double>(), 5, 0.0);
  const std::int64_t n = args.x.num_elements();
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < n; i += kRun) add_run<T>(args, i, std::min(i + kRun, n));
  });
}

void count_nonzero(const CountNonzeroArgs& args, const Device&, Queue&) {
  const std::int64_t C = args.x.cols();
  std::int32_t* counts = args.counts.as<std::int32_t>();
  std::fill_n(counts, C, 0);
  with_element_type(args.x.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < args.x.rows(); ++r)
      for (std::int64_t c = 0; c < C; ++c) counts[c] += args.x.as<T>()[r * C + c] != T{0};
  });
}

}  // namespace twill::reference
