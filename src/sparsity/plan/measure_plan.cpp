// SPDX-License-Identifier: Apache-2.0
#include "sparsity/plan/measure_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "nn/builder.h"
#include "ops/packing/packed_matrix.h"
#include "ops/transfer.h"
#include "sparsity/plan/activation_probe.h"
#include "sparsity/plan/layer_probe.h"
#include "sparsity/recipe/scope.h"

namespace twill {
namespace {

// A product that is timed has at most so many FLOPs: 30 ms on two good cores.
constexpr double kMostFlops = 8e9;
// The reference computes naively: its plan need not be good, but must end.
constexpr double kMostReferenceFlops = 1e7;
// Packed must win by so much: timings of a busy machine differ by as much between calls, and a tie goes to the
// simpler form. A GPU has its own clock, both take turns on it, and at its power limit a packed product leaves
// more for what runs beside it than its time alone tells: at d 1600 packed weight gradients take 0.97 of dense
// ones, and the FFN gains 2 % by them.
constexpr double kProductMargin = 0.97, kProductMarginOfGpu = 0.99, kLayerMargin = 0.98;
// A kept topology is measured at two densities, and its time taken as a line through both.
constexpr double kSparser = 0.1, kDenser = 0.5;
// Nobody gains above: at 0.6 of the entries the best packed product is as quick as a dense one.
constexpr double kDensest = 0.6;

struct Line {
  double at_zero = 0.0, slope = 0.0;
  double operator()(double density) const { return at_zero + slope * density; }
  // The density below which the line stays under `limit`.
  double below(double limit) const {
    if (slope <= 0.0) return at_zero < limit ? kDensest : 0.0;
    return std::clamp((limit - at_zero) / slope, 0.0, kDensest);
  }
};

Line line_through(double sparser, double denser) {
  const double slope = (denser - sparser) / (kDenser - kSparser);
  return {.at_zero = sparser - slope * kSparser, .slope = slope};
}

// Whether two layers do the same with their products, wherever they stand.
bool describes_same_work(const LinearSeam& a, const LinearSeam& b) {
  return a.width_axis == b.width_axis && a.adds_bias == b.adds_bias && a.sums_bias == b.sums_bias &&
         a.adds_residual == b.adds_residual && a.activates == b.activates &&
         a.activated == b.activated && a.piece == b.piece;
}

struct TopologyLines {
  Line forward, dgrad, wgrad;
  double upkeep = 0.0, new_mask = 0.0;
};

class Planner {
 public:
  Planner(const Context& context, const RecipeConfig& recipe, const std::deque<LinearSeam>& layers,
          const PlanRequest& request)
      : context_(context), recipe_(recipe), layers_(layers), request_(request) {}

  Plan measure() {
    Plan plan;
    plan.execution = recipe_.execution;
    plan.device = context_.kernels().describe();
    plan.tokens = request_.tokens;
    plan.layer = planned_sites(recipe_, layers_);
    for (PlanEntry& entry : plan.layer)
      entry.on = as_written() || phase_of(entry).activations.is_dense();
    const double expected = slowed_by_packed(context_);
    const bool measures = expected > 0.0 && request_.is_alone && !plan.layer.empty();
    const double settled = measures ? probe(plan.layer.front()).settled_seconds() : 0.0;
    std::int64_t done = 0;
    for (PlanEntry& entry : plan.layer) {
      if (request_.progress)
        request_.progress(done++, static_cast<std::int64_t>(plan.layer.size()));
      if (const PlanEntry* same = decided_alike(entry, plan)) {
        entry = with_site_of(*same, entry);
      } else if (phase_of(entry).activations.is_dense() || role_of(entry) == FfnRole::kNone) {
        decide(entry);
      } else {
        decide_selecting(entry, plan);
      }
    }
    if (!as_written()) join_topologies(plan);
    plan.slowed_by_packed =
        measures && plan.is_packed() ? slowed_since(settled, plan.layer.front()) : expected;
    if (plan.slowed_by_packed > 0.0 && plan.is_packed()) drop_what_slows(plan);
    return plan;
  }

 private:
  // Only how the recipe runs is open, not whether.
  bool as_written() const { return recipe_.execution != Execution::kFastest; }

  const PhaseConfig& phase_of(const PlanEntry& entry) const {
    return recipe_.phase[static_cast<std::size_t>(entry.phase)];
  }

  const LinearSeam& seam_of(const PlanEntry& entry) const {
    const PhaseConfig& phase = phase_of(entry);
    const auto& words = phase.layers.empty() ? recipe_.layers : phase.layers;
    return *std::ranges::find_if(layers_, [&](const LinearSeam& seam) {
      return entry.is_of(seam) && is_in_scope(seam, words);
    });
  }

  bool any_matches(const std::vector<std::string>& globs, const PlanEntry& entry) const {
    return std::ranges::any_of(layers_, [&](const LinearSeam& seam) {
      return entry.is_of(seam) && matches_any(globs, seam.name);
    });
  }

  FfnRole role_of(const PlanEntry& entry) const { return ffn_role(seam_of(entry)); }

  // Layers of the same work at different places: one timing serves both.
  bool is_same_work(const PlanEntry& a, const PlanEntry& b) const {
    const LinearSeam &one = seam_of(a), &other = seam_of(b);
    const PhaseConfig& phase = phase_of(a);
    const auto same_globs = [&](const std::vector<std::string>& globs) {
      return any_matches(globs, a) == any_matches(globs, b);
    };
    return a.phase == b.phase && a.outputs == b.outputs && a.inputs == b.inputs &&
           describes_same_work(one, other) && same_globs(phase.weights.forward) &&
           same_globs(phase.weights.dgrad);
  }
  // An entry in front of this one; none of an FFN that selects, whose two matrices are decided together.
  const PlanEntry* decided_alike(const PlanEntry& entry, const Plan& plan) const {
    if (!phase_of(entry).activations.is_dense()) return nullptr;
    for (const PlanEntry& before : plan.layer) {
      if (&before == &entry) break;
      if (is_same_work(before, entry)) return &before;
    }
    return nullptr;
  }
  static PlanEntry with_site_of(PlanEntry decided, const PlanEntry& entry) {
    decided.site = entry.site;
    decided.layers = entry.layers;
    return decided;
  }

  // The other matrix of the FFN whose input matrix this is; nullptr where it cannot select.
  PlanEntry* output_of(const PlanEntry& input, Plan& plan) const {
    const ActivationsPart& part = phase_of(input).activations;
    const std::string ffn = input.site.substr(0, input.site.rfind('.') + 1);
    const auto found = std::ranges::find_if(plan.layer, [&](const PlanEntry& entry) {
      return entry.phase == input.phase && entry.outputs == input.inputs &&
             entry.inputs == input.outputs && role_of(entry) == FfnRole::kOutput &&
             entry.site.starts_with(ffn);
    });
    const std::int64_t m = part.window();
    return found != plan.layer.end() && input.outputs % m == 0 ? &*found : nullptr;
  }

  // Of a topology, which has phases: what is measured of a site is the same in all of them.
  static std::string key_of(const PlanEntry& entry) {
    return fmt::format("{} {} {}", entry.site, entry.outputs, entry.inputs);
  }

  std::int64_t probed_tokens(const PlanEntry& entry) const {
    const std::int64_t piece = seam_of(entry).piece;
    const std::int64_t tokens = piece > 0 ? std::min(piece, request_.tokens) : request_.tokens;
    if (!shares_memory(context_)) return tokens;  // milliseconds at most
    const double flops = 2.0 * static_cast<double>(entry.outputs * entry.inputs);
    const bool is_naive = context_.kernels().benches.plain_gemm == nullptr;
    const auto most =
        static_cast<std::int64_t>((is_naive ? kMostReferenceFlops : kMostFlops) / flops) / 64 * 64;
    return std::min(tokens, std::max<std::int64_t>(most, 64));
  }

  LayerProbe probe(const PlanEntry& entry, bool samples = false) {
    const std::int64_t tokens = probed_tokens(entry);
    scale_ = static_cast<double>(request_.tokens) / static_cast<double>(tokens);
    return LayerProbe(context_, seam_of(entry), tokens, request_.type, samples);
  }

  ProductSeconds scaled(ProductSeconds seconds) const {
    return {.forward = scale_ * seconds.forward,
            .dgrad = scale_ * seconds.dgrad,
            .wgrad = scale_ * seconds.wgrad};
  }

  void decide(PlanEntry& entry) {
    const PhaseConfig& phase = phase_of(entry);
    const bool only_masked = phase.weights.is_dense() ||
                             phase.quantise.format != NumberFormat::kNone ||
                             (phase.weights.is_topology() && !packs_any_mask(context_));
    entry.on = !only_masked && packs_matrices(context_, request_.type);
    if (!entry.on && as_written()) return measure_masked(entry, phase);
    if (!entry.on) {
      // A phase of sparse attention alone asks nothing of the weights.
      entry.on = phase.weights.is_dense() && phase.quantise.format == NumberFormat::kNone &&
                 phase.activations.is_dense() && phase.wgrad.estimator == WgradEstimator::kDense;
      return;
    }
    if (phase.weights.is_topology()) {
      decide_topology(entry, phase);
    } else {
      decide_pattern(entry, phase);
    }
  }

  // What nothing here can pack: what it costs as written, beside dense.
  void measure_masked(PlanEntry& entry, const PhaseConfig& phase) {
    entry.on = true;
    const bool samples = phase.wgrad.is_sample();
    LayerProbe layer = probe(entry, samples);
    entry.packed = entry.dense = scaled(layer.as_in_a_step());
    if (samples) entry.sampling = scale_ * layer.sampling(phase, entry.dense.wgrad / scale_);
    if (phase.weights.is_dense() || phase.weights.is_topology()) return;
    const LayerProbe::Upkeep upkeep{
        .packs_forward = false, .packs_dgrad = false, .decays_apart = decays_apart()};
    entry.upkeep = layer.pattern_upkeep(phase, upkeep) / static_cast<double>(request_.accumulation);
  }

  // An FFN that selects activations: both of its matrices, when the first is met.
  void decide_selecting(PlanEntry& input, Plan& plan) {
    const PhaseConfig& phase = phase_of(input);
    const bool is_input = role_of(input) == FfnRole::kInput;
    if (is_input && phase.quantise.format == NumberFormat::kNone && packs_any_mask(context_))
      if (PlanEntry* output = output_of(input, plan)) return decide_ffn(input, output, phase);
    if (as_written() && input.dense.sum() == 0.0) measure_masked(input, phase);
  }

  void decide_ffn(PlanEntry& input, PlanEntry* output, const PhaseConfig& phase) {
    for (PlanEntry* entry : {&input, output}) {
      if (phase.weights.is_dense()) {
        entry->packed = entry->dense = scaled(probe(*entry).dense());
      } else {
        decide_pattern(*entry, phase);
      }
    }
    const std::int64_t tokens = probed_tokens(input);
    const auto seconds =
        ActivationProbe(context_, seam_of(input), tokens, phase.activations).measure();
    const ProductSeconds of_input = scaled(seconds.input), of_output = scaled(seconds.output);
    const auto choose = [](double selected, double dense, double& packed, double& below) {
      const bool gains = selected < kProductMargin * dense && (below == 0.0 || selected < packed);
      if (gains || below == 0.0) packed = selected;
      if (gains) below = 0.0;
      return gains;
    };
    input.dgrad_selected =
        choose(of_input.dgrad, input.dense.dgrad, input.packed.dgrad, input.dgrad_below);
    input.wgrad_selected =
        choose(of_input.wgrad, input.dense.wgrad, input.packed.wgrad, input.wgrad_below);
    output->forward_selected = choose(of_output.forward, output->dense.forward,
                                      output->packed.forward, output->forward_below);
    output->wgrad_selected =
        choose(of_output.wgrad, output->dense.wgrad, output->packed.wgrad, output->wgrad_below);
    input.selection = scale_ * seconds.input_selection;
    output->selection = scale_ * seconds.output_selection;
    input.on = output->on = true;  // for seconds()
    if (as_written()) return;
    input.on = output->on = (input.packs_activations() || output->packs_activations()) &&
                            input.seconds() + output->seconds() <
                                kLayerMargin * (input.dense.sum() + output->dense.sum());
  }

  void decide_pattern(PlanEntry& entry, const PhaseConfig& phase) {
    const bool samples = phase.wgrad.is_sample();
    LayerProbe layer = probe(entry, samples);
    const LayerProbe::Compared seconds = layer.compare(phase);
    entry.packed = scaled(seconds.packed);
    entry.dense = scaled(seconds.dense);
    if (!samples) entry.packed.wgrad = entry.dense.wgrad;
    entry.density = phase.weights.pattern == WeightPattern::kVenom
                        ? 2.0 / static_cast<double>(phase.weights.m)
                        : 0.5;
    const double margin = shares_memory(context_) ? kProductMargin : kProductMarginOfGpu;
    const auto below = [margin](double packed_one, double dense_one) {
      return packed_one < margin * dense_one ? kDensest : 0.0;
    };
    // A product that the recipe leaves dense has nothing to gain.
    if (!any_matches(phase.weights.forward, entry)) entry.packed.forward = entry.dense.forward;
    if (!any_matches(phase.weights.dgrad, entry)) entry.packed.dgrad = entry.dense.dgrad;
    // What this backend cannot pack has no time: it runs as dense does.
    const auto possible = [](double& packed_one, double dense_one) {
      if (!std::isfinite(packed_one)) packed_one = dense_one;
    };
    const bool packs_sample = samples && std::isfinite(entry.packed.wgrad);
    possible(entry.packed.forward, entry.dense.forward);
    possible(entry.packed.dgrad, entry.dense.dgrad);
    possible(entry.packed.wgrad, entry.dense.wgrad);
    entry.forward_below = below(entry.packed.forward, entry.dense.forward);
    entry.dgrad_below = below(entry.packed.dgrad, entry.dense.dgrad);
    // As written the gradient is sampled in any case: by dense products that costs more than a dense one.
    if (samples && as_written())
      entry.sampling = scale_ * layer.sampling(phase, entry.dense.wgrad / scale_);
    entry.wgrad_below =
        packs_sample ? below(entry.packed.wgrad, entry.dense.wgrad + entry.sampling) : 0.0;
    const LayerProbe::Upkeep upkeep{.packs_forward = entry.packs_forward(),
                                    .packs_dgrad = entry.packs_dgrad(),
                                    .decays_apart = decays_apart()};
    entry.upkeep = layer.pattern_upkeep(phase, upkeep) / static_cast<double>(request_.accumulation);
    entry.on = as_written() || entry.seconds() < kLayerMargin * entry.dense.sum();
    if (as_written() && entry.forward_below + entry.dgrad_below > 0.0)
      keep_if_worth_packing(entry, layer, phase);
  }

  // Packing is paid by all tokens together: where there are few, masked weights are quicker.
  void keep_if_worth_packing(PlanEntry& entry, LayerProbe& layer, const PhaseConfig& phase) const {
    const LayerProbe::Upkeep nothing{
        .packs_forward = false, .packs_dgrad = false, .decays_apart = decays_apart()};
    PlanEntry masked = entry;
    masked.forward_below = masked.dgrad_below = 0.0;
    masked.upkeep =
        layer.pattern_upkeep(phase, nothing) / static_cast<double>(request_.accumulation);
    if (entry.seconds() >= kLayerMargin * masked.seconds()) entry = masked;
  }

  // On a device AdamW does it on the way: the mask is 1 of some 30 bytes of a weight that it moves.
  bool decays_apart() const {
    return shares_memory(context_) || context_.kernels().adamw_all == nullptr ||
           !recipe_.steps_on_device();
  }

  void decide_topology(PlanEntry& entry, const PhaseConfig& phase) {
    const std::string key = key_of(entry);
    if (!lines_.contains(key)) measure_lines(entry);
    const TopologyLines& lines = lines_.at(key);
    entry.dense = dense_.at(key);
    entry.density = std::min(phase.topology.density, phase.topology.end());
    entry.packed = {.forward = lines.forward(entry.density),
                    .dgrad = lines.dgrad(entry.density),
                    .wgrad = lines.wgrad(entry.density)};
    // A step that moves the topology has the dense wgrad, and packs anew.
    const auto accumulation = static_cast<double>(request_.accumulation);
    const auto interval = static_cast<double>(phase.topology.interval_in(request_.steps));
    const double move =
        lines.new_mask + accumulation * std::max(0.0, entry.dense.wgrad - entry.packed.wgrad);
    entry.upkeep = (lines.upkeep + move / interval) / accumulation;
    entry.forward_below = lines.forward.below(kProductMargin * entry.dense.forward);
    entry.dgrad_below = lines.dgrad.below(kProductMargin * entry.dense.dgrad);
    entry.wgrad_below = lines.wgrad.below(kProductMargin * entry.dense.wgrad);
    if (!as_written() || entry.seconds() < kLayerMargin * entry.dense.sum()) return;
    entry = unpacked_of(entry);
    entry.upkeep = 0.0;
  }

  void measure_lines(const PlanEntry& entry) {
    const std::string key = key_of(entry);
    LayerProbe layer = probe(entry);
    dense_[key] = scaled(layer.dense());
    const LayerProbe::Topology sparser = layer.topology(kSparser), denser = layer.topology(kDenser);
    const ProductSeconds low = scaled(sparser.products), high = scaled(denser.products);
    lines_[key] = {.forward = line_through(low.forward, high.forward),
                   .dgrad = line_through(low.dgrad, high.dgrad),
                   .wgrad = line_through(low.wgrad, high.wgrad),
                   .upkeep = sparser.upkeep,
                   .new_mask = sparser.new_mask};
  }

  // One topology has one set of layers in all its phases: a shape is on in all of them if it gains
  // where it is sparsest.
  void join_topologies(Plan& plan) const {
    std::map<std::string, bool> gains;
    for (const PlanEntry& entry : plan.layer)
      if (phase_of(entry).weights.is_topology())
        gains[key_of(entry)] |= entry.on && entry.seconds() < kLayerMargin * entry.dense.sum();
    for (PlanEntry& entry : plan.layer)
      if (phase_of(entry).weights.is_topology()) entry.on = gains.at(key_of(entry));
  }

  // By what a dense product takes longer than it did before anything was packed. The driver lowers clocks when
  // work comes to a GPU that had none.
  double slowed_since(double settled, const PlanEntry& entry) {
    constexpr auto kRest = std::chrono::milliseconds(300);
    LayerProbe again = probe(entry);
    std::this_thread::sleep_for(kRest);
    return std::max(0.0, again.settled_seconds() / settled - 1.0);
  }

  // Where no phase gains as much as packed products take from everything beside them, nothing is packed. One
  // that does has paid for the others.
  void drop_what_slows(Plan& plan) const {
    for (std::int64_t phase = 0; phase < std::ssize(recipe_.phase); ++phase) {
      double gained = 0.0, dense = 0.0, weights = 0.0;
      for (const PlanEntry& entry : plan.layer) {
        if (entry.phase != phase || entry.dense.sum() == 0.0) continue;
        const auto layers = static_cast<double>(entry.layers);
        dense += layers * entry.dense.sum();
        weights += layers * static_cast<double>(entry.outputs * entry.inputs);
        const double unpacked = as_written() ? unpacked_of(entry).seconds() : entry.dense.sum();
        if (entry.on) gained += layers * (unpacked - entry.seconds());
      }
      if (weights > 0.0 && gained >= plan.slowed_by_packed * dense * all_weights() / weights)
        return;
    }
    plan.slows_too_much = true;
    for (PlanEntry& entry : plan.layer) {
      if (entry.dense.sum() == 0.0) continue;
      if (as_written())
        entry = unpacked_of(entry);
      else
        entry.on = false;
    }
  }
  static PlanEntry unpacked_of(PlanEntry entry) {
    entry.forward_below = entry.dgrad_below = entry.wgrad_below = 0.0;
    entry.forward_selected = entry.dgrad_selected = entry.wgrad_selected = false;
    return entry;
  }

  // Layers out of scope as well: their products go at the rate of the measured ones, more or less.
  double all_weights() const {
    double sum = 0.0;
    for (const LinearSeam& seam : layers_)
      sum += static_cast<double>(seam.weight->shape.num_elements());
    return sum;
  }

  const Context& context_;
  const RecipeConfig& recipe_;
  const std::deque<LinearSeam>& layers_;
  const PlanRequest& request_;
  double scale_ = 1.0;
  std::map<std::string, TopologyLines> lines_;  // by key_of()
  std::map<std::string, ProductSeconds> dense_;
};

}  // namespace

Plan measure_plan(const Context& context, const RecipeConfig& recipe,
                  const std::deque<LinearSeam>& layers, const PlanRequest& request) {
  return Planner(context, recipe, layers, request).measure();
}

}  // namespace twill
