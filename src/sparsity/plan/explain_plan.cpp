// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/explain_plan.h"

#include <algorithm>

#include "ops/packing/packed_matrix.h"
#include "ops/transfer.h"
#include "sparsity/plan/activation_probe.h"
#include "sparsity/plan/layer_probe.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

// On a CPU the kernel is the same for every number of tokens that is packed at all, and 64 are soon done.
constexpr std::int64_t kFewTokens = 64;

class Watched {
 public:
  explicit Watched(Context& context) : context_(context), before_(context.observer) {
    context.observer = &names_;
  }
  ~Watched() { context_.observer = before_; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  const std::vector<NamedProduct>& products() const { return names_.products(); }

 private:
  Context& context_;
  OpObserver* before_;
  KernelNames names_;
};

std::string why_not_packed(const Context& context, const PhaseConfig& phase, DType type) {
  if (phase.weights.is_dense() && phase.activations.is_dense())
    return "the phase has dense weights";
  if (phase.quantise.format != NumberFormat::kNone)
    return "a simulated number format runs with dense operands only";
  if (!packs_matrices(context, type))
    return std::string("the ") + context.kernels().name + " backend has no packed products of " +
           name_of(type);
  if ((phase.weights.is_topology() || phase.weights.is_dense()) && !packs_any_mask(context))
    return std::string("the ") + context.kernels().name + " backend packs 2:4 patterns only";
  return {};
}

const LinearSeam& seam_of(const PlanEntry& entry, const std::deque<LinearSeam>& layers) {
  return *std::ranges::find_if(layers, [&](const LinearSeam& seam) { return entry.is_of(seam); });
}

bool leaves_out_activations(const PlanEntry& entry, const std::string& product) {
  if (product == "forward") return entry.forward_selected;
  if (product == "dgrad") return entry.dgrad_selected;
  return entry.wgrad_selected;
}

// Products of an FFN's matrix without the zeros of selected activations, in place of those that pack the
// weight where the plan takes them, or where nothing else is packed.
void add_selecting(Context& context, const PhaseConfig& phase, const LinearSeam& seam,
                   std::int64_t rows, ExplainedSite& site) {
  const FfnRole role = ffn_role(seam);
  if (role == FfnRole::kNone || phase.activations.is_dense() || !packs_any_mask(context)) return;
  LinearSeam input = seam;  // of the shape (hidden, width), whichever of the two matrices this is
  Parameter turned = *seam.weight;
  if (role == FfnRole::kOutput) turned.shape = {seam.weight->shape[1], seam.weight->shape[0]};
  input.weight = &turned;
  ActivationProbe probe(context, input, rows, phase.activations);
  const Watched watched(context);
  probe.run();
  const char* own = role == FfnRole::kInput ? "ffn.input" : "ffn.output";
  for (const NamedProduct& product : watched.products()) {
    if (product.site != own) continue;
    const auto other = std::ranges::find(site.packed, product.product, &NamedProduct::product);
    if (other == site.packed.end())
      site.packed.push_back(product);
    else if (leaves_out_activations(site.entry, product.product))
      *other = product;
  }
}

}  // namespace

void KernelNames::product(const Context& context, const Product& product) {
  const std::string site = site_kind(product.label.site);
  Verdict verdict = can_run(context, product);
  const auto known = std::ranges::find_if(products_, [&](const NamedProduct& one) {
    return one.site == site && one.product == product.label.product &&
           one.verdict.kernel == verdict.kernel;
  });
  if (known != products_.end()) {
    ++known->count;
    return;
  }
  products_.push_back({.site = site,
                       .product = std::string(product.label.product),
                       .verdict = std::move(verdict),
                       .count = 1});
}

std::vector<ExplainedSite> explain_plan(Context& context, const RecipeConfig& recipe,
                                        const std::deque<LinearSeam>& layers, const Plan& plan,
                                        std::int64_t tokens, DType type) {
  std::vector<ExplainedSite> sites;
  for (const PlanEntry& entry : planned_sites(recipe, layers)) {
    const PhaseConfig& phase = recipe.phase[static_cast<std::size_t>(entry.phase)];
    const LinearSeam& seam = seam_of(entry, layers);
    const PlanEntry* planned = plan.find(entry.phase, seam);
    ExplainedSite site{.phase = entry.phase, .entry = planned != nullptr ? *planned : entry};
    site.entry.site = entry.site;
    site.unpacked_reason = why_not_packed(context, phase, type);
    std::int64_t rows = shares_memory(context) ? std::min(tokens, kFewTokens) : tokens;
    if (seam.piece > 0) rows = std::min(rows, seam.piece);
    LayerProbe probe(context, seam, rows, type, phase.wgrad.is_sample());
    // A device chooses among its ways when a product first runs.
    if (!shares_memory(context)) probe.run_dense();
    {
      const Watched watched(context);
      probe.run_dense();
      site.dense = watched.products();
    }
    if (site.unpacked_reason.empty() && !phase.weights.is_dense()) {
      const auto run = [&] {
        if (phase.weights.is_topology())
          probe.run_topology(std::min(phase.topology.density, phase.topology.end()));
        else
          probe.run_pattern(phase);
      };
      if (!shares_memory(context)) run();
      const Watched watched(context);
      run();
      site.packed = watched.products();
    }
    if (site.unpacked_reason.empty()) add_selecting(context, phase, seam, rows, site);
    wait(context);
    sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace twill
