// SPDX-License-Identifier: Apache-2.0
// Broken topology updates.
#include <algorithm>
#include <utility>
#include <vector>

#include "ops/selection/topology.h"
#include "papers/broken.h"

namespace twill {
namespace {

// What an update saw, and what the good kernel makes of it.
struct Seen {
  std::vector<float> weight;
  std::vector<std::uint8_t> mask;

  explicit Seen(const TopologyUpdateArgs& args)
      : weight(args.weight.as<float>(), args.weight.as<float>() + args.weight.num_elements()),
        mask(args.mask.as<std::uint8_t>(),
             args.mask.as<std::uint8_t>() + args.mask.num_elements()) {}
};

void good(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  reference_table().topology_update(args, device, queue);
}

template <class T>
void reverse(T* data, std::int64_t count) {
  std::reverse(data, data + count);
}

// The update of the layer read backwards: ties go to the highest index.
void backwards(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  const std::int64_t n = args.mask.num_elements();
  std::vector<float> grad(args.grad.as<float>(), args.grad.as<float>() + n);
  std::ranges::reverse(grad);
  TopologyUpdateArgs turned = args;
  turned.grad = view_of(std::as_const(grad).data(), args.mask.shape());
  const auto turn = [&] {
    reverse(args.weight.as<float>(), n);
    reverse(args.mask.as<std::uint8_t>(), n);
    reverse(args.grown.as<std::uint8_t>(), n);
  };
  turn();
  good(turned, device, queue);
  turn();
}

// Two updates, so that one half can be broken: drop alone, then grow alone among the rest. The
// values of what is dropped and regrown are put back.
template <auto kDrop, auto kGrow>
void in_two_steps(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  const Seen before(args);
  TopologyUpdateArgs drop = args, grow = args;
  drop.num_grad = drop.num_random = 0;
  grow.num_prune = 0;
  kDrop(drop, device, queue);
  kGrow(grow, device, queue);
  for (std::size_t i = 0; i < before.mask.size(); ++i) {
    if (args.mask.as<std::uint8_t>()[i] == 0 || before.mask[i] == 0) continue;
    args.weight.as<float>()[i] = before.weight[i];
    args.grown.as<std::uint8_t>()[i] = 0;
  }
}

const RegisterBreakage kDropTies("topology_update.drop_ties", "Mst_M6*:Mst_M13*",
                                 [](KernelTable& table) {
                                   table.topology_update = in_two_steps<backwards, good>;
                                 });
const RegisterBreakage kGrowTies("topology_update.grow_ties", "Mst_M6*:Mst_M13*",
                                 [](KernelTable& table) {
                                   table.topology_update = in_two_steps<good, backwards>;
                                 });

// Gradients of active weights look like nothing, so that dropped ones are never grown back.
void without_dropped(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  std::vector<float> grad(args.grad.as<float>(), args.grad.as<float>() + args.grad.num_elements());
  for (std::size_t i = 0; i < grad.size(); ++i)
    if (args.mask.as<std::uint8_t>()[i] != 0) grad[i] = 0.0f;
  TopologyUpdateArgs broken = args;
  broken.grad = view_of(std::as_const(grad).data(), args.grad.shape());
  good(broken, device, queue);
}
const RegisterBreakage kDropped("topology_update.no_regrowth", "Mst_M5*:Mst_M6*:Mst_M13*",
                                [](KernelTable& table) {
                                  table.topology_update = without_dropped;
                                });

void grown_not_zeroed(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  good(args, device, queue);
  for (std::int64_t i = 0; i < args.mask.num_elements(); ++i)
    if (args.grown.as<std::uint8_t>()[i] != 0)
      args.weight.as<float>()[i] = -1e-3f * args.grad.as<float>()[i];
}
const RegisterBreakage kGrown("topology_update.grown_not_zero", "Mst_M5*:Mst_M13*",
                              [](KernelTable& table) { table.topology_update = grown_not_zeroed; });

// What was dropped loses its value even when it comes back at once.
void regrown_zeroed(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TopologyUpdateArgs drop = args, grow = args;
  drop.num_grad = drop.num_random = 0;
  grow.num_prune = 0;
  good(drop, device, queue);
  good(grow, device, queue);
}
const RegisterBreakage kRegrown("topology_update.regrown_zero", "Mst_M5*:Mst_M13*",
                                [](KernelTable& table) { table.topology_update = regrown_zeroed; });

void dropped_not_zeroed(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  const Seen before(args);
  good(args, device, queue);
  for (std::size_t i = 0; i < before.mask.size(); ++i)
    if (before.mask[i] != 0) args.weight.as<float>()[i] = before.weight[i];
}
const RegisterBreakage kStays("topology_update.dropped_not_zero", "Mst_M2*:Mst_M5*:Mst_M13*",
                              [](KernelTable& table) {
                                table.topology_update = dropped_not_zeroed;
                              });

// The random part takes the lowest free places.
void lowest_places(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  const Seen before(args);
  TopologyUpdateArgs broken = args;
  broken.num_random = 0;
  good(broken, device, queue);
  std::int64_t left = args.num_random;
  for (std::size_t i = 0; i < before.mask.size() && left > 0; ++i) {
    std::uint8_t& mask = args.mask.as<std::uint8_t>()[i];
    if (mask != 0) continue;
    mask = 1;
    args.grown.as<std::uint8_t>()[i] = before.mask[i] == 0 ? 1 : 0;
    args.weight.as<float>()[i] = before.weight[i];
    --left;
  }
}
const RegisterBreakage kLowest("topology_update.random_is_lowest", "Mst_M6*",
                               [](KernelTable& table) { table.topology_update = lowest_places; });

// The draw forgets which update it is: the same places every time.
const RegisterBreakage kSame("topology_update.same_every_update", "Mst_M6*",
                             [](KernelTable& table) {
                               table.topology_update = [](const TopologyUpdateArgs& args,
                                                          const Device& device, Queue& queue) {
                                 TopologyUpdateArgs broken = args;
                                 broken.update = 0;
                                 good(broken, device, queue);
                               };
                             });

void swapped_counts(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TopologyUpdateArgs broken = args;
  std::swap(broken.num_grad, broken.num_random);
  good(broken, device, queue);
}
const RegisterBreakage kSwapped("topology_update.counts_swapped", "Mst_M6*:Mst_M13*",
                                [](KernelTable& table) { table.topology_update = swapped_counts; });

void without_lambda(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TopologyUpdateArgs broken = args;
  broken.mest_lambda = 0.0;
  good(broken, device, queue);
}
const RegisterBreakage kLambda("topology_update.mest_lambda", "Mst_M13*",
                               [](KernelTable& table) { table.topology_update = without_lambda; });

void magnitude_for_sensitivity(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TopologyUpdateArgs broken = args;
  if (args.score == DropScore::kSensitivity) broken.score = DropScore::kMagnitude;
  good(broken, device, queue);
}
const RegisterBreakage kSensitivity("topology_update.sensitivity", "Mst_M13*",
                                    [](KernelTable& table) {
                                      table.topology_update = magnitude_for_sensitivity;
                                    });

void one_too_few(const TopologyUpdateArgs& args, const Device& device, Queue& queue) {
  TopologyUpdateArgs broken = args;
  broken.num_random = std::max<std::int64_t>(args.num_random, 1) - 1;
  good(broken, device, queue);
}
const RegisterBreakage kFew("topology_update.one_too_few", "Mst_M2*",
                            [](KernelTable& table) { table.topology_update = one_too_few; });

void mean_over_all(const RegrowMomentsArgs& args, const Device& device, Queue& queue) {
  const std::vector<std::uint8_t> all(static_cast<std::size_t>(args.mask.num_elements()), 1);
  RegrowMomentsArgs broken = args;
  broken.mask = view_of(all.data(), args.mask.shape());
  reference_table().regrow_moments(broken, device, queue);
}
const RegisterBreakage kMean("regrow_moments.mean_over_all", "Mst_M5*",
                             [](KernelTable& table) { table.regrow_moments = mean_over_all; });

void first_moment_kept(const RegrowMomentsArgs& args, const Device& device, Queue& queue) {
  std::vector<float> m(args.m.as<float>(), args.m.as<float>() + args.m.num_elements());
  reference_table().regrow_moments(args, device, queue);
  std::ranges::copy(m, args.m.as<float>());
}
const RegisterBreakage kFirst("regrow_moments.keeps_m", "Mst_M5*",
                              [](KernelTable& table) { table.regrow_moments = first_moment_kept; });

}  // namespace
}  // namespace twill
