// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_products.h"

#include <algorithm>

#include "backends/cuda/products/product_search.h"
#include "backends/cuda/products/products.h"
#include "backends/cuda/sparse_products/sparse_cache.h"
#include "backends/cuda/sparse_products/sparse_call.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

// What a product with an activation inside is compared with, and what it waits for.
struct Around {
  const std::function<void()>* in_two_steps = nullptr;
  const std::function<bool()>* first = nullptr;
};

bool run(SparseEpilogue epilogue, const SparseProduct& product, const Device& device, Queue& queue,
         const Around& around) {
  const SparseChoices choices(sparse_ways(epilogue), product, device);
  if (choices.empty()) return false;
  const SparseCall call(choices, product, device, queue);
  const auto launch = [&](const SparseChoice& choice) {
    return (around.first == nullptr || (*around.first)()) && call.launch(choice);
  };
  ProductPlan& plan = products_of(queue).plan();
  const ProductKey key = sparse_key(epilogue, product, choices);
  if (plan.chosen(key) == nullptr &&
      !settle_known(choices, key, around.in_two_steps != nullptr, plan)) {
    if (!call.may_time()) return launch(choices.first());
    const SparseChoice best = call.quickest();
    Algorithm winner = to_algorithm(choices, best);
    if (around.in_two_steps != nullptr) {
      (*around.in_two_steps)();  // searches for its own product
      if (!launch(best) ||       // so does the first
          is_quicker(
              *around.in_two_steps, [&] { launch(best); }, cuda_queue(queue)))
        winner = kInTwoSteps;
    }
    plan.choose_for_run(key, plan.keep_searched(key, winner));
  }
  const Algorithm& chosen = **plan.chosen(key);
  if (chosen == kInTwoSteps) return false;
  return launch(from_algorithm(choices, chosen).value_or(choices.first()));
}

}  // namespace

bool has_sparse_products(const Device& device) {
  return std::ranges::any_of(sparse_ways(SparseEpilogue::kSum),
                             [&](const SparseWay& way) { return way.runs_on(device.generation); });
}

double slowed_by_packed(const Device& device) {
  constexpr int kHopper = 90;
  // Of an H200 at its power limit, driver 580: 671 TFLOP/s of cuBLAS before, 641 behind. Others of its
  // generation are taken to be alike until a plan has measured it.
  constexpr double kSlowed = 0.04;
  return device.generation == kHopper && has_sparse_products(device) ? kSlowed : 0.0;
}

SparseProduct sparse_product(const PackedMatrix& packed) {
  const PackedLayout layout = layout_of(packed.shape);
  return {.m = layout.rows,
          .k = layout.cols,
          .values = packed.storage.bytes(),
          .positions = packed.storage.bytes() + layout.positions_begin()};
}

std::optional<SparseProduct> sparse_product(const PackedMatrix& packed, std::int64_t row,
                                            std::int64_t count) {
  const PackedLayout layout = layout_of(packed.shape);
  if (!layout.can_begin_at(row) || count % 8 != 0) return std::nullopt;
  return SparseProduct{.m = count,
                       .k = layout.cols,
                       .values = packed.storage.bytes() + layout.values_from(row),
                       .positions = packed.storage.bytes() + layout.positions_from(row),
                       .whole_atoms_down = layout.atoms_down()};
}

bool run_sparse(SparseEpilogue epilogue, const SparseProduct& product, const Device& device,
                Queue& queue) {
  return run(epilogue, product, device, queue, {});
}

bool run_sparse_fused(SparseEpilogue epilogue, const SparseProduct& product, const Device& device,
                      Queue& queue, const std::function<void()>& in_two_steps,
                      const std::function<bool()>& first) {
  return run(epilogue, product, device, queue,
             {.in_two_steps = &in_two_steps, .first = first ? &first : nullptr});
}

std::string sparse_way_name(SparseEpilogue epilogue, const SparseProduct& product,
                            const Device& device, Queue& queue) {
  const SparseChoices choices(sparse_ways(epilogue), product, device);
  if (choices.empty()) return {};
  const auto name_of = [&](const SparseChoice& choice) { return choices.ways()[choice.way].name; };
  const std::optional<Algorithm>* chosen =
      products_of(queue).plan().chosen(sparse_key(epilogue, product, choices));
  if (chosen == nullptr) return name_of(choices.first());
  if (**chosen == kInTwoSteps) return {};
  return name_of(from_algorithm(choices, **chosen).value_or(choices.first()));
}

}  // namespace twill::cuda
