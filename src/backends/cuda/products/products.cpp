// SPDX-License-Identifier: Apache-2.0
// The library's first guess is often some percent behind its best, so the candidates for a large
// product are timed once and the winner is kept: the same product then always runs the same
// algorithm. All candidates add up in f32 and in a fixed order.
#include "backends/cuda/products/products.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/products/product_choices.h"
#include "backends/cuda/products/product_search.h"
#include "base/log.h"
#include "ops/moved_bytes.h"

namespace twill::cuda {
namespace {

// From here on a product is worth a search: 30 us on an H200. The products of a text that is
// written token by token, each of a size of its own, stay below it.
constexpr double kLargeFlop = 2e10;
// A model has some 30 large products: 10 s once for a machine. One with many more gets the
// library's first few proposals for the rest.
constexpr double kSecondsPerProduct = 0.3;
constexpr double kSecondsInAll = 12.0;

Machine machine_of(const CudaQueue& queue) {
  int index = 0, driver = 0;
  TWILL_CUDA_CHECK(cudaStreamGetDevice(queue.stream(), &index));
  TWILL_CUDA_CHECK(cudaDriverGetVersion(&driver));
  cudaDeviceProp properties{};
  TWILL_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  return {.gpu = properties.name,
          .num_sms = properties.multiProcessorCount,
          .cublaslt_version = static_cast<std::int64_t>(cublasLtGetVersion()),
          .driver = driver};
}

ProductPlan open_plan(const CudaQueue& queue) {
  const Machine machine = machine_of(queue);
  return {machine, default_products_path(machine)};
}

std::optional<Algorithm> first_of(const std::vector<Algorithm>& algorithms) {
  return algorithms.empty() ? std::nullopt : std::optional(algorithms.front());
}

}  // namespace

bool is_large(const GemmArgs& args) { return counted_flops(args) >= kLargeFlop; }

Products::Products(const CudaQueue& queue) : plan_(open_plan(queue)) {
  TWILL_CUBLAS_CHECK(cublasLtCreate(&handle_));
}

Products::~Products() { static_cast<void>(cublasLtDestroy(handle_)); }

Products& products_of(Queue& queue) {
  CudaQueue& owner = cuda_queue(queue);
  return state_of<Products>(owner.products, owner);
}

bool Products::launch(const GemmArgs& args, const std::optional<Algorithm>& algorithm,
                      CudaQueue& queue) {
  if (!algorithm || *algorithm == kInTwoSteps) return false;
  ProductCall call(args);
  TWILL_CUBLAS_CHECK(call.launch(handle_, *algorithm, workspace_.at_least(kWorkspaceBytes, queue),
                                 queue.stream()));
  return true;
}

bool Products::run(const GemmArgs& args, CudaQueue& queue) {
  const ProductKey key = describe(args);
  if (plan_.chosen(key) == nullptr) settle(args, key, decide(args, key, queue));
  return launch(args, *plan_.chosen(key), queue);
}

bool Products::run_first_guess(const GemmArgs& args, CudaQueue& queue) {
  const auto [guess, is_new] = first_guesses_.try_emplace(describe(args));
  if (is_new) guess->second = first_of(ProductCall(args).candidates(handle_, kAllReductions, 1));
  return launch(args, guess->second, queue);
}

// Why the gradient of GELU is computed inside a product, or behind it. The first that holds:
//   gemm_fuses() says no: another activation, a bias, operands off 16 bytes    behind: never here
//   the run or the file of this machine knows                                  as they say
//   the library has no algorithm with it                                       behind
//   a small product: one launch less                                           inside
//   one that cannot be timed: work is recorded, memory is short                inside
//   the two steps take less than 0.98 of the fused product's time              behind
//   otherwise                                                                  inside
// 350M's gradient took 0.82 ms inside a product that takes 0.35 ms alone; most other shapes are
// quicker inside.
void Products::settle_epilogue(const GemmArgs& args, CudaQueue& queue,
                               const std::function<void()>& in_two_steps) {
  const ProductKey key = describe(args);
  if (plan_.chosen(key) != nullptr) return;
  Decision decision = decide(args, key, queue);
  if (decision.origin == Origin::kSearched) {
    in_two_steps();  // searches for its own product
    const auto fused = [&] { launch(args, decision.algorithm, queue); };
    if (is_quicker(in_two_steps, fused, queue)) decision.algorithm = kInTwoSteps;
  }
  settle(args, key, decision);
}

bool Products::can_run(const GemmArgs& args, const Algorithm& algorithm) {
  if (algorithm == kInTwoSteps) return args.epilogue != GemmEpilogue::kNone;
  return ProductCall(args).takes(handle_, algorithm);
}

Products::Decision Products::decide(const GemmArgs& args, const ProductKey& key, CudaQueue& queue) {
  while (const Algorithm* known = plan_.known(key)) {
    if (can_run(args, *known)) return {*known, Origin::kKnown};
    plan_.refuse(key);
  }
  if (is_large(args)) return search_for(args, queue);
  return {first_of(ProductCall(args).candidates(handle_, f32_reductions(args), 1)),
          Origin::kProduct};
}

Products::Decision Products::search_for(const GemmArgs& args, CudaQueue& queue) {
  const std::optional<Algorithm> guess =
      first_of(ProductCall(args).candidates(handle_, f32_reductions(args), 1));
  if (!guess) {
    if (args.epilogue == GemmEpilogue::kNone)
      log_warning(
          fmt::format("{}: cuBLASLt has no algorithm for it; a plain kernel takes its place and is "
                      "many times slower",
                      name_of(args)));
    return {std::nullopt, Origin::kProduct};
  }
  // Work that is being recorded does not run, so it cannot be timed.
  if (queue.is_recording()) return {guess, Origin::kMachine};
  std::vector<Algorithm> proposals = proposals_for(args, handle_);
  if (proposals.empty()) return {guess, Origin::kProduct};
  const auto begin = std::chrono::steady_clock::now();
  const SearchPlace place{
      .handle = handle_,
      .workspace = workspace_.at_least(kWorkspaceBytes, queue),
      .queue = queue,
      .seconds = std::clamp(kSecondsInAll - search_seconds_, 0.0, kSecondsPerProduct)};
  const std::optional<Algorithm> found = search(args, std::move(proposals), place);
  search_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!found) return {guess, Origin::kMachine};
  return {found, Origin::kSearched};
}

void Products::settle(const GemmArgs& args, const ProductKey& key, const Decision& decision) {
  if (decision.origin == Origin::kProduct) return plan_.choose(key, decision.algorithm);
  const Algorithm& own = *decision.algorithm;
  if (decision.origin != Origin::kSearched) return plan_.choose_for_run(key, own);
  const Algorithm kept = plan_.keep_searched(key, own);
  plan_.choose_for_run(key, kept == own || can_run(args, kept) ? kept : own);
}

std::string product_choices(Queue& queue) { return products_of(queue).choices(); }

void load_product_choices(std::string_view text, Queue& queue) {
  products_of(queue).load_choices(text);
}

}  // namespace twill::cuda
