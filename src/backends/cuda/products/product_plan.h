// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a product: decided once, then kept for the queue's life. Who is asked,
// in this order: the run that is being resumed, the file of this machine, a search. Knows no CUDA.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/products/product_file.h"

namespace twill::cuda {

class ProductPlan {
 public:
  // Reads the file; an empty path: none.
  ProductPlan(Machine machine, std::filesystem::path file);

  // What was decided for a product: nullptr not yet, an empty optional that there is no algorithm.
  const std::optional<Algorithm>* chosen(const ProductKey& key) const;
  // For what follows from the product and the machine alone: every run would decide the same.
  void choose(const ProductKey& key, std::optional<Algorithm> algorithm);
  // For what a stopwatch or the state of the machine had a part in: goes into choices().
  void choose_for_run(const ProductKey& key, const Algorithm& algorithm);

  // What the run or the file says; nullptr: nothing.
  const Algorithm* known(const ProductKey& key) const;
  // What known() says does not work here: it is forgotten, and the next answer replaces it.
  void refuse(const ProductKey& key);
  // Writes the outcome of a search to the file. Returns what holds: another process that searched
  // at the same time may have been first.
  Algorithm keep_searched(const ProductKey& key, const Algorithm& algorithm);

  // All choices for this run, those that it has not needed since it was loaded too; empty: none.
  std::string choices() const;
  // Takes back what choices() said. Text of another machine, or damaged, is one warning, and what
  // it says is decided again.
  void load_choices(std::string_view text);

 private:
  Machine machine_;
  ProductFile file_;
  ProductMap searched_;  // what the file said when it was read or written last
  ProductMap refused_;   // of the file
  ProductMap of_run_;
  std::map<ProductKey, std::optional<Algorithm>> chosen_;
};

}  // namespace twill::cuda
