// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_products.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/products/product_race.h"
#include "backends/cuda/products/product_search.h"
#include "backends/cuda/products/products.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/runtime/stopwatch.h"
#include "backends/cuda/sparsity_kernels.h"
#include "base/hash.h"

namespace twill::cuda {
namespace {

// Launches of a round: a launch of the smallest product that is worth it takes 20 us.
constexpr int kLaunches = 3;
constexpr int kSwizzles[] = {1, 2, 4, 8};
// Below, tiles are few and any order does.
constexpr double kWorthTiming = 1e9;
// Training runs at the power limit, where clocks are a fifth lower and another tile may win than after
// a rest: what takes 50 us and more is heard of there.
constexpr double kWorthHeating = 5e10, kHeatSeconds = 0.15;
constexpr std::int64_t kLeastWorkspace = 256;  // scratch of no bytes does not exist

class SparseState final : public QueueState {
 public:
  Scratch workspace, unpacked;
};

SparseState& state(Queue& queue) {
  CudaQueue& owner = cuda_queue(queue);
  return state_of<SparseState>(owner.sparse);
}

struct Choice {
  std::size_t way = 0;
  SparseOrder order = {};
};

// The name goes into what is kept: another build may have other ways.
std::uint64_t mark_of(const SparseWay& way) {
  const std::string_view name(way.name);
  return hash_bytes(name.data(), name.size());
}

Algorithm to_algorithm(std::span<const SparseWay> ways, const Choice& choice) {
  return {mark_of(ways[choice.way]), choice.order.along_n ? 2u : 1u,
          static_cast<std::uint64_t>(choice.order.swizzle)};
}

// Of the ways that can compute a product.
std::optional<Choice> from_algorithm(std::span<const SparseWay> ways,
                                     std::span<const std::size_t> possible,
                                     const Algorithm& algorithm) {
  for (const std::size_t i : possible)
    if (mark_of(ways[i]) == algorithm[0] &&
        std::ranges::count(kSwizzles, static_cast<int>(algorithm[2])) > 0)
      return Choice{i, {.along_n = algorithm[1] == 2, .swizzle = static_cast<int>(algorithm[2])}};
  return std::nullopt;
}

double flops_of(const SparseProduct& product) {
  return 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
         static_cast<double>(product.k);
}

class Call {
 public:
  Call(SparseEpilogue epilogue, const SparseProduct& product, const Device& device, Queue& queue)
      : ways_(sparse_ways(epilogue)), product_(product), device_(device), queue_(queue) {
    // What is made for this generation leaves older ways behind: they need not be timed.
    int latest = 0;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      if (!ways_[i].runs_on(device.generation) ||
          ways_[i].workspace(product, {}, device.num_sms) < 0)
        continue;
      possible_.push_back(i);
      latest = std::max(latest, ways_[i].oldest_generation);
    }
    std::erase_if(possible_, [&](std::size_t i) { return ways_[i].oldest_generation < latest; });
  }

  bool is_possible() const { return !possible_.empty(); }
  Choice first() const { return {.way = possible_.front()}; }
  // Of the ways among which the choice is.
  std::int64_t mark() const {
    std::string names;
    for (const std::size_t way : possible_) names += std::string(ways_[way].name) + '\n';
    return static_cast<std::int64_t>(hash_bytes(names.data(), names.size()) >> 1);
  }
  std::optional<Choice> choice_of(const Algorithm& algorithm) const {
    return from_algorithm(ways_, possible_, algorithm);
  }
  Algorithm algorithm_of(const Choice& choice) const { return to_algorithm(ways_, choice); }

  bool launch(const Choice& choice) const {
    const SparseWay& way = ways_[choice.way];
    const std::int64_t bytes = way.workspace(product_, choice.order, device_.num_sms);
    std::byte* workspace =
        state(queue_).workspace.at_least(std::max(bytes, kLeastWorkspace), cuda_queue(queue_));
    return way.launch(product_, choice.order, device_.num_sms, workspace, stream_of(queue_));
  }

  Choice quickest() const {
    std::vector<Choice> candidates;
    for (const std::size_t way : possible_)
      for (const bool along_n : {false, true})
        for (const int swizzle : kSwizzles)
          candidates.push_back({way, {.along_n = along_n, .swizzle = swizzle}});
    std::int64_t most = kLeastWorkspace;  // taken once: what is outgrown is kept as well
    for (const Choice& choice : candidates)
      most = std::max(most, ways_[choice.way].workspace(product_, choice.order, device_.num_sms));
    state(queue_).workspace.at_least(most, cuda_queue(queue_));
    Stopwatch stopwatch(stream_of(queue_));
    heat(stopwatch, candidates.front());
    Race race([&](std::size_t candidate) {
      bool runs = launch(candidates[candidate]);
      const double seconds = stopwatch.seconds([&] {
        for (int i = 0; i < kLaunches && runs; ++i) runs = launch(candidates[candidate]);
      });
      return runs ? seconds / kLaunches : std::numeric_limits<double>::infinity();
    });
    for (std::size_t i = 0; i < candidates.size(); ++i) race.enter();
    return candidates[race.finish(/*clearly_better=*/1.0).value_or(0)];
  }

 private:
  void heat(Stopwatch& stopwatch, const Choice& choice) const {
    bool runs = flops_of(product_) >= kWorthHeating;
    for (double spent = 0.0; spent < kHeatSeconds && runs;)
      spent += stopwatch.seconds([&] {
        for (int i = 0; i < kLaunches && runs; ++i) runs = launch(choice);
      });
  }

  std::span<const SparseWay> ways_;
  const SparseProduct& product_;
  const Device& device_;
  Queue& queue_;
  std::vector<std::size_t> possible_;
};

// A build with other ways, or a GPU that runs others, chooses anew: also against two steps. Whether it adds
// to what it has written before does not matter to its time.
ProductKey key_of(SparseEpilogue epilogue, const SparseProduct& product, const Call& call) {
  const bool adds_other = product.addend != nullptr && product.addend != product.d;
  return {.m = product.m,
          .n = product.n,
          .k = product.k,
          .type = static_cast<std::int64_t>(DType::kBf16),
          .result_type = call.mark(),
          .epilogue = 16 + static_cast<std::int64_t>(epilogue),
          .align_bias = product.bias != nullptr ? 16 : 0,
          .align_addend = adds_other ? 16 : 0};
}

bool may_time(const SparseProduct& product, Queue& queue) {
  return flops_of(product) >= kWorthTiming && product.addend != product.d &&
         !cuda_queue(queue).is_recording();
}

// What the run or the machine's file knows of it, in `plan.chosen` afterwards.
bool settle_known(const Call& call, const ProductKey& key, bool has_two_steps, ProductPlan& plan) {
  while (const Algorithm* known = plan.known(key)) {
    if (call.choice_of(*known) || (has_two_steps && *known == kInTwoSteps)) {
      plan.choose_for_run(key, *known);
      return true;
    }
    plan.refuse(key);
  }
  return false;
}

// What a product with an activation inside is compared with, and what it waits for.
struct Around {
  const std::function<void()>* in_two_steps = nullptr;
  const std::function<bool()>* first = nullptr;
};

bool run(SparseEpilogue epilogue, const SparseProduct& product, const Device& device, Queue& queue,
         const Around& around) {
  const Call call(epilogue, product, device, queue);
  if (!call.is_possible()) return false;
  const auto launch = [&](const Choice& choice) {
    return (around.first == nullptr || (*around.first)()) && call.launch(choice);
  };
  ProductPlan& plan = products_of(queue).plan();
  const ProductKey key = key_of(epilogue, product, call);
  if (plan.chosen(key) == nullptr &&
      !settle_known(call, key, around.in_two_steps != nullptr, plan)) {
    if (!may_time(product, queue)) return launch(call.first());
    const Choice best = call.quickest();
    Algorithm winner = call.algorithm_of(best);
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
  return launch(call.choice_of(chosen).value_or(call.first()));
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

View unpacked_scratch(const PackedMatrix& packed, const Device& device, Queue& queue) {
  const Shape shape{packed.shape.rows, packed.shape.cols};
  std::byte* memory =
      state(queue).unpacked.at_least(packed.shape.rows * packed.shape.cols * 2, cuda_queue(queue));
  const View dense(memory, DType::kBf16, shape);
  unpack_matrix({.packed = packed, .dense = dense}, device, queue);
  return dense;
}

}  // namespace twill::cuda
