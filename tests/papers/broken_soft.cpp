// SPDX-License-Identifier: Apache-2.0
// Broken soft thresholds, samples and roundings.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/rng.h"
#include "ops/mutation.h"
#include "ops/numbers/fp8.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/update/adamw.h"
#include "ops/update/moment_change.h"
#include "papers/broken.h"

namespace twill {
namespace {

// The soft threshold.

void third_magnitude(const SoftThreshold24Args& args, const Device&, Queue&) {
  const std::int64_t C = args.x.cols();
  const bool within_row = args.axis == GroupAxis::kWithinRow;
  for (std::int64_t g = 0; g < args.x.num_elements() / 4; ++g) {
    const std::int64_t first = within_row ? 4 * g : 4 * (g / C) * C + g % C;
    const std::int64_t stride = within_row ? 1 : C;
    float b[4];
    for (int k = 0; k < 4; ++k) b[k] = std::abs(args.x.as<float>()[first + k * stride]);
    std::sort(b, b + 4);
    for (int k = 0; k < 4; ++k) {
      const float x = args.x.as<float>()[first + k * stride];
      const float rest = std::max(std::abs(x) - b[2], 0.0f);
      args.y.as<float>()[first + k * stride] =
          static_cast<float>(args.scale) * std::copysign(rest, x);
    }
  }
}

void soft_without_sign(const SoftThreshold24Args& args, const Device& d, Queue& q) {
  reference_table().soft_threshold24(args, d, q);
  for (float& y : floats(args.y)) y = std::abs(y);
}

void swap_axis(GroupAxis& axis, const ConstView& x) {
  if (x.rows() % 4 != 0 || x.cols() % 4 != 0) return;
  axis = axis == GroupAxis::kWithinRow ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow;
}

// One long sum instead of runs.
void sums_in_one_run(const SoftThreshold24SumsArgs& args, const Device& d, Queue& q) {
  std::vector<float> soft(static_cast<std::size_t>(args.x.num_elements()));
  reference_table().soft_threshold24(
      {.x = args.x, .y = view_of(soft.data(), args.x.shape()), .axis = args.axis}, d, q);
  double sums[4] = {};
  for (std::size_t i = 0; i < soft.size(); ++i) {
    const double x = floats(args.x)[i], s = soft[i];
    sums[0] += x * s;
    sums[1] += s * s;
    sums[2] += std::abs(x);
    sums[3] += std::abs(s);
  }
  std::copy_n(sums, 4, args.sums.as<double>());
}

void sums_of_scaled(const SoftThreshold24SumsArgs& args, const Device& d, Queue& q) {
  reference_table().soft_threshold24_sums(args, d, q);
  double* sums = args.sums.as<double>();
  const double beta = sums[0] / sums[1];
  sums[0] *= beta;
  sums[1] *= beta * beta;
  sums[3] *= beta;
}

const RegisterBreakage kSoft[] = {
    {"soft_threshold24.third_magnitude", "Sste_L1.*",
     replace<&KernelTable::soft_threshold24, third_magnitude>},
    {"soft_threshold24.sign", "Sste_L1.*",
     replace<&KernelTable::soft_threshold24, soft_without_sign>},
    {"soft_threshold24.no_scale", "Sste_L1.*",
     change<&KernelTable::soft_threshold24, [](SoftThreshold24Args& args) { args.scale = 1.0; }>},
    {"soft_threshold24.scale_twice", "Sste_L2.*",
     change<&KernelTable::soft_threshold24,
            [](SoftThreshold24Args& args) { args.scale *= args.scale; }>},
    {"soft_threshold24.axis", "Sste_S1.*",
     change<&KernelTable::soft_threshold24,
            [](SoftThreshold24Args& args) { swap_axis(args.axis, args.x); }>},
    {"soft_threshold24_sums.axis", "Sste_S2.SumsHaveTheirOrder",
     change<&KernelTable::soft_threshold24_sums,
            [](SoftThreshold24SumsArgs& args) { swap_axis(args.axis, args.x); }>},
    {"soft_threshold24_sums.order", "Sste_S2.SumsHaveTheirOrder",
     replace<&KernelTable::soft_threshold24_sums, sums_in_one_run>},
    {"soft_threshold24_sums.scaled", "Venom_L1.*",
     replace<&KernelTable::soft_threshold24_sums, sums_of_scaled>},
};

// MVUE: the reference's loop around a broken law or a broken choice of the uniform number.

using Law = MvuePair<float> (*)(const float (&)[4], float u);

template <Law kLaw, bool kOwnWord>
void broken_mvue(const Mvue24Args& args, const Device&, Queue&) {
  const std::int64_t tokens = args.x.rows(), C = args.x.cols();
  for (std::int64_t g = 0; 4 * g < tokens; ++g)
    for (std::int64_t c = 0; c < C; ++c) {
      const std::uint32_t tag = static_cast<std::uint32_t>(Purpose::kMvue) | args.stream << 8;
      const Philox4 words = philox4x32(
          {static_cast<std::uint32_t>(g / 4), static_cast<std::uint32_t>(c), args.step, tag},
          static_cast<std::uint32_t>(args.seed), static_cast<std::uint32_t>(args.seed >> 32));
      const std::uint32_t word = words[kOwnWord ? static_cast<std::size_t>(g % 4) : 0];
      float group[4] = {};
      const std::int64_t rows = std::min<std::int64_t>(4, tokens - 4 * g), at = 4 * g * C + c;
      for (std::int64_t k = 0; k < rows; ++k) group[k] = args.x.as<float>()[at + k * C];
      const MvuePair<float> pair = kLaw(group, static_cast<float>(word >> 9) * 0x1p-23f);
      for (int k = 0; k < static_cast<int>(rows); ++k) {
        args.y.as<float>()[at + k * C] = pair.value_at(k);
        if (args.mask) args.mask.as<std::uint8_t>()[at + k * C] = pair.keeps(k);
      }
    }
}

MvuePair<float> good_law(const float (&a)[4], float u) { return mvue24_exact(a, u); }

// Every kept entry becomes the smaller of the two heights: wrong where one dominates.
MvuePair<float> flat_law(const float (&a)[4], float u) {
  MvuePair<float> pair = mvue24_exact(a, u);
  const float h = std::min(std::abs(pair.first_value), std::abs(pair.second_value));
  if (h == 0.0f) return pair;
  pair.first_value = std::copysign(h, pair.first_value);
  pair.second_value = std::copysign(h, pair.second_value);
  return pair;
}

// Magnitudes without their inclusion: biased.
MvuePair<float> unweighted_law(const float (&a)[4], float u) {
  MvuePair<float> pair = mvue24_exact(a, u);
  pair.first_value = a[pair.first];
  pair.second_value = a[pair.second];
  return pair;
}

// The partner of a single entry is lost where both draws hit it.
MvuePair<float> one_position_law(const float (&a)[4], float u) {
  MvuePair<float> pair = mvue24_exact(a, u);
  if (pair.second_value != 0.0f && a[pair.first] == 0.0f) pair.first = pair.second;
  pair.first_value = pair.value_at(pair.second);
  return pair;
}

// p_i without the last of its three terms.
void short_inclusion(const Mvue24Args& args, const Device& d, Queue& q) {
  const std::vector<float> x(floats(args.x).begin(), floats(args.x).end());
  reference_table().mvue24(args, d, q);
  if (args.law != MvueLaw::kTwoDraw) return;
  const auto C = static_cast<std::size_t>(args.x.cols());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0.0f || floats(args.y)[i] == 0.0f) continue;
    const std::size_t row = i / C, first = row - row % 4, other = first + (row % 4 == 3 ? 2 : 3);
    double sum = 0.0;
    for (std::size_t k = 0; k < 4; ++k) sum += std::abs(x[(first + k) * C + i % C]);
    const double b = std::abs(x[other * C + i % C]), lost = b / (sum - b);
    const double p = x[i] / floats(args.y)[i] - std::abs(x[i]) / sum * lost;
    floats(args.y)[i] = static_cast<float>(x[i] / p);
  }
}

const RegisterBreakage kMvue[] = {
    {"mvue24.flat_value", "Fst_B1.*", replace<&KernelTable::mvue24, broken_mvue<flat_law, true>>},
    {"mvue24.no_inclusion", "Sste_L5.*",
     replace<&KernelTable::mvue24, broken_mvue<unweighted_law, true>>},
    {"mvue24.shared_u", "Fst_B2.*", replace<&KernelTable::mvue24, broken_mvue<good_law, false>>},
    {"mvue24.ties", "Fst_B3.AwkwardGroups",
     replace<&KernelTable::mvue24, broken_mvue<one_position_law, true>>},
    {"mvue24.stream", "Fst_B2.*",
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.stream = 0; }>},
    {"mvue24.law", "Fst_B1.*",
     change<&KernelTable::mvue24, [](Mvue24Args& args) { args.law = MvueLaw::kExact; }>},
    {"mvue24.short_inclusion", "Venom_V13.InclusionOfTwoDraws",
     replace<&KernelTable::mvue24, short_inclusion>},
};

// FP8: one scale for all, then digits cut by `round`.
template <float (*kRound)(float), bool kScaled, bool kGuarded>
void broken_fp8(const Fp8RoundArgs& args, const Device&, Queue&) {
  const int digits = args.format == Fp8Format::kE4m3 ? 3 : 2;
  float amax = 0.0f;
  for (const float x : floats(args.x)) amax = std::max(amax, std::abs(x));
  float s = kScaled ? (digits == 3 ? 448.0f : 57344.0f) / amax : 1.0f;
  if (kGuarded && amax == 0.0f) s = 1.0f;
  for (std::size_t i = 0; i < floats(args.x).size(); ++i) {
    const float x = floats(args.x)[i] * s;
    const int exponent = x == 0.0f || !std::isfinite(x) ? 0 : std::max(std::ilogb(x), -6);
    floats(args.y)[i] = std::ldexp(kRound(std::ldexp(x, digits - exponent)), exponent - digits) / s;
  }
}
float to_nearest(float x) { return std::nearbyint(x); }
float toward_zero(float x) { return std::trunc(x); }

// An entry of twice the size halves the scale.
void half_scaled_fp8(const Fp8RoundArgs& args, const Device& d, Queue& q) {
  std::vector<float> x(floats(args.x).begin(), floats(args.x).end());
  float amax = 0.0f;
  for (const float value : x) amax = std::max(amax, std::abs(value));
  x.push_back(2.0f * amax);
  const View view = view_of(x.data(), {static_cast<std::int64_t>(x.size())});
  reference_table().fp8_round({.x = view, .y = view, .format = args.format}, d, q);
  std::copy(x.begin(), x.end() - 1, args.y.as<float>());
}

void signed_change(const MomentChangeArgs& args, const Device&, Queue&) {
  double sum = 0.0;
  for (std::size_t i = 0; i < floats(args.v).size(); ++i) {
    const double g = args.grad_scale * floats(args.grad)[i];
    sum += (1.0 - args.beta2) * (g * g - floats(args.v)[i]);
  }
  args.sum.as<double>()[0] = sum;
}

void corrected_frozen_adamw(const AdamwArgs& args, const Device& d, Queue& q) {
  if (!args.freeze_v) return reference_table().adamw(args, d, q);
  const double correction = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  std::vector<float> v(floats(args.v).begin(), floats(args.v).end());
  for (float& value : v) value = static_cast<float>(value / correction);
  AdamwArgs broken = args;
  broken.v = view_of(v.data(), args.v.shape());
  reference_table().adamw(broken, d, q);
}

const RegisterBreakage kRest[] = {
    {"fp8_round.toward_zero", "Sste_S8.*",
     replace<&KernelTable::fp8_round, broken_fp8<toward_zero, true, true>>},
    {"fp8_round.half_scale", "Sste_L4.*", replace<&KernelTable::fp8_round, half_scaled_fp8>},
    {"fp8_round.no_scale", "Sste_L4.*:Sste_S8.*",
     replace<&KernelTable::fp8_round, broken_fp8<to_nearest, false, true>>},
    {"fp8_round.zero_unguarded", "Sste_S8.*",
     replace<&KernelTable::fp8_round, broken_fp8<to_nearest, true, false>>},
    {"fp8_round.format", "Sste_S8.*",
     change<&KernelTable::fp8_round, [](Fp8RoundArgs& args) { args.format = Fp8Format::kE5m2; }>},
    {"moment_change.no_abs", "Fst_Step.*", replace<&KernelTable::moment_change, signed_change>},
    {"adamw.ignores_freeze_v", "Fst_Step.*",
     change<&KernelTable::adamw, [](AdamwArgs& args) { args.freeze_v = false; }>},
    {"adamw.corrects_frozen_v", "Fst_Step.*", replace<&KernelTable::adamw, corrected_frozen_adamw>},
};

}  // namespace
}  // namespace twill
