// SPDX-License-Identifier: Apache-2.0
// FST, acceptance checks C2, C3, D1 and D2: packing, the gated activation, masked decay.
#include <cmath>

#include <gtest/gtest.h>

#include "ops/layers/activation.h"
#include "ops/packing/layout24.h"
#include "ops/packing/pack24.h"
#include "ops/update/masked_decay.h"
#include "papers/broken.h"
#include "papers/selection.h"

namespace twill {
namespace {

struct Packed {
  std::vector<float> values;
  Bytes nibbles;
};

// The packed form of w, or of its transpose.
Packed pack(const Context& context, const Matrix& w, const Bytes& mask, bool transpose = false) {
  const std::int64_t rows = transpose ? w.cols : w.rows, cols = transpose ? w.rows : w.cols;
  Packed packed{std::vector<float>(static_cast<std::size_t>(rows * cols / 2)),
                Bytes(static_cast<std::size_t>(rows * ((cols + 7) / 8)))};
  pack24(context, {.dense = w.view(),
                   .mask = view_of(mask.data(), w.shape()),
                   .values = view_of(packed.values.data(), {rows, cols / 2}),
                   .nibbles = view_of(packed.nibbles.data(), {rows, (cols + 7) / 8}),
                   .transpose = transpose});
  return packed;
}

std::vector<float> unpack(const Context& context, const Packed& packed, const Shape& shape,
                          bool transpose) {
  const std::int64_t rows = transpose ? shape.cols() : shape.rows();
  const std::int64_t cols = transpose ? shape.rows() : shape.cols();
  std::vector<float> dense(static_cast<std::size_t>(shape.num_elements()));
  unpack24(context, {.values = view_of(packed.values.data(), {rows, cols / 2}),
                     .nibbles = view_of(packed.nibbles.data(), {rows, (cols + 7) / 8}),
                     .dense = view_of(dense.data(), shape),
                     .transpose = transpose});
  return dense;
}

TEST(Fst_C2, PackThenUnpackIsExact) {
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 2);
    const Matrix w = normal_matrix(64, 100, 1);
    const Bytes mask = block_mask(context, w);
    std::vector<float> kept = w.x;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (mask[i] == 0) kept[i] = 0.0f;
    for (const bool transpose : {false, true}) {
      const Packed packed = pack(context, w, mask, transpose);
      EXPECT_EQ(unpack(context, packed, w.shape(), transpose), kept) << table->name;
    }
    const Matrix t = transposed(w);
    const Packed once = pack(context, w, mask, true);
    const Packed twice = pack(context, t, block_mask(context, t));
    EXPECT_EQ(once.values, twice.values);
    EXPECT_EQ(once.nibbles, twice.nibbles);
  }
}

TEST(Fst_C2, CodesOfTheSixMasks) {
  const Bytes mask{1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1};
  const Matrix w{1, 24, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                         12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}};
  for (const KernelTable* table : paper_tables()) {
    const Packed packed = pack(Context(*table, 1), w, mask);
    EXPECT_EQ(packed.nibbles, (Bytes{0x84, 0xC9, 0xED})) << table->name;
    EXPECT_EQ(packed.values, (std::vector<float>{0, 1, 4, 6, 9, 10, 12, 15, 17, 19, 22, 23}));
  }
}

TEST(Fst_C2, FirstGroupIsInTheLowNibble) {
  const Bytes mask{1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0};
  for (const KernelTable* table : paper_tables()) {
    const Packed packed = pack(Context(*table, 1), {1, 16, std::vector<float>(16, 1.0f)}, mask);
    ASSERT_EQ(packed.nibbles.size(), 2u);
    EXPECT_EQ(packed.nibbles[0] | packed.nibbles[1] << 8, 0x9E84) << table->name;
  }
}

TEST(Fst_C2, MetadataOffsets) {
  struct Place {
    std::int64_t row, word, offset;
  };
  for (const Place& p : {Place{0, 0, 0}, Place{0, 1, 2}, Place{1, 0, 8}, Place{1, 1, 10},
                         Place{8, 0, 1}, Place{8, 1, 3}, Place{31, 3, 191}, Place{63, 3, 255}})
    EXPECT_EQ(meta_offset(kMetaLayout16Bit, 64, p.row, p.word), p.offset) << p.row << ' ' << p.word;
  for (const Place& p :
       {Place{0, 1, 2}, Place{1, 0, 4}, Place{8, 0, 1}, Place{15, 1, 31}, Place{31, 1, 63}})
    EXPECT_EQ(meta_offset(kMetaLayout8Bit, 32, p.row, p.word), p.offset) << p.row << ' ' << p.word;
}

TEST(Fst_C3, TanhGeluAndItsSlope) {
  const std::vector<float> g{-1.0f, 0.0f, 0.5f, 1.0f, 2.0f}, ones(5, 1.0f);
  const double want[] = {-0.158808, 0.0, 0.345714, 0.841192, 1.954598};
  const double slope[] = {-0.082964, 0.5, 0.867370, 1.082964, 1.086099};
  const Shape shape{1, 5};
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    std::vector<float> y(5), dx(5);
    activation_forward(context, {.kind = Activation::kGeluTanh,
                                 .x = view_of(g.data(), shape),
                                 .y = view_of(y.data(), shape)});
    activation_backward(context, {.kind = Activation::kGeluTanh,
                                  .x = view_of(g.data(), shape),
                                  .dy = view_of(ones.data(), shape),
                                  .dx = view_of(dx.data(), shape)});
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(y[i], want[i], 1e-6) << g[i];
      EXPECT_NEAR(dx[i], slope[i], 1e-6) << g[i];
    }
  }
}

TEST(Fst_C3, ValueHalfComesFirst) {
  const std::vector<float> x{2.0f, 3.0f, 1.0f, -1.0f}, dy{1.0f, 1.0f};  // values 2 3, gates 1 -1
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    std::vector<float> y(2), dx(4);
    activation_forward(context, {.kind = Activation::kGegluTanh,
                                 .x = view_of(x.data(), {1, 4}),
                                 .y = view_of(y.data(), {1, 2})});
    activation_backward(context, {.kind = Activation::kGegluTanh,
                                  .x = view_of(x.data(), {1, 4}),
                                  .dy = view_of(dy.data(), {1, 2}),
                                  .dx = view_of(dx.data(), {1, 4})});
    EXPECT_NEAR(y[0], 2.0 * 0.841192, 2e-6);
    EXPECT_NEAR(y[1], 3.0 * -0.158808, 3e-6);
    EXPECT_NEAR(dx[0], 0.841192, 1e-6);        // d value = GELU_tanh(gate)
    EXPECT_NEAR(dx[2], 2.0 * 1.082964, 2e-6);  // d gate = value GELU_tanh'(gate)
    EXPECT_NEAR(dx[1], -0.158808, 1e-6);
    EXPECT_NEAR(dx[3], 3.0 * -0.082964, 3e-6);
  }
}

TEST(Fst_D1, LiteralValues) {
  const std::vector<float> w{0.5f, -0.25f, 0.125f, -0.75f};
  const Bytes mask{1, 0, 0, 1};
  for (const KernelTable* table : paper_tables()) {
    std::vector<float> dw{1, 2, -3, 4}, clipped = dw;
    const auto decay = [&](std::vector<float>& target, double scale) {
      masked_decay(Context(*table, 1), {.target = view_of(target.data(), {4}),
                                        .weight = view_of(w.data(), {4}),
                                        .mask = view_of(mask.data(), {4}),
                                        .scale = scale,
                                        .rate = 0.5});
    };
    decay(dw, 1.0);
    EXPECT_EQ(dw, (std::vector<float>{1.0f, 1.875f, -2.9375f, 4.0f})) << table->name;
    decay(clipped, 0.5);  // the pull comes after clipping, so it is not scaled
    EXPECT_EQ(clipped, (std::vector<float>{0.5f, 0.875f, -1.4375f, 2.0f})) << table->name;
  }
}

TEST(Fst_D2, PrunedWeightsShrinkUnderPlainSgd) {
  const float lr = 0.1f, lambda = 0.25f;
  for (const KernelTable* table : paper_tables()) {
    const Context context(*table, 1);
    const Matrix start = normal_matrix(8, 16, 1);
    const Bytes mask = block_mask(context, start);
    std::vector<float> w = start.x;
    for (int step = 0; step < 20; ++step) {
      std::vector<float> grad(w.size());
      masked_decay(context, {.target = view_of(grad.data(), start.shape()),
                             .weight = view_of(w.data(), start.shape()),
                             .mask = view_of(mask.data(), start.shape()),
                             .rate = lambda});
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= lr * grad[i];
    }
    const double shrink = std::pow(1.0 - 0.1 * 0.25, 20);
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (mask[i] != 0) {
        EXPECT_EQ(w[i], start.x[i]) << i;
      } else {
        EXPECT_NEAR(w[i], shrink * start.x[i], 1e-5 * std::abs(start.x[i])) << i;
      }
    }
  }
}

}  // namespace
}  // namespace twill
