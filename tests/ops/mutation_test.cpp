// SPDX-License-Identifier: Apache-2.0
// The trial of the checks: each mutation breaks one kernel of the reference table the way kernels
// break in practice, and the check of that op has to notice.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/checks.h"
#include "ops/layers/activation.h"
#include "ops/layers/cross_entropy.h"
#include "ops/layers/dropout.h"
#include "ops/layers/embedding.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/mutation.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/sum_squares.h"
#include "ops/products/gemm.h"
#include "ops/selection/mask.h"
#include "ops/selection/transposable24.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"

namespace twill {
namespace {

void activation_without_tail(const ActivationForwardArgs& args, const Device& d, Queue& q) {
  const bool has_tail = args.y.num_elements() % 8 != 0;
  const float last = has_tail ? floats(args.y).back() : 0.0f;
  reference_table().activation_forward(args, d, q);
  if (has_tail) floats(args.y).back() = last;
}

void activation_with_swapped_halves(const ActivationBackwardArgs& args, const Device& d, Queue& q) {
  reference_table().activation_backward(args, d, q);
  if (!is_gated(args.kind)) return;
  const std::int64_t F = args.dy.cols();
  float* dx = args.dx.as<float>();
  for (std::int64_t r = 0; r < args.dx.rows(); ++r)
    std::swap_ranges(dx + 2 * r * F, dx + (2 * r + 1) * F, dx + (2 * r + 1) * F);
}

void dropout_scaled_in_double(const DropoutArgs& args, const Device& d, Queue& q) {
  const std::vector<float> x = copy_of<float>(args.x);
  reference_table().dropout(args, d, q);
  if (args.addend) return;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (floats(args.y)[i] != 0.0f) floats(args.y)[i] = static_cast<float>(x[i] / (1.0 - args.p));
}

const Mutation kElementwise[] = {
    {"ActivationDropsTail", check_activation_forward,
     replace<&KernelTable::activation_forward, activation_without_tail>},
    {"ActivationTakesTanhForErf", check_activation_forward,
     change<&KernelTable::activation_forward,
            [](ActivationForwardArgs& args) {
              if (args.kind == Activation::kGelu) args.kind = Activation::kGeluTanh;
            }>},
    {"ActivationSwapsGateAndValue", check_activation_backward,
     replace<&KernelTable::activation_backward, activation_with_swapped_halves>},
    {"AdamwForgetsBiasCorrection", check_adamw,
     change<&KernelTable::adamw, [](AdamwArgs& args) { args.step = 1'000'000; }>},
    {"AdamwForgetsGradScale", check_adamw,
     change<&KernelTable::adamw, [](AdamwArgs& args) { args.grad_scale = 1.0; }>},
    {"AdamwForgetsWeightDecay", check_adamw,
     change<&KernelTable::adamw, [](AdamwArgs& args) { args.weight_decay = 0.0; }>},
    {"DropoutScalesInDouble", check_dropout,
     replace<&KernelTable::dropout, dropout_scaled_in_double>},
    {"DropoutUsesAnotherStream", check_dropout,
     change<&KernelTable::dropout, [](DropoutArgs& args) { args.stream += 1; }>},
    {"DropoutForgetsAddend", check_dropout,
     change<&KernelTable::dropout, [](DropoutArgs& args) { args.addend = {}; }>},
    {"FillLosesTheSignOfZero", check_fill,
     change<&KernelTable::fill, [](FillArgs& args) { args.value += 0.0; }>},
    {"RotaryFlipsTheSign", check_rotary,
     change<&KernelTable::rotary, [](RotaryArgs& args) { args.inverse = !args.inverse; }>},
    {"RotaryTurnsValuesToo", check_rotary,
     change<&KernelTable::rotary, [](RotaryArgs& args) { args.num_rotated = args.x.shape()[2]; }>},
    {"RotaryStartsAtZero", check_rotary,
     change<&KernelTable::rotary, [](RotaryArgs& args) { args.first_position = 0; }>},
    {"RotaryRoundsTheBase", check_rotary,
     change<&KernelTable::rotary, [](RotaryArgs& args) { args.theta *= 1.0 + 1e-6; }>},
};

void gemm_in_bf16(const GemmArgs& args, const Device& d, Queue& q) {
  std::vector<float> a = copy_of<float>(args.a);
  for (float& v : a) v = to_float(to_bf16(v));
  GemmArgs broken = args;
  broken.a = view_of(a.data(), args.a.shape());
  reference_table().gemm(broken, d, q);
}

void gemm_without_last_term(const GemmArgs& args, const Device& d, Queue& q) {
  std::vector<float> a = copy_of<float>(args.a);
  if (args.k() % 8 == 1 && !a.empty()) a.back() = 0.0f;
  GemmArgs broken = args;
  broken.a = view_of(a.data(), args.a.shape());
  reference_table().gemm(broken, d, q);
}

void column_sum_by_threads(const ColumnSumArgs& args, const Device& d, Queue& q) {
  reference_table().column_sum(args, d, q);
  if (d.num_threads == 1) return;
  for (float& sum : floats(args.sum)) sum = std::nextafter(sum, 2.0f * sum);
}

void sum_squares_in_float(const SumSquaresArgs& args, const Device&, Queue&) {
  float sum = 0.0f;
  for (const float v : floats(args.x)) sum += v * v;
  args.sum.as<double>()[0] = sum;
}

void embedding_with_shifted_positions(const EmbeddingForwardArgs& args, const Device& d, Queue& q) {
  EmbeddingForwardArgs broken = args;
  const ConstView& positions = args.position_table;
  if (positions && positions.rows() > args.tokens.cols())
    broken.position_table = positions.row_range(1, positions.rows() - 1);
  reference_table().embedding_forward(broken, d, q);
}

void embedding_gradient_that_overwrites(const EmbeddingBackwardArgs& args, const Device& d,
                                        Queue& q) {
  std::ranges::fill(floats(args.dtoken_table), 0.0f);
  reference_table().embedding_backward(args, d, q);
}

const Mutation kSums[] = {
    {"ColumnSumForgetsToAccumulate", check_column_sum,
     change<&KernelTable::column_sum, [](ColumnSumArgs& args) { args.accumulate = false; }>},
    {"ColumnSumDependsOnThreads", check_column_sum,
     replace<&KernelTable::column_sum, column_sum_by_threads>, /*threads=*/2},
    {"GemmForgetsBias", check_gemm,
     change<&KernelTable::gemm, [](GemmArgs& args) { args.bias = {}; }>},
    {"GemmForgetsAddend", check_gemm,
     change<&KernelTable::gemm, [](GemmArgs& args) { args.addend = {}; }>},
    {"GemmForgetsToAccumulate", check_gemm,
     change<&KernelTable::gemm, [](GemmArgs& args) { args.accumulate = false; }>},
    {"GemmRoundsToBf16", check_gemm, replace<&KernelTable::gemm, gemm_in_bf16>},
    {"GemmDropsTheLastTerm", check_gemm, replace<&KernelTable::gemm, gemm_without_last_term>},
    {"SumSquaresAccumulatesInFloat", check_sum_squares,
     replace<&KernelTable::sum_squares, sum_squares_in_float>},
    {"EmbeddingStartsAtZero", check_embedding_forward,
     change<&KernelTable::embedding_forward,
            [](EmbeddingForwardArgs& args) { args.first_position = 0; }>},
    {"EmbeddingShiftsPositions", check_embedding_forward,
     replace<&KernelTable::embedding_forward, embedding_with_shifted_positions>},
    {"EmbeddingGradientOverwrites", check_embedding_backward,
     replace<&KernelTable::embedding_backward, embedding_gradient_that_overwrites>},
};

// E[x²] - E[x]² in f32: fine for small offsets only.
void one_pass_layer_norm(const LayerNormForwardArgs& args, const Device& d, Queue& q) {
  reference_table().layer_norm_forward(args, d, q);
  const std::int64_t C = args.x.cols();
  for (std::int64_t r = 0; r < args.x.rows(); ++r) {
    float sum = 0.0f, squares = 0.0f;
    for (const float x : floats(args.x.row_range(r, 1))) sum += x, squares += x * x;
    const float mean = sum / static_cast<float>(C);
    const float variance = squares / static_cast<float>(C) - mean * mean;
    args.rstd.as<float>()[r] = 1.0f / std::sqrt(variance + static_cast<float>(args.eps));
  }
}

void layer_norm_gradient_that_overwrites(const LayerNormBackwardArgs& args, const Device& d,
                                         Queue& q) {
  std::ranges::fill(floats(args.dweight), 0.0f);
  reference_table().layer_norm_backward(args, d, q);
}

const Mutation kNorms[] = {
    {"LayerNormForgetsBias", check_layer_norm_forward,
     change<&KernelTable::layer_norm_forward, [](LayerNormForwardArgs& args) { args.bias = {}; }>},
    {"LayerNormDoublesEps", check_layer_norm_forward,
     change<&KernelTable::layer_norm_forward, [](LayerNormForwardArgs& args) { args.eps *= 2.0; }>},
    {"LayerNormTakesVarianceInOnePass", check_layer_norm_forward,
     replace<&KernelTable::layer_norm_forward, one_pass_layer_norm>},
    {"LayerNormGradientForgetsToAccumulate", check_layer_norm_backward,
     change<&KernelTable::layer_norm_backward,
            [](LayerNormBackwardArgs& args) { args.accumulate_dx = false; }>},
    {"LayerNormGradientOverwritesDweight", check_layer_norm_backward,
     replace<&KernelTable::layer_norm_backward, layer_norm_gradient_that_overwrites>},
    {"LayerNormGradientForgetsDxSum", check_layer_norm_backward,
     change<&KernelTable::layer_norm_backward,
            [](LayerNormBackwardArgs& args) { args.dx_sum = {}; }>},
    {"RmsNormGradientAlwaysAdds", check_rms_norm_backward,
     change<&KernelTable::rms_norm_backward,
            [](RmsNormBackwardArgs& args) { args.accumulate = true; }>},
    {"RmsNormForgetsEps", check_rms_norm_forward,
     change<&KernelTable::rms_norm_forward, [](RmsNormForwardArgs& args) { args.eps = 0.0; }>},
    {"RmsNormGradientForgetsToAccumulate", check_rms_norm_backward,
     change<&KernelTable::rms_norm_backward,
            [](RmsNormBackwardArgs& args) { args.accumulate_dx = false; }>},
};

// The heads of every token in the opposite order.
std::vector<float> with_reversed_heads(const ConstHeadsView& heads) {
  const Shape& shape = heads.shape();
  std::vector<float> reversed;
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t t = 0; t < shape[1]; ++t)
      for (std::int64_t h = shape[2] - 1; h >= 0; --h) {
        const float* from = heads.as<float>() + heads.at(b, t, h);
        reversed.insert(reversed.end(), from, from + shape[3]);
      }
  return reversed;
}

void attention_with_shuffled_groups(const AttentionForwardArgs& args, const Device& d, Queue& q) {
  const std::vector<float> k = with_reversed_heads(args.k), v = with_reversed_heads(args.v);
  AttentionForwardArgs broken = args;
  broken.k = view_of(k.data(), args.k.shape());
  broken.v = view_of(v.data(), args.v.shape());
  reference_table().attention_forward(broken, d, q);
}

void attention_without_lse(const AttentionForwardArgs& args, const Device& d, Queue& q) {
  std::vector<float> lse = copy_of<float>(args.lse);
  AttentionForwardArgs broken = args;
  broken.lse = view_of(lse.data(), args.lse.shape());
  reference_table().attention_forward(broken, d, q);
}

// ds = p dp, without taking off delta.
void attention_gradient_without_delta(const AttentionBackwardArgs& args, const Device& d,
                                      Queue& q) {
  const std::vector<float> zeros(static_cast<std::size_t>(args.out.num_elements()));
  AttentionBackwardArgs broken = args;
  broken.out = view_of(zeros.data(), args.out.shape());
  reference_table().attention_backward(broken, d, q);
}

void cross_entropy_without_target(const CrossEntropyArgs& args, const Device& d, Queue& q) {
  reference_table().cross_entropy(args, d, q);
  if (!args.dlogits) return;
  for (std::int64_t r = 0; r < args.logits.rows(); ++r)
    if (const std::int32_t target = args.targets.as<std::int32_t>()[r]; target >= 0)
      args.dlogits.as<float>()[r * args.logits.cols() + target] += static_cast<float>(args.scale);
}

void cross_entropy_with_last_of_equals(const CrossEntropyArgs& args, const Device& d, Queue& q) {
  const std::vector<float> logits = copy_of<float>(args.logits);
  reference_table().cross_entropy(args, d, q);
  const std::int64_t V = args.logits.cols();
  for (std::int64_t r = 0; args.best && r < args.logits.rows(); ++r) {
    std::int32_t& best = args.best.as<std::int32_t>()[r];
    for (std::int64_t v = 0; best >= 0 && v < V; ++v)
      if (logits[r * V + v] == logits[r * V + best]) best = static_cast<std::int32_t>(v);
  }
}

void cross_entropy_of_ignored_rows(const CrossEntropyArgs& args, const Device& d, Queue& q) {
  std::vector<std::int32_t> targets = copy_of<std::int32_t>(args.targets);
  for (std::int32_t& target : targets) target = std::max(target, 0);
  CrossEntropyArgs broken = args;
  broken.targets = view_of(targets.data(), args.targets.shape());
  reference_table().cross_entropy(broken, d, q);
}

const Mutation kSoftmaxes[] = {
    {"AttentionForgetsScale", check_attention_forward,
     change<&KernelTable::attention_forward, [](AttentionForwardArgs& args) { args.scale = 1.0; }>},
    {"AttentionShufflesGroups", check_attention_forward,
     replace<&KernelTable::attention_forward, attention_with_shuffled_groups>},
    {"AttentionKeepsNoLse", check_attention_forward,
     replace<&KernelTable::attention_forward, attention_without_lse>},
    {"CachedAttentionForgetsScale", check_cached_attention,
     change<&KernelTable::cached_attention, [](CachedAttentionArgs& args) { args.scale = 1.0; }>},
    {"CachedAttentionStoresOneTooEarly", check_cached_attention,
     change<&KernelTable::cached_attention,
            [](CachedAttentionArgs& args) {
              args.past = std::max<std::int64_t>(args.past, 1) - 1;
            }>},
    {"AttentionGradientForgetsDelta", check_attention_backward,
     replace<&KernelTable::attention_backward, attention_gradient_without_delta>},
    {"AttentionGradientForgetsScale", check_attention_backward,
     change<&KernelTable::attention_backward,
            [](AttentionBackwardArgs& args) { args.scale = 1.0; }>},
    {"CrossEntropyIgnoresTheTarget", check_cross_entropy,
     replace<&KernelTable::cross_entropy, cross_entropy_without_target>},
    {"CrossEntropyTrainsOnIgnoredRows", check_cross_entropy,
     replace<&KernelTable::cross_entropy, cross_entropy_of_ignored_rows>},
    {"CrossEntropyNamesTheLastOfEquals", check_cross_entropy,
     replace<&KernelTable::cross_entropy, cross_entropy_with_last_of_equals>},
    {"CrossEntropyForgetsScale", check_cross_entropy,
     change<&KernelTable::cross_entropy, [](CrossEntropyArgs& args) { args.scale = 1.0; }>},
};

void mask_mass_of_all(const MaskMassArgs& args, const Device& d, Queue& q) {
  reference_table().mask_mass(args, d, q);
  std::copy_n(args.sums.as<double>(), 2, args.sums.as<double>() + 2);
}

const Mutation kSparsity[] = {
    {"ApplyMaskForgetsColumns", check_apply_mask,
     change<&KernelTable::apply_mask, [](ApplyMaskArgs& args) { args.keep_columns = {}; }>},
    {"MaskDifferenceSeesNone", check_mask_difference,
     change<&KernelTable::mask_difference, [](MaskDifferenceArgs& args) { args.b = args.a; }>},
    {"MaskMassForgetsTheMask", check_mask_mass, replace<&KernelTable::mask_mass, mask_mass_of_all>},
    {"MaskedDecayForgetsScale", check_masked_decay,
     change<&KernelTable::masked_decay, [](MaskedDecayArgs& args) { args.scale = 1.0; }>},
    {"Transposable24IsGreedy", check_transposable24,
     change<&KernelTable::transposable24,
            [](Transposable24Args& args) { args.method = TransposableMethod::kGreedyKeep; }>},
};

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (const std::span<const Mutation> some :
       {std::span<const Mutation>(kElementwise), std::span<const Mutation>(kSums),
        std::span<const Mutation>(kNorms), std::span<const Mutation>(kSoftmaxes),
        std::span<const Mutation>(kSparsity)})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class BrokenKernel : public testing::TestWithParam<Mutation> {};

TEST_P(BrokenKernel, IsRejected) { expect_rejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mutations, BrokenKernel, testing::ValuesIn(all_mutations()),
                         mutation_name);

}  // namespace
}  // namespace twill
