// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_call.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cuda/products/product_race.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"
#include "backends/cuda/sparsity_kernels.h"

namespace twill::cuda {
namespace {

// Launches of a round: a launch of the smallest product that is worth it takes 20 us.
constexpr int kLaunches = 3;
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

double flops_of(const SparseProduct& product) {
  return 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
         static_cast<double>(product.k);
}

}  // namespace

bool SparseCall::launch(const SparseChoice& choice) const {
  const SparseWay& way = choices_.ways()[choice.way];
  const std::int64_t bytes = way.workspace(product_, choice.order, device_.num_sms);
  std::byte* workspace =
      state(queue_).workspace.at_least(std::max(bytes, kLeastWorkspace), cuda_queue(queue_));
  return way.launch(product_, choice.order, device_.num_sms, workspace, stream_of(queue_));
}

bool SparseCall::may_time() const {
  return flops_of(product_) >= kWorthTiming && product_.addend != product_.d &&
         !cuda_queue(queue_).is_recording();
}

SparseChoice SparseCall::quickest() const {
  const std::vector<SparseChoice> candidates = choices_.all();
  std::int64_t most = kLeastWorkspace;  // taken once: what is outgrown is kept as well
  for (const SparseChoice& choice : candidates)
    most = std::max(most,
                    choices_.ways()[choice.way].workspace(product_, choice.order, device_.num_sms));
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

void SparseCall::heat(Stopwatch& stopwatch, const SparseChoice& choice) const {
  bool runs = flops_of(product_) >= kWorthHeating;
  for (double spent = 0.0; spent < kHeatSeconds && runs;)
    spent += stopwatch.seconds([&] {
      for (int i = 0; i < kLaunches && runs; ++i) runs = launch(choice);
    });
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
