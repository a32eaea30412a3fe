// SPDX-License-Identifier: Apache-2.0
// What a queue keeps for matrix products: cuBLASLt's handle and workspace, and who computes what.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/cuda/products/product_call.h"
#include "backends/cuda/products/product_plan.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/scratch.h"

namespace twill::cuda {

// Whether a product is worth a search. Says nothing of the machine or of its memory: it decides
// bits.
bool is_large(const GemmArgs& args);

class Products final : public QueueState {
 public:
  explicit Products(const CudaQueue& queue);
  ~Products() override;
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // False, and nothing done, when the library does not compute this: as a whole, for an epilogue.
  bool run(const GemmArgs& args, CudaQueue& queue);
  // The same with the library's first guess among all its algorithms.
  bool run_first_guess(const GemmArgs& args, CudaQueue& queue);

  // Before the first run() of a product with an epilogue: decides whether the product computes it
  // or `in_two_steps` does. May run both, so what they write must be about to be overwritten.
  void settle_epilogue(const GemmArgs& args, CudaQueue& queue,
                       const std::function<void()>& in_two_steps);

  // Also for products that others compute and a stopwatch decides about.
  ProductPlan& plan() { return plan_; }
  std::string choices() const { return plan_.choices(); }
  void load_choices(std::string_view text) { plan_.load_choices(text); }

  // True the first time.
  bool warns_of_plain_kernel() { return !std::exchange(has_warned_, true); }

 private:
  // Where a decision comes from, and so how long it holds.
  enum class Origin {
    kProduct,   // follows from the product alone
    kMachine,   // from what was possible at that moment: holds for the run
    kKnown,     // from the run or the file
    kSearched,  // new
  };
  struct Decision {
    std::optional<Algorithm> algorithm;
    Origin origin;
  };

  Decision decide(const GemmArgs& args, const ProductKey& key, CudaQueue& queue);
  Decision search_for(const GemmArgs& args, CudaQueue& queue);
  void settle(const GemmArgs& args, const ProductKey& key, const Decision& decision);
  bool can_run(const GemmArgs& args, const Algorithm& algorithm);
  bool launch(const GemmArgs& args, const std::optional<Algorithm>& algorithm, CudaQueue& queue);

  cublasLtHandle_t handle_ = nullptr;
  Scratch workspace_;
  ProductPlan plan_;
  std::map<ProductKey, std::optional<Algorithm>> first_guesses_;
  double search_seconds_ = 0.0;  // spent so far
  bool has_warned_ = false;
};

Products& products_of(Queue& queue);

}  // namespace twill::cuda
