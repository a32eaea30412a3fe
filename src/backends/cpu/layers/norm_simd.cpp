// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalisation in SIMD. A row stays in the first-level cache between its passes.
#include "backends/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/layers/norm_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "backends/cpu/layers/norm_simd.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace twill::cpu::HWY_NAMESPACE {
namespace {

// y = (x - mean) rstd weight [+ bias].
HWY_INLINE void normalise_row(const NormForward& norm, const float* x, float mean, float rstd,
                              float* y) {
  for (std::int64_t i = 0; i < norm.cols; i += lanes()) {
    const std::int64_t count = norm.cols - i;
    const VF n = hn::Mul(hn::Sub(load(x + i, count), set(mean)), set(rstd));
    const VF weight = load(norm.weight + i, count);
    const VF result = norm.bias == nullptr ? hn::Mul(n, weight)
                                           : hn::MulAdd(n, weight, load(norm.bias + i, count));
    store(result, y + i, count);
  }
}

float rstd_of(double sum_of_squares, const NormForward& norm) {
  return static_cast<float>(1.0 /
                            std::sqrt(sum_of_squares / static_cast<double>(norm.cols) + norm.eps));
}

void layer_norm_rows_impl(const NormForward& norm, std::int64_t begin, std::int64_t end) {
  const auto cols = static_cast<double>(norm.cols);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = norm.x + row * norm.cols;
    const float rough_sum = sum_over(
        norm.cols, [&](std::int64_t i, std::int64_t count) HWY_ATTR { return load(x + i, count); });
    const auto rough_mean = static_cast<float>(rough_sum / cols);
    // The second sum removes the rounding errors of the first from mean and variance.
    const VF centre = set(rough_mean);
    const float rest = sum_over(norm.cols, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      return hn::Sub(load(x + i, count), centre);
    });
    const float squares = sum_over(norm.cols, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const VF v = hn::Sub(load(x + i, count), centre);
      return hn::Mul(v, v);
    });
    const double shift = rest / cols;
    const auto mean = static_cast<float>(rough_mean + shift);
    const float rstd = rstd_of(squares - shift * rest, norm);
    norm.mean[row] = mean;
    norm.rstd[row] = rstd;
    normalise_row(norm, x, mean, rstd, norm.y + row * norm.cols);
  }
}

void rms_norm_rows_impl(const NormForward& norm, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = norm.x + row * norm.cols;
    const float squares = sum_over(norm.cols, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const VF v = load(x + i, count);
      return hn::Mul(v, v);
    });
    norm.rstd[row] = rstd_of(squares, norm);
    normalise_row(norm, x, 0.0f, norm.rstd[row], norm.y + row * norm.cols);
  }
}

// One row of the backward pass: g = dy weight and n = (x - mean) rstd, vector by vector.
struct BackwardRow {
  BackwardRow(const NormBackward& norm, std::int64_t row)
      : x(norm.x + row * norm.cols),
        dy(norm.dy + row * norm.cols),
        weight(norm.weight),
        mean(norm.mean == nullptr ? 0.0f : norm.mean[row]),
        rstd(norm.rstd[row]) {}

  HWY_INLINE VF g(std::int64_t i, std::int64_t count) const {
    return hn::Mul(load(dy + i, count), load(weight + i, count));
  }
  HWY_INLINE VF n(std::int64_t i, std::int64_t count) const {
    return hn::Mul(hn::Sub(load(x + i, count), set(mean)), set(rstd));
  }

  const float* x;
  const float* dy;
  const float* weight;
  float mean;
  float rstd;
};

// dx (+)= rstd (g - mean_g - n mean_gn).
HWY_INLINE void write_dx(const NormBackward& norm, const BackwardRow& row, float mean_g,
                         float mean_gn, float* dx) {
  for (std::int64_t i = 0; i < norm.cols; i += lanes()) {
    const std::int64_t count = norm.cols - i;
    const VF centred = hn::Sub(row.g(i, count), set(mean_g));
    const VF d = hn::NegMulAdd(row.n(i, count), set(mean_gn), centred);
    const VF scaled = norm.accumulate_dx ? hn::MulAdd(d, set(row.rstd), load(dx + i, count))
                                         : hn::Mul(d, set(row.rstd));
    store(scaled, dx + i, count);
  }
}

HWY_INLINE float mean_of_gn(const NormBackward& norm, const BackwardRow& row) {
  return sum_over(norm.cols, [&](std::int64_t i, std::int64_t count)
                                 HWY_ATTR { return hn::Mul(row.g(i, count), row.n(i, count)); }) /
         static_cast<float>(norm.cols);
}

void layer_norm_dx_rows_impl(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const BackwardRow row(norm, r);
    const float sum_g = sum_over(
        norm.cols, [&](std::int64_t i, std::int64_t count) HWY_ATTR { return row.g(i, count); });
    write_dx(norm, row, sum_g / static_cast<float>(norm.cols), mean_of_gn(norm, row),
             norm.dx + r * norm.cols);
  }
}

void rms_norm_dx_rows_impl(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const BackwardRow row(norm, r);
    write_dx(norm, row, 0.0f, mean_of_gn(norm, row), norm.dx + r * norm.cols);
  }
}

// kVectors neighbouring vectors of dweight and dbias from column j on.
template <int kVectors>
HWY_INLINE void dweight_group(const NormBackward& norm, std::int64_t j, std::int64_t end) {
  constexpr std::int64_t N = lanes();
  VF dweight[kVectors], dbias[kVectors];
  for (int k = 0; k < kVectors; ++k) dweight[k] = dbias[k] = zero();
  for (std::int64_t r = 0; r < norm.rows; ++r) {
    const BackwardRow row(norm, r);
    for (int k = 0; k < kVectors; ++k) {
      const std::int64_t i = j + k * N, count = end - i;
      const VF dy = load(row.dy + i, count);
      dweight[k] = hn::MulAdd(dy, row.n(i, count), dweight[k]);
      dbias[k] = hn::Add(dbias[k], dy);
    }
  }
  const auto add_to = [&](float* to, VF sum, std::int64_t count)
                          HWY_ATTR { store(hn::Add(load(to, count), sum), to, count); };
  for (int k = 0; k < kVectors; ++k) {
    const std::int64_t i = j + k * N, count = end - i;
    add_to(norm.dweight + i, dweight[k], count);
    if (norm.dbias != nullptr) add_to(norm.dbias + i, dbias[k], count);
  }
}

void norm_dweight_columns_impl(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kGroup = 4 * lanes();
  std::int64_t j = begin;
  for (; j + kGroup <= end; j += kGroup) dweight_group<4>(norm, j, end);
  for (; j < end; j += lanes()) dweight_group<1>(norm, j, end);
}

}  // namespace
}  // namespace twill::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace twill::cpu {

HWY_EXPORT(layer_norm_rows_impl);
HWY_EXPORT(rms_norm_rows_impl);
HWY_EXPORT(layer_norm_dx_rows_impl);
HWY_EXPORT(rms_norm_dx_rows_impl);
HWY_EXPORT(norm_dweight_columns_impl);

void layer_norm_rows(const NormForward& norm, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(layer_norm_rows_impl)(norm, begin, end);
}
void rms_norm_rows(const NormForward& norm, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(rms_norm_rows_impl)(norm, begin, end);
}
void layer_norm_dx_rows(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(layer_norm_dx_rows_impl)(norm, begin, end);
}
void rms_norm_dx_rows(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(rms_norm_dx_rows_impl)(norm, begin, end);
}
void norm_dweight_columns(const NormBackward& norm, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(norm_dweight_columns_impl)(norm, begin, end);
}

}  // namespace twill::cpu
#endif  // HWY_ONCE
