// SPDX-License-Identifier: Apache-2.0
// Which kernel computes each product of each kind of site, dense and as a phase packs it, and why a quicker
// form declined.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "nn/seam.h"
#include "ops/context.h"
#include "ops/products/product.h"
#include "sparsity/plan/plan.h"

namespace twill {

struct NamedProduct {
  std::string site;     // site_kind()
  std::string product;  // "forward", "dgrad", "wgrad"
  Verdict verdict;
  std::int64_t count = 0;  // of such calls
};

// Notes the kernel of every product that a context runs, by site and product; stops nothing.
class KernelNames : public OpObserver {
 public:
  void before(std::string_view) override {}
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override {}
  void product(const Context& context, const Product& product) override;

  const std::vector<NamedProduct>& products() const { return products_; }

 private:
  std::vector<NamedProduct> products_;
};

struct ExplainedSite {
  std::int64_t phase = 0;
  PlanEntry entry = {};
  std::vector<NamedProduct> dense = {}, packed = {};
  std::string unpacked_reason = {};  // why nothing of it could be packed; empty: something is
};

// One for every entry of planned_sites(), with what `plan` says of it. Runs each product once, on random data.
std::vector<ExplainedSite> explain_plan(Context& context, const RecipeConfig& recipe,
                                        const std::deque<LinearSeam>& layers, const Plan& plan,
                                        std::int64_t tokens, DType type);

}  // namespace twill
