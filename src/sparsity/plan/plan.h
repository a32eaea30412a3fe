// SPDX-License-Identifier: Apache-2.0
// How the matrices of a recipe run: masked (dense operands with explicit zeros), packed (products that
// leave zeros out), or off (the matrix trains dense). recipe.execution says which of them may be chosen:
//
//   auto     the recipe as written: every matrix in its scope, with its own gradients. Each product is packed
//            where that was measured to be quicker, masked elsewhere
//   fastest  whatever was measured to be quickest: a matrix that gains nothing is off, and all of them where
//            they gain less than packed weights take from everything else. It may train another function
//   packed   everything is packed that the backend can
//   masked   nothing is packed, nothing is off: the reference of the others
//
// Packed changes no mask and no draw, so auto, packed and masked train the same but for rounding, whatever was
// measured. Where a phase selects activations, four products of an FFN leave out the zeros of these and not of
// the weight: forward of its output matrix, dgrad of its input matrix, both weight gradients. In `fastest` a
// matrix is off where a phase asks for what only masked execution can do (simulated number formats; on a
// backend that does not pack every mask also selected activations), the two matrices of an FFN that selects
// are on or off together, and gradients are sampled only where the packed product of the sample gains by it.
// Gated FFNs select nothing (sparsity/activations/activation_steering.h).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "sparsity/recipe/recipe.h"

namespace twill {

struct LinearSeam;

// Seconds of one micro-batch, and of what a step adds to keep masks and packed weights up to date.
struct ProductSeconds {
  double forward = 0.0;
  double dgrad = 0.0;
  double wgrad = 0.0;
  double sum() const { return forward + dgrad + wgrad; }
};

// One phase, one kind of site: the layers that stand at the same place of their blocks and have one shape.
struct PlanEntry {
  std::int64_t phase = 0;
  std::string
      site;  // site_kind() of its layers; empty: every layer of the shape, as plans of before have it
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t layers = 0;  // of this kind
  bool on = true;
  // A product is packed where the weight's density is below; 0: never. A pattern such as 2:4 has one
  // density, a kept topology goes through many.
  double forward_below = 0.0;
  double dgrad_below = 0.0;
  double wgrad_below = 0.0;
  // The product leaves out the zeros of selected activations, in the layers that have any there.
  bool forward_selected = false;
  bool dgrad_selected = false;
  bool wgrad_selected = false;
  // What was measured, at `density`; all 0 where nothing was.
  double density = 1.0;
  ProductSeconds dense;
  ProductSeconds packed;
  double upkeep = 0.0;     // per micro-batch
  double selection = 0.0;  // of activations, per micro-batch; grows with its tokens
  double sampling = 0.0;   // of a gradient that is sampled and not packed, per micro-batch

  bool packs_activations() const { return forward_selected || dgrad_selected || wgrad_selected; }
  bool packs_forward() const { return forward_selected || density < forward_below; }
  bool packs_dgrad() const { return dgrad_selected || density < dgrad_below; }
  bool packs_wgrad() const { return wgrad_selected || density < wgrad_below; }
  // Whether a product leaves zeros out, at some density at least.
  bool is_packed() const {
    return on && (packs_activations() || forward_below + dgrad_below + wgrad_below > 0.0);
  }
  bool is_of(const LinearSeam& seam) const;
  // Per micro-batch, of the quickest way to run each product.
  double seconds() const;
  void fields(FieldVisitor& visit);
};

// A file of format 1 called `auto` what is `fastest` now.
constexpr std::int64_t kPlanFormat = 2;

struct Plan {
  std::int64_t format = kPlanFormat;
  Execution execution = Execution::kMasked;
  std::string device;       // what it was measured on
  std::int64_t tokens = 0;  // of a micro-batch
  // The share of its time by which packed products slow everything on the device, as measured or as
  // KernelTable::slowed_by_packed expects it, and whether nothing is packed because of that.
  double slowed_by_packed = 0.0;
  bool slows_too_much = false;
  std::vector<PlanEntry> layer;
  void fields(FieldVisitor& visit);

  // How a layer runs; nullptr where the plan says nothing: masked.
  const PlanEntry* find(std::int64_t phase, const LinearSeam& seam) const;
  bool is_on(std::int64_t phase, const LinearSeam& seam) const;
  // Whether a step of the phase, or of any, has products that leave zeros out.
  bool is_packed(std::int64_t phase) const;
  bool is_packed() const;
  bool is_packed_from(std::int64_t phase) const;  // that one, or any behind it
  // Whether FFNs select activations in a phase of a recipe that says so.
  bool selects(std::int64_t phase) const;
};

// Which matrix of an FFN a layer is: what can be selected is the dY of the input, the x of the output.
enum class FfnRole : std::uint8_t { kNone, kInput, kOutput };
FfnRole ffn_role(const LinearSeam& seam);

// "blocks.*.ffn.input" of "blocks.3.ffn.input": where a layer stands in its block.
std::string site_kind(std::string_view name);

// One entry for every phase and kind of site in its scope, all of it masked.
std::vector<PlanEntry> planned_sites(const RecipeConfig& recipe,
                                     const std::deque<LinearSeam>& layers);

// Whether a plan speaks of the sites that a run asks for, and of no others; it may be a plan of before, which
// told layers apart by their shape alone. The first of `sites` that it says nothing about, or of its entries
// that nobody asks for.
struct PlanFit {
  const PlanEntry* missing = nullptr;
  const PlanEntry* unasked = nullptr;
  explicit operator bool() const { return missing == nullptr && unasked == nullptr; }
};
PlanFit fit_of(const Plan& plan, const std::vector<PlanEntry>& sites);

// The plan of `execution` masked or packed: nothing to measure. Kept topologies and activations are
// packed where the backend packs_any_mask() (ops/packing/packed_matrix.h).
Plan fixed_plan(const RecipeConfig& recipe, const std::deque<LinearSeam>& layers,
                bool packs_any_mask);

// The parts of a recipe that are left when the plan is of `fastest`: see above.
RecipeConfig without_masked_parts(RecipeConfig recipe, const Plan& plan);

}  // namespace twill
