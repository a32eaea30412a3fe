// SPDX-License-Identifier: Apache-2.0
// Broken rules of selection, masks, masked decay and packing.
#include <algorithm>
#include <cmath>

#include "ops/packing/pack24.h"
#include "ops/selection/mask.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "ops/update/masked_decay.h"
#include "papers/spoil.h"

namespace twill {
namespace {

template <class T>
void mirror_columns(T* data, const Shape& shape) {
  for (std::int64_t r = 0; r < shape.rows(); ++r)
    std::reverse(data + r * shape.cols(), data + (r + 1) * shape.cols());
}

// Seen in a mirror, the highest index of a row wins a tie.
constexpr auto kSelectMirrored = [](const auto& args, const auto& run) {
  std::vector<float> x = copy_of<float>(args.x);
  mirror_columns(x.data(), args.x.shape());
  auto mirrored = args;
  mirrored.x = view_of(x.data(), args.x.shape());
  run(mirrored);
  mirror_columns(args.mask.template as<std::uint8_t>(), args.mask.shape());
};

constexpr auto kSelectWithoutNan = [](const auto& args, const auto& run) {
  std::vector<float> x = copy_of<float>(args.x);
  std::ranges::replace_if(
      x, [](float v) { return std::isnan(v); }, 0.0f);
  auto changed = args;
  changed.x = view_of(x.data(), args.x.shape());
  run(changed);
};

constexpr auto kOtherAxis = [](Select24Args& args) {
  if (args.x.rows() % 4 != 0 || args.x.cols() % 4 != 0) return;
  args.axis = args.axis == GroupAxis::kWithinRow ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow;
};

constexpr auto kApplyInverted = [](const ApplyMaskArgs& args, const auto& run) {
  std::vector<std::uint8_t> mask = copy_of<std::uint8_t>(args.mask);
  for (std::uint8_t& byte : mask) byte = byte == 0;
  ApplyMaskArgs changed = args;
  changed.mask = view_of(mask.data(), args.mask.shape());
  run(changed);
};

constexpr auto kCountOneWay = [](const MaskDifferenceArgs& args, const auto&) {
  double count = 0.0;
  for (std::int64_t i = 0; i < args.a.num_elements(); ++i)
    count += args.a.as<std::uint8_t>()[i] > args.b.as<std::uint8_t>()[i];
  *args.count.as<double>() = count;
};

constexpr auto kMassOfAll = [](const MaskMassArgs& args, const auto& run) {
  run(args);
  std::copy_n(args.sums.as<double>(), 2, args.sums.as<double>() + 2);
};

constexpr auto kDecayAll = [](const MaskedDecayArgs& args, const auto& run) {
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(args.mask.num_elements()));
  MaskedDecayArgs changed = args;
  changed.mask = view_of(none.data(), args.mask.shape());
  run(changed);
};

constexpr auto kSwapNibbles = [](const Pack24Args& args, const auto& run) {
  run(args);
  std::uint8_t* bytes = args.nibbles.as<std::uint8_t>();
  for (std::int64_t i = 0; i < args.nibbles.num_elements(); ++i)
    bytes[i] = static_cast<std::uint8_t>(bytes[i] << 4 | bytes[i] >> 4);
};

constexpr auto kSwapValues = [](const Pack24Args& args, const auto& run) {
  run(args);
  float* values = args.values.as<float>();
  for (std::int64_t i = 0; i < args.values.num_elements(); i += 2)
    std::swap(values[i], values[i + 1]);
};

constexpr auto kReadSwappedNibbles = [](const Unpack24Args& args, const auto& run) {
  std::vector<std::uint8_t> bytes = copy_of<std::uint8_t>(args.nibbles);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(byte << 4 | byte >> 4);
  Unpack24Args changed = args;
  changed.nibbles = view_of(bytes.data(), args.nibbles.shape());
  run(changed);
};

constexpr auto kCountWithoutLastRow = [](CountNonzeroArgs& args) {
  args.x = args.x.row_range(0, args.x.rows() - 1);
};

const RegisterBreakage kBreakages[] = {
    {"apply_mask.inverted", "Fst_A5.*", spoil<&KernelTable::apply_mask, kApplyInverted>},
    {"count_nonzero.last_row", "Venom_V12.*",
     spoil_arguments<&KernelTable::count_nonzero, kCountWithoutLastRow>},
    {"mask_difference.one_way", "Fst_E*:Sste_S10.*",
     spoil<&KernelTable::mask_difference, kCountOneWay>},
    {"mask_mass.counts_all", "Fst_A2.*", spoil<&KernelTable::mask_mass, kMassOfAll>},
    {"masked_decay.forgets_scale", "Fst_D*",
     spoil_arguments<&KernelTable::masked_decay, [](MaskedDecayArgs& args) { args.scale = 1.0; }>},
    {"masked_decay.pulls_kept", "Fst_D*", spoil<&KernelTable::masked_decay, kDecayAll>},
    {"masked_decay.rate", "Fst_D*",
     spoil_arguments<&KernelTable::masked_decay, [](MaskedDecayArgs& args) { args.rate *= 2.0; }>},
    {"pack24.nibble_order", "Fst_C2.*", spoil<&KernelTable::pack24, kSwapNibbles>},
    {"pack24.value_order", "Fst_C2.*", spoil<&KernelTable::pack24, kSwapValues>},
    {"select24.axis", "Fst_A6.*", spoil_arguments<&KernelTable::select24, kOtherAxis>},
    {"select24.nan", "Fst_A6.*", spoil<&KernelTable::select24, kSelectWithoutNan>},
    {"select24.ties", "Fst_A6.*", spoil<&KernelTable::select24, kSelectMirrored>},
    {"transposable24.greedy_for_exact", "Fst_A*",
     spoil_arguments<&KernelTable::transposable24,
                     [](Transposable24Args& args) {
                       args.method = TransposableMethod::kGreedyKeep;
                     }>},
    {"transposable24.nan", "Fst_A6.*", spoil<&KernelTable::transposable24, kSelectWithoutNan>},
    {"transposable24.ties", "Fst_A*", spoil<&KernelTable::transposable24, kSelectMirrored>},
    {"unpack24.nibble_order", "Fst_C2.*", spoil<&KernelTable::unpack24, kReadSwappedNibbles>},
};

}  // namespace
}  // namespace twill
