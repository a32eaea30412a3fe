// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_plan.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace twill::cuda {
namespace {

const Algorithm* find_in(const ProductMap& products, const ProductKey& key) {
  const auto found = products.find(key);
  return found == products.end() ? nullptr : &found->second;
}

}  // namespace

ProductPlan::ProductPlan(Machine machine, std::filesystem::path file)
    : machine_(std::move(machine)), file_(machine_, std::move(file)), searched_(file_.read()) {}

const std::optional<Algorithm>* ProductPlan::chosen(const ProductKey& key) const {
  const auto found = chosen_.find(key);
  return found == chosen_.end() ? nullptr : &found->second;
}

void ProductPlan::choose(const ProductKey& key, std::optional<Algorithm> algorithm) {
  chosen_[key] = algorithm;
}

void ProductPlan::choose_for_run(const ProductKey& key, const Algorithm& algorithm) {
  chosen_[key] = algorithm;
  of_run_[key] = algorithm;
}

const Algorithm* ProductPlan::known(const ProductKey& key) const {
  if (const Algorithm* of_run = find_in(of_run_, key)) return of_run;
  return find_in(searched_, key);
}

void ProductPlan::refuse(const ProductKey& key) {
  if (of_run_.erase(key) != 0) {
    log_warning(fmt::format(
        "gemm ({}, {}, {}): the algorithm that this run used before does not work here; "
        "another one takes its place, and last bits may differ",
        key.m, key.n, key.k));
    return;
  }
  if (const auto node = searched_.extract(key)) refused_[key] = node.mapped();
}

Algorithm ProductPlan::keep_searched(const ProductKey& key, const Algorithm& algorithm) {
  const Algorithm* refused = find_in(refused_, key);
  ProductMap held = file_.add(key, algorithm, refused);
  held.merge(searched_);  // without a file that can be written
  searched_ = std::move(held);
  return searched_.at(key);
}

std::string ProductPlan::choices() const {
  if (of_run_.empty()) return {};
  return to_text(of_run_, machine_.text_without_driver());
}

void ProductPlan::load_choices(std::string_view text) {
  if (text.empty()) return;
  const std::string here = machine_.text_without_driver();
  const std::optional<ProductMap> products = from_text(text, here);
  if (!products) {
    const std::string owner = owner_of(text);
    const std::string why = owner.empty() || owner == here
                                ? "are damaged or of another version of Twill"
                                : fmt::format("were made on {}, and this is {}", owner, here);
    log_warning(
        fmt::format("the run's choices of algorithms for matrix products {}; they are made again, "
                    "and last bits may differ",
                    why));
    return;
  }
  for (const auto& [key, algorithm] : *products) {
    of_run_[key] = algorithm;
    chosen_.erase(key);
  }
}

}  // namespace twill::cuda
