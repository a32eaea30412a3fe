// SPDX-License-Identifier: Apache-2.0
// The trial of the checks of packed matrices and their products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bf16.h"
#include "ops/mutation.h"
#include "ops/packing/pack_both.h"
#include "ops/packing/packed_matrix.h"
#include "ops/packing/soft_pack24.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"

namespace twill {
namespace {

void pack_no_new_values(const PackMatrixArgs& args, const Device& d, Queue& q) {
  if (!args.same_mask) reference_table().pack_matrix(args, d, q);
}

void pack_what_is_not_kept(const PackMatrixArgs& args, const Device& d, Queue& q) {
  if (!args.mask) return reference_table().pack_matrix(args, d, q);
  std::vector<std::uint8_t> mask = copy_of<std::uint8_t>(args.mask);
  for (std::uint8_t& byte : mask) byte = byte == 0;
  PackMatrixArgs broken = args;
  broken.mask = view_of(mask.data(), args.mask.shape());
  reference_table().pack_matrix(broken, d, q);
}

// A backend that packs both sides itself: by the reference's kernel, and wrong.
template <auto kChange>
void pack_both_changed(const PackWeightsArgs& args, const Device& d, Queue& q) {
  for (const PackBothArgs& both : args.weights)
    for (const bool transpose : {false, true}) {
      PackMatrixArgs side = both.side(transpose);
      if (kChange(side)) reference_table().pack_matrix(side, d, q);
    }
}
template <auto kChange>
void fuse_both(KernelTable& table) {
  table.packs_both = [](const PackBothArgs&) { return true; };
  table.pack_weights = pack_both_changed<kChange>;
}
void pack_first_of_several(KernelTable& table) {
  fuse_both<[](PackMatrixArgs&) { return true; }>(table);
  table.pack_weights = [](const PackWeightsArgs& args, const Device& d, Queue& q) {
    pack_both_changed<[](PackMatrixArgs&) { return true; }>({.weights = args.weights.first(1)}, d,
                                                            q);
  };
}

// A backend that projects and packs at once, likewise.
void soft_pack_by_steps(const SoftPack24Args& args, const Device& d, Queue& q) {
  reference_table().soft_threshold24(args.projection(), d, q);
  reference_table().pack_matrix(args.packing(), d, q);
}
template <auto kChange>
void fuse_soft_pack(KernelTable& table) {
  table.fuses_soft_pack = [](const SoftPack24Args&) { return true; };
  table.soft_pack24 = [](const SoftPack24Args& args, const Device& d, Queue& q) {
    SoftPack24Args broken = args;
    kChange(broken);
    soft_pack_by_steps(broken, d, q);
  };
}
template <auto kKernel>
void fuse_soft_pack_as(KernelTable& table) {
  table.fuses_soft_pack = [](const SoftPack24Args&) { return true; };
  table.soft_pack24 = kKernel;
}
void soft_pack_only_projects(const SoftPack24Args& args, const Device& d, Queue& q) {
  reference_table().soft_threshold24(args.projection(), d, q);
  std::vector<float> zeros(static_cast<std::size_t>(args.x.num_elements()));
  PackMatrixArgs nothing = args.packing();
  nothing.dense = view_of(zeros.data(), args.x.shape());
  reference_table().pack_matrix(nothing, d, q);
}
void soft_pack_only_packs(const SoftPack24Args& args, const Device& d, Queue& q) {
  std::vector<float> scratch(static_cast<std::size_t>(args.x.num_elements()));
  SoftPack24Args elsewhere = args;
  elsewhere.projected = view_of(scratch.data(), args.x.shape());
  soft_pack_by_steps(elsewhere, d, q);
}

template <class Change>
void unpack_changed(const UnpackMatrixArgs& args, const Device& d, Queue& q, const Change& change) {
  reference_table().unpack_matrix(args, d, q);
  for (float& value : floats(args.dense)) change(value);
}
void unpack_one_zero(const UnpackMatrixArgs& args, const Device& d, Queue& q) {
  unpack_changed(args, d, q, [](float& value) { value = value == 0.0f ? 0.0f : value; });
}
void unpack_no_denormals(const UnpackMatrixArgs& args, const Device& d, Queue& q) {
  unpack_changed(args, d, q, [](float& value) {
    if (std::abs(value) < std::numeric_limits<float>::min()) value = std::copysign(0.0f, value);
  });
}
void unpack_one_nan(const UnpackMatrixArgs& args, const Device& d, Queue& q) {
  unpack_changed(args, d, q, [](float& value) {
    if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  });
}

void times_packed_rounded(const TimesPackedArgs& args, const Device& d, Queue& q) {
  std::vector<float> x = copy_of<float>(args.x);
  for (float& value : x) value = to_float(to_bf16(value));
  TimesPackedArgs broken = args;
  broken.x = view_of(x.data(), args.x.shape());
  reference_table().times_packed(broken, d, q);
}

// As if P were [gate | value]. What is stored before the activation stays right.
void times_packed_of_swapped_halves(const TimesPackedArgs& args, const Device& d, Queue& q) {
  reference_table().times_packed(args, d, q);
  if (!args.halves()) return;
  const std::int64_t half = args.n() / 2;
  std::vector<float> swapped = copy_of<float>(args.before);
  for (std::int64_t row = 0; row < args.m(); ++row)
    std::swap_ranges(swapped.begin() + row * args.n(), swapped.begin() + row * args.n() + half,
                     swapped.begin() + row * args.n() + half);
  ActivationForwardArgs broken = activation_of(args);
  broken.x = view_of(swapped.data(), args.before.shape());
  reference_table().activation_forward(broken, d, q);
}

// One ulp of one element: far below every bound.
void nudge(View c, const Device& device) {
  if (device.num_threads > 1)
    *c.as<float>() = std::nextafter(*c.as<float>(), std::numeric_limits<float>::infinity());
}
void times_packed_by_threads(const TimesPackedArgs& args, const Device& d, Queue& q) {
  reference_table().times_packed(args, d, q);
  nudge(args.c, d);
}
void packed_times_by_threads(const PackedTimesArgs& args, const Device& d, Queue& q) {
  reference_table().packed_times(args, d, q);
  nudge(args.c, d);
}

void packed_times_without_last_row(const PackedTimesArgs& args, const Device& d, Queue& q) {
  const std::vector<float> held = copy_of<float>(args.c);
  reference_table().packed_times(args, d, q);
  if (args.m() > 1) std::copy(held.end() - args.n(), held.end(), floats(args.c).end() - args.n());
}

// As if b, or c, had been handed over in the order of the formula.
void packed_times_turns_no_b(const PackedTimesArgs& args, const Device& d, Queue& q) {
  PackedTimesArgs broken = args;
  broken.b = args.b.reshaped({args.k(), args.n()});
  broken.trans_b = false;
  reference_table().packed_times(broken, d, q);
}
void packed_times_turns_no_c(const PackedTimesArgs& args, const Device& d, Queue& q) {
  PackedTimesArgs broken = args;
  broken.c = args.c.reshaped({args.m(), args.n()});
  broken.trans_c = false;
  reference_table().packed_times(broken, d, q);
}

const Mutation kPacked[] = {
    {"PackBothForgetsMask", check_pack_both, fuse_both<[](PackMatrixArgs& side) {
       side.mask = {};
       return true;
     }>},
    {"PackBothForgetsOneSide", check_pack_both,
     fuse_both<[](PackMatrixArgs& side) { return !side.transpose; }>},
    {"PackBothKeepsOldValues", check_pack_both,
     fuse_both<[](PackMatrixArgs& side) { return !side.same_mask; }>},
    {"PackBothTurnsNoSide", check_pack_both, fuse_both<[](PackMatrixArgs& side) {
       side.transpose = false;
       return true;
     }>},
    {"PackBothForgetsAllButTheFirst", check_pack_both, pack_first_of_several},
    {"PackBothByOneSideTurnsNone", check_pack_both,
     change<&KernelTable::pack_matrix, [](PackMatrixArgs& args) { args.transpose = false; }>},
    {"SoftPackForgetsScale", check_soft_pack24,
     fuse_soft_pack<[](SoftPack24Args& args) { args.scale = 1.0; }>},
    {"SoftPackTakesOtherGroups", check_soft_pack24, fuse_soft_pack<[](SoftPack24Args& args) {
       args.axis =
           args.axis == GroupAxis::kWithinRow ? GroupAxis::kWithinColumn : GroupAxis::kWithinRow;
     }>},
    {"SoftPackOnlyProjects", check_soft_pack24, fuse_soft_pack_as<soft_pack_only_projects>},
    {"SoftPackOnlyPacks", check_soft_pack24, fuse_soft_pack_as<soft_pack_only_packs>},
    {"PackForgetsMask", check_pack_matrix,
     change<&KernelTable::pack_matrix, [](PackMatrixArgs& args) { args.mask = {}; }>},
    {"PackForgetsTranspose", check_pack_matrix,
     change<&KernelTable::pack_matrix, [](PackMatrixArgs& args) { args.transpose = false; }>},
    {"PackKeepsOldValues", check_pack_matrix,
     replace<&KernelTable::pack_matrix, pack_no_new_values>},
    {"PackKeepsWhatIsNotKept", check_pack_matrix,
     replace<&KernelTable::pack_matrix, pack_what_is_not_kept>},
    {"UnpackKnowsOneNan", check_pack_matrix, replace<&KernelTable::unpack_matrix, unpack_one_nan>},
    {"UnpackKnowsOneZero", check_pack_matrix,
     replace<&KernelTable::unpack_matrix, unpack_one_zero>},
    {"UnpackLosesDenormals", check_pack_matrix,
     replace<&KernelTable::unpack_matrix, unpack_no_denormals>},
    {"PackedTimesAlwaysAccumulates", check_packed_times,
     change<&KernelTable::packed_times, [](PackedTimesArgs& args) { args.accumulate = true; }>},
    {"PackedTimesDependsOnThreads", check_packed_times,
     replace<&KernelTable::packed_times, packed_times_by_threads>, 2},
    {"PackedTimesForgetsAddend", check_packed_times,
     change<&KernelTable::packed_times, [](PackedTimesArgs& args) { args.addend = {}; }>},
    {"PackedTimesForgetsBias", check_packed_times,
     change<&KernelTable::packed_times, [](PackedTimesArgs& args) { args.bias = {}; }>},
    {"PackedTimesTurnsNoB", check_packed_times,
     replace<&KernelTable::packed_times, packed_times_turns_no_b>},
    {"PackedTimesTurnsNoC", check_packed_times,
     replace<&KernelTable::packed_times, packed_times_turns_no_c>},
    {"PackedTimesForgetsTheLastRow", check_packed_times,
     replace<&KernelTable::packed_times, packed_times_without_last_row>},
    {"PackedTimesNeverAccumulates", check_packed_times,
     change<&KernelTable::packed_times, [](PackedTimesArgs& args) { args.accumulate = false; }>},
    {"TimesPackedDependsOnThreads", check_times_packed,
     replace<&KernelTable::times_packed, times_packed_by_threads>, 2},
    {"TimesPackedForgetsAddend", check_times_packed,
     change<&KernelTable::times_packed, [](TimesPackedArgs& args) { args.addend = {}; }>},
    {"TimesPackedForgetsBias", check_times_packed,
     change<&KernelTable::times_packed, [](TimesPackedArgs& args) { args.bias = {}; }>},
    {"TimesPackedForgetsGradient", check_times_packed,
     change<&KernelTable::times_packed,
            [](TimesPackedArgs& args) {
              if (args.epilogue == GemmEpilogue::kActivationGradient)
                args.epilogue = GemmEpilogue::kNone;
            }>},
    {"TimesPackedKnowsOneGelu", check_times_packed,
     change<&KernelTable::times_packed,
            [](TimesPackedArgs& args) {
              if (args.activation == Activation::kGeluTanh) args.activation = Activation::kGelu;
            }>},
    {"TimesPackedKnowsOneGatedGelu", check_times_packed,
     change<&KernelTable::times_packed,
            [](TimesPackedArgs& args) {
              if (args.activation == Activation::kGegluTanh) args.activation = Activation::kGeglu;
            }>},
    {"TimesPackedTakesValuesForGates", check_times_packed,
     replace<&KernelTable::times_packed, times_packed_of_swapped_halves>},
    {"TimesPackedRoundsX", check_times_packed,
     replace<&KernelTable::times_packed, times_packed_rounded>},
};

class BrokenPackedKernel : public testing::TestWithParam<Mutation> {};

TEST_P(BrokenPackedKernel, IsRejected) { expect_rejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mutations, BrokenPackedKernel, testing::ValuesIn(kPacked), mutation_name);

}  // namespace
}  // namespace twill
