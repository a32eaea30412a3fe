// SPDX-License-Identifier: Apache-2.0
// Bytes and FLOPs of every op, worked out by hand: sizes are small and different primes, so that no
// operand can stand in for another.
#include "ops/moved_bytes.h"

#include <array>

#include <gtest/gtest.h>

#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/layers/activation.h"
#include "ops/layers/cross_entropy.h"
#include "ops/layers/dropout.h"
#include "ops/layers/embedding.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/fp8.h"
#include "ops/numbers/sum.h"
#include "ops/numbers/sum_squares.h"
#include "ops/packing/activation_sample.h"
#include "ops/packing/pack24.h"
#include "ops/packing/pack_both.h"
#include "ops/packing/packed_matrix.h"
#include "ops/packing/soft_pack24.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/topology.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "ops/update/moment_change.h"
#include "ops/update/update_all.h"

namespace twill {
namespace {

// Nothing is read through it: only the shape counts, and that there is something.
std::byte somewhere;

View f32(Shape shape) { return {&somewhere, DType::kF32, shape}; }
View bf16(Shape shape) { return {&somewhere, DType::kBf16, shape}; }
View f64(Shape shape) { return {&somewhere, DType::kF64, shape}; }
View i32(Shape shape) { return {&somewhere, DType::kI32, shape}; }
View u8(Shape shape) { return {&somewhere, DType::kU8, shape}; }

TEST(MovedBytes, Activations) {
  // A gated one reads twice as wide as it writes.
  EXPECT_EQ(moved_bytes(ActivationForwardArgs{.x = bf16({3, 14}), .y = bf16({3, 7})}), 84 + 42);
  EXPECT_EQ(moved_bytes(
                ActivationForwardArgs{.x = bf16({3, 7}), .y = bf16({3, 7}), .slope = bf16({3, 7})}),
            3 * 42);
  EXPECT_EQ(
      moved_bytes(ActivationBackwardArgs{.x = f32({3, 14}), .dy = f32({3, 7}), .dx = f32({3, 14})}),
      168 + 84 + 168);
}

TEST(MovedBytes, Adamw) {
  AdamwArgs args{.weight = f32({5}), .grad = f32({5}), .m = f32({5}), .v = f32({5})};
  EXPECT_EQ(moved_bytes(args), 20 * (2 + 1 + 2 + 2));
  args.operand = bf16({5});
  EXPECT_EQ(moved_bytes(args), 140 + 10);
  args.freeze_v = true;
  EXPECT_EQ(moved_bytes(args), 150 - 20) << "v is only read";
}

TEST(MovedBytes, UpdateOfAllTensors) {
  const std::array<UpdateTensor, 2> tensors{
      UpdateTensor{.weight = f32({5}), .grad = f32({5}), .m = f32({5}), .v = f32({5})},
      UpdateTensor{.weight = f32({3, 2}),
                   .grad = f32({3, 2}),
                   .m = f32({3, 2}),
                   .v = f32({3, 2}),
                   .operand = bf16({3, 2})}};
  EXPECT_EQ(moved_bytes(AdamwAllArgs{.tensors = tensors,
                                     .table = u8({128}),
                                     .norm2 = f64({1}),
                                     .scalars = f64({kUpdateScalars})}),
            140 + 7 * 24 + 12);
  EXPECT_EQ(moved_bytes(NormAllArgs{.tensors = tensors,
                                    .table = u8({128}),
                                    .norm2 = f64({1}),
                                    .partials = f64({kNormPartials})}),
            20 + 24 + 8);
  EXPECT_EQ(moved_bytes(PrepareUpdateArgs{.tensors = tensors, .table = u8({128})}), 128);
}

TEST(MovedBytes, Attention) {
  // B 2, T 3, H 4, K 1, D 8: qkv has six heads.
  const auto [q, k, v] = split_qkv(bf16({2, 3, 6, 8}), 4);
  const AttentionForwardArgs forward{.q = q,
                                     .k = k,
                                     .v = v,
                                     .out = bf16({2, 3, 4, 8}),
                                     .lse = f32({2, 4, 3}),
                                     .workspace = u8({1000})};
  EXPECT_EQ(moved_bytes(forward), 576 + 384 + 96);
  EXPECT_EQ(counted_flops(forward), 4.0 * 2 * 4 * 8 * 6) << "six of nine pairs are visible";
  const AttentionBackwardArgs backward{.q = q,
                                       .k = k,
                                       .v = v,
                                       .out = bf16({2, 3, 4, 8}),
                                       .lse = f32({2, 4, 3}),
                                       .dout = bf16({2, 3, 4, 8}),
                                       .dq = q,
                                       .dk = k,
                                       .dv = v,
                                       .workspace = u8({1000})};
  EXPECT_EQ(moved_bytes(backward), 576 + 384 + 96 + 384 + 576);
  EXPECT_EQ(counted_flops(backward), 2.5 * counted_flops(forward));
  AttentionForwardArgs local = forward;
  local.mask = {AttentionPattern::kLocal, 2};
  EXPECT_EQ(counted_flops(local), 4.0 * 2 * 4 * 8 * 5) << "the pair (2, 0) is hidden";

  // Three queries look at five keys of another buffer; lengths are values and change no count.
  AttentionForwardArgs cross = forward;
  cross.k = cross.v = bf16({2, 5, 1, 8});
  cross.mask.kind = AttentionPattern::kFull;
  cross.key_lengths = i32({2});
  EXPECT_EQ(moved_bytes(cross), 384 + 2 * 160 + 384 + 96 + 8);
  EXPECT_EQ(counted_flops(cross), 4.0 * 2 * 4 * 8 * 15);
  cross.mask.kind = AttentionPattern::kCausal;
  EXPECT_EQ(counted_flops(cross), 4.0 * 2 * 4 * 8 * 6) << "the first three keys";
}

TEST(MovedBytes, CachedAttention) {
  // Two new tokens behind three, in a cache of eleven: H 4, K 1, D 8.
  CachedAttentionArgs args{
      .qkv = f32({2, 6, 8}), .keys = f32({11, 1, 8}), .values = f32({11, 1, 8}), .past = 3};
  EXPECT_EQ(moved_bytes(args), 384 + 2 * 2 * 32) << "only stored";
  args.out = f32({2, 4, 8});
  EXPECT_EQ(moved_bytes(args), 384 + 2 * 2 * 32 + 2 * 5 * 32 + 256);
}

TEST(MovedBytes, SumsCastsAndFills) {
  EXPECT_EQ(moved_bytes(CastArgs{.x = f32({7}), .y = bf16({7})}), 28 + 14);
  EXPECT_EQ(moved_bytes(ColumnSumArgs{.x = bf16({5, 7}), .sum = f32({7})}), 70 + 28);
  EXPECT_EQ(moved_bytes(ColumnSumArgs{.x = bf16({5, 7}), .sum = f32({7}), .accumulate = true}),
            70 + 56);
  EXPECT_EQ(moved_bytes(SumArgs{.x = f32({5}), .sum = f64({1})}), 20 + 8);
  EXPECT_EQ(moved_bytes(SumArgs{.x = f32({5}), .sum = f64({1}), .accumulate = true}), 20 + 16);
  EXPECT_EQ(moved_bytes(SumSquaresArgs{.x = f32({5}), .sum = f64({1})}), 20 + 8);
  EXPECT_EQ(moved_bytes(FillArgs{.x = f32({5, 7})}), 140);
}

TEST(MovedBytes, CrossEntropy) {
  CrossEntropyArgs args{.logits = bf16({3, 11}), .targets = i32({3}), .loss = f32({3})};
  EXPECT_EQ(moved_bytes(args), 66 + 12 + 12);
  args.dlogits = bf16({3, 11});
  args.best = i32({3});
  EXPECT_EQ(moved_bytes(args), 90 + 66 + 12);
}

TEST(MovedBytes, Dropout) {
  EXPECT_EQ(moved_bytes(DropoutArgs{.x = f32({7}), .y = f32({7})}), 56);
  EXPECT_EQ(moved_bytes(DropoutArgs{.x = f32({7}), .addend = f32({7}), .y = f32({7})}), 84);
}

TEST(MovedBytes, EmbeddingCountsRowsNotTables) {
  // Six tokens of width 5: of a table of 1000 rows they reach six, of one of four rows four.
  EmbeddingForwardArgs forward{
      .tokens = i32({2, 3}), .token_table = bf16({1000, 5}), .out = bf16({2, 3, 5})};
  EXPECT_EQ(moved_bytes(forward), 24 + 60 + 6 * 10);
  forward.token_table = bf16({4, 5});
  EXPECT_EQ(moved_bytes(forward), 24 + 60 + 4 * 10);
  forward.position_table = bf16({64, 5});
  EXPECT_EQ(moved_bytes(forward), 24 + 60 + 4 * 10 + 3 * 10);
  EmbeddingBackwardArgs backward{
      .tokens = i32({2, 3}), .dout = bf16({2, 3, 5}), .dtoken_table = f32({1000, 5})};
  EXPECT_EQ(moved_bytes(backward), 24 + 60 + 2 * 6 * 20);
  backward.dposition_table = f32({64, 5});
  EXPECT_EQ(moved_bytes(backward), 24 + 60 + 2 * 6 * 20 + 2 * 3 * 20);
}

TEST(MovedBytes, Gemm) {
  GemmArgs args{.a = bf16({3, 7}), .b = bf16({5, 7}), .c = f32({3, 5}), .trans_b = true};
  EXPECT_EQ(moved_bytes(args), 42 + 70 + 60);
  EXPECT_EQ(counted_flops(args), 2.0 * 3 * 5 * 7);
  args.accumulate = true;
  EXPECT_EQ(moved_bytes(args), 42 + 70 + 120);
  args.bias = bf16({5});
  args.addend = f32({3, 5});
  args.before = f32({3, 5});
  EXPECT_EQ(moved_bytes(args), 232 + 10 + 60 + 60);
  const GemmArgs turned{.a = f32({7, 3}), .b = f32({7, 5}), .c = f32({3, 5}), .trans_a = true};
  EXPECT_EQ(counted_flops(turned), 2.0 * 3 * 5 * 7);
}

TEST(MovedBytes, Norms) {
  LayerNormForwardArgs layer{.x = bf16({3, 7}),
                             .weight = bf16({7}),
                             .y = bf16({3, 7}),
                             .mean = f32({3}),
                             .rstd = f32({3})};
  EXPECT_EQ(moved_bytes(layer), 42 + 14 + 42 + 12 + 12);
  layer.bias = bf16({7});
  EXPECT_EQ(moved_bytes(layer), 122 + 14);
  LayerNormBackwardArgs back{.x = bf16({3, 7}),
                             .weight = bf16({7}),
                             .mean = f32({3}),
                             .rstd = f32({3}),
                             .dy = bf16({3, 7}),
                             .dx = bf16({3, 7}),
                             .dweight = f32({7})};
  EXPECT_EQ(moved_bytes(back), 42 + 14 + 12 + 12 + 42 + 42 + 28);
  back.accumulate_dx = true;
  back.dbias = f32({7});
  back.dx_sum = f32({7});
  EXPECT_EQ(moved_bytes(back), 192 + 42 + 2 * 28);
  back.accumulate = true;
  EXPECT_EQ(moved_bytes(back), 192 + 42 + 2 * 28 + 3 * 28);
  EXPECT_EQ(moved_bytes(RmsNormForwardArgs{
                .x = f32({3, 7}), .weight = f32({7}), .y = f32({3, 7}), .rstd = f32({3})}),
            84 + 28 + 84 + 12);
  RmsNormBackwardArgs rms{.x = f32({3, 7}),
                          .weight = f32({7}),
                          .rstd = f32({3}),
                          .dy = f32({3, 7}),
                          .dx = f32({3, 7}),
                          .dweight = f32({7})};
  EXPECT_EQ(moved_bytes(rms), 84 + 28 + 12 + 84 + 84 + 28);
  rms.accumulate_dx = true;
  EXPECT_EQ(moved_bytes(rms), 320 + 84);
  rms.dx_sum = f32({7});
  rms.accumulate = true;
  EXPECT_EQ(moved_bytes(rms), 320 + 84 + 28 + 2 * 28);
}

TEST(MovedBytes, RotaryTurnsSomeHeads) {
  EXPECT_EQ(moved_bytes(RotaryArgs{.x = bf16({2, 3, 6, 8}), .num_rotated = 5}), 2 * 2 * 3 * 5 * 16);
}

TEST(MovedBytes, Masks) {
  ApplyMaskArgs apply{.x = f32({4, 8}), .mask = u8({4, 8}), .y = f32({4, 8})};
  EXPECT_EQ(moved_bytes(apply), 128 + 32 + 128);
  apply.keep_columns = u8({8});
  EXPECT_EQ(moved_bytes(apply), 288 + 8);
  EXPECT_EQ(moved_bytes(MaskDifferenceArgs{.a = u8({32}), .b = u8({32}), .count = f64({1})}), 72);
  EXPECT_EQ(moved_bytes(MaskMassArgs{.x = f32({32}), .mask = u8({32}), .sums = f64({5})}), 200);
  EXPECT_EQ(moved_bytes(CountNonzeroArgs{.x = f32({4, 8}), .counts = i32({8})}), 160);
  EXPECT_EQ(
      moved_bytes(MaskedDecayArgs{.target = f32({32}), .weight = f32({32}), .mask = u8({32})}),
      256 + 128 + 32);
  EXPECT_EQ(moved_bytes(MomentChangeArgs{.grad = f32({32}), .v = f32({32}), .sum = f64({1})}), 264);
}

TEST(MovedBytes, Selections) {
  EXPECT_EQ(moved_bytes(Select24Args{.x = f32({4, 8}), .mask = u8({4, 8})}), 160);
  EXPECT_EQ(moved_bytes(Transposable24Args{.x = f32({4, 8}), .mask = u8({4, 8})}), 160);
  EXPECT_EQ(moved_bytes(Fp8RoundArgs{.x = f32({32}), .y = f32({32})}), 256);
  EXPECT_EQ(moved_bytes(SoftThreshold24Args{.x = f32({32}), .y = f32({32})}), 256);
  EXPECT_EQ(moved_bytes(SoftThreshold24SumsArgs{.x = f32({32}), .sums = f64({4})}), 160);
  EXPECT_EQ(moved_bytes(Mvue24Args{.x = f32({32}), .y = f32({32})}), 256);
  EXPECT_EQ(moved_bytes(Mvue24Args{.x = f32({32}), .y = f32({32}), .mask = u8({32})}), 288);
  EXPECT_EQ(
      moved_bytes(Pack24Args{
          .dense = f32({4, 8}), .mask = u8({4, 8}), .values = f32({4, 4}), .nibbles = u8({4, 1})}),
      128 + 32 + 64 + 4);
  EXPECT_EQ(
      moved_bytes(Unpack24Args{.values = f32({4, 4}), .nibbles = u8({4, 1}), .dense = f32({4, 8})}),
      64 + 4 + 128);
  VenomSelectArgs venom{.x = f32({4, 8}), .mask = u8({4, 8})};
  EXPECT_EQ(moved_bytes(venom), 160);
  venom.row_order = i32({4});
  venom.column_order = i32({8});
  venom.mass = f64({3});
  EXPECT_EQ(moved_bytes(venom), 160 + 16 + 32 + 24);
}

TEST(MovedBytes, RoutesAndTopologies) {
  EXPECT_EQ(
      moved_bytes(ClusterEnergyArgs{.a = f32({5, 8}), .cluster = i32({8}), .score = f32({5, 2})}),
      160 + 32 + 40);
  RouteTokensArgs route{.score = f32({5, 2}), .order = i32({5})};
  EXPECT_EQ(moved_bytes(route), 60);
  route.route = i32({5});
  route.dealt = i32({5});
  EXPECT_EQ(moved_bytes(route), 100);
  TopologyUpdateArgs topology{.mask = u8({32}), .grown = u8({32})};
  EXPECT_EQ(moved_bytes(topology), 64 + 32) << "a random topology has no weight";
  topology.weight = f32({32});
  topology.grad = f32({32});
  EXPECT_EQ(moved_bytes(topology), 96 + 256 + 128);
  EXPECT_EQ(moved_bytes(RegrowMomentsArgs{
                .m = f32({32}), .v = f32({32}), .mask = u8({32}), .grown = u8({32})}),
            512 + 64);
}

TEST(MovedBytes, PackedProducts) {
  // P is 5 x 7 with eleven entries; all of its storage is read or written.
  const PackedMatrix packed{.shape = {.rows = 5, .cols = 7}, .storage = u8({192}), .kept = 11};
  PackMatrixArgs pack{.dense = f32({5, 7}), .shape = packed.shape, .storage = u8({192})};
  EXPECT_EQ(moved_bytes(pack), 140 + 192);
  pack.mask = u8({5, 7});
  EXPECT_EQ(moved_bytes(pack), 140 + 35 + 192);
  PackBothArgs both{.dense = f32({5, 7}),
                    .shape = packed.shape,
                    .storage = u8({192}),
                    .shape_transposed = {.rows = 7, .cols = 5},
                    .storage_transposed = u8({128})};
  EXPECT_EQ(moved_bytes(both), 140 + 192 + 128) << "the matrix is read once";
  both.mask = u8({5, 7});
  EXPECT_EQ(moved_bytes(both), 140 + 35 + 192 + 128);
  both.same_mask = pack.same_mask = true;
  EXPECT_EQ(moved_bytes(both), 140 + 192 + 128) << "the mask may stay unread";
  const PackBothArgs twice[] = {both, both};
  EXPECT_EQ(moved_bytes(PackWeightsArgs{.weights = twice}), 2 * (140 + 192 + 128));
  EXPECT_EQ(moved_bytes(pack), 140 + 192);
  pack.same_mask = false;
  SoftPack24Args soft{
      .x = f32({5, 8}), .projected = bf16({5, 8}), .shape = packed.shape, .storage = u8({192})};
  EXPECT_EQ(moved_bytes(soft), 160 + 80 + 192);
  soft.keeps_projected = false;
  EXPECT_EQ(moved_bytes(soft), 160 + 192) << "scratch is nobody's business";
  EXPECT_EQ(moved_bytes(UnpackMatrixArgs{.packed = packed, .dense = f32({5, 7})}), 192 + 140);
  TimesPackedArgs left{.x = f32({3, 7}), .packed = packed, .c = f32({3, 5})};
  EXPECT_EQ(moved_bytes(left), 84 + 192 + 60);
  EXPECT_EQ(counted_flops(left), 2.0 * 3 * 11);
  left.bias = f32({5});
  left.addend = f32({3, 5});
  left.before = f32({3, 5});
  EXPECT_EQ(moved_bytes(left), 336 + 20 + 60 + 60);
  EXPECT_EQ(counted_flops(left), 2.0 * 3 * 11);
  PackedTimesArgs right{.packed = packed, .b = f32({7, 3}), .c = f32({5, 3})};
  EXPECT_EQ(moved_bytes(right), 192 + 84 + 60);
  EXPECT_EQ(counted_flops(right), 2.0 * 11 * 3);
  right.accumulate = true;
  EXPECT_EQ(moved_bytes(right), 336 + 60);
}

TEST(MovedBytes, PackedSamples) {
  PackSampleArgs pack{
      .x = bf16({8, 16}), .sample = bf16({8, 16}), .shape = {}, .storage = u8({192})};
  EXPECT_EQ(moved_bytes(pack), 256 + 192) << "the scratch is nobody's business";
  pack.sum = f32({16});
  EXPECT_EQ(moved_bytes(pack), 256 + 192 + 64);
  // What is packed is dx, and counts once.
  ActivationSampleArgs both{
      .activation = {.x = bf16({8, 16}), .dy = bf16({8, 8}), .dx = bf16({8, 16})}, .pack = pack};
  EXPECT_EQ(moved_bytes(both), 256 + 128 + 256 + 192 + 64);
  both.pack.accumulate = true;
  EXPECT_EQ(moved_bytes(both), 896 + 64);
}

TEST(MovedBytes, KeptEntries) {
  // Eleven of 5 x 7: of the dense matrix only they are read or written.
  const KeptPositions kept{.row_begin = i32({6}), .column = i32({11})};
  EXPECT_EQ(
      moved_bytes(FindKeptArgs{.mask = u8({5, 7}), .row_begin = i32({6}), .column = i32({11})}),
      35 + 24 + 44);
  EXPECT_EQ(moved_bytes(GatherKeptArgs{.dense = f32({5, 7}), .kept = kept, .values = f32({11})}),
            24 + 44 + 2 * 44);
  EXPECT_EQ(moved_bytes(ScatterKeptArgs{.values = f32({11}), .kept = kept, .dense = f32({5, 7})}),
            24 + 44 + 2 * 44);
  KeptGradientArgs gradient{.dy = f32({3, 5}), .x = f32({3, 7}), .kept = kept, .values = f32({11})};
  EXPECT_EQ(moved_bytes(gradient), 60 + 84 + 24 + 44 + 44);
  EXPECT_EQ(counted_flops(gradient), 2.0 * 3 * 11);
  gradient.accumulate = true;
  EXPECT_EQ(moved_bytes(gradient), 256 + 44);
}

TEST(MovedBytes, WorkOfAnOpIsBoth) {
  const OpWork product = work_of(GemmArgs{.a = f32({3, 7}), .b = f32({7, 5}), .c = f32({3, 5})});
  EXPECT_EQ(product.bytes, 84 + 140 + 60);
  EXPECT_EQ(product.flops, 210.0);
  EXPECT_EQ(work_of(FillArgs{.x = f32({5})}).flops, 0.0);
  const PackedMatrix packed{.shape = {.rows = 5, .cols = 7}, .storage = u8({192}), .kept = 11};
  const OpWork sparse =
      work_of(TimesPackedArgs{.x = f32({3, 7}), .packed = packed, .c = f32({3, 5})});
  EXPECT_EQ(sparse.bytes, 84 + 192 + 60);
  EXPECT_EQ(sparse.flops, 66.0);
}

}  // namespace
}  // namespace twill
