// SPDX-License-Identifier: Apache-2.0
#include "measure/packed_weight.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "measure/random_fill.h"

namespace twill {
namespace {

// Of what it unpacks to: the weight where the mask is set, transposed where that is asked for.
TEST(PackedWeight, HoldsTheWeightUnderItsMask) {
  const Context context(cpu_table(), 1);
  constexpr std::int64_t kRows = 8, kCols = 12;
  Tensor weight = uniform_matrix(context, DType::kF32, {kRows, kCols}, 1);
  Tensor mask(DType::kU8, {kRows, kCols});
  auto* kept = mask.view().as<std::uint8_t>();
  for (std::int64_t i = 0; i < kRows * kCols; ++i) kept[i] = i % 3 == 0 ? 1 : 0;
  for (const bool transpose : {false, true}) {
    PackedWeight packed(context, {.transpose = transpose, .kept = kRows * kCols / 3}, weight.view(),
                        mask.view());
    for (const bool again : {false, true}) {
      if (again) {
        weight.view().as<float>()[0] = 5.0f;
        packed.pack(/*same_mask=*/true);
      }
      Tensor dense(DType::kF32, {transpose ? kCols : kRows, transpose ? kRows : kCols});
      unpack_matrix(context, {.packed = packed.matrix(), .dense = dense.view()});
      for (std::int64_t r = 0; r < kRows; ++r)
        for (std::int64_t c = 0; c < kCols; ++c) {
          const std::int64_t at = r * kCols + c;
          const float expected = kept[at] != 0 ? weight.view().as<float>()[at] : 0.0f;
          ASSERT_EQ(dense.view().as<float>()[transpose ? c * kRows + r : at], expected);
        }
    }
  }
}

}  // namespace
}  // namespace twill
