// SPDX-License-Identifier: Apache-2.0
// What one pass of a model is given: named arrays in host memory with a row for each example. Data
// (data/data.h) fills them, a model (models/model.h) says which it reads and copies them to where its
// layers run. Neither knows the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace twill {

// The names that several kinds of data share.
inline constexpr std::string_view kTokens = "tokens";    // (T) i32
inline constexpr std::string_view kTargets = "targets";  // (T) i32; -1 is no target
inline constexpr std::string_view kLengths = "lengths";  // () i32: of a padded sequence

// One array of every example: its name, type and the shape of one row, of at most three extents.
struct BatchArray {
  std::string name;
  DType dtype = DType::kI32;
  Shape row = {};
};
using BatchLayout = std::vector<BatchArray>;

// Borrows its arrays.
class Batch {
 public:
  explicit Batch(std::int64_t rows) : rows_(rows) {}

  std::int64_t rows() const { return rows_; }
  // `values` has rows() rows.
  void add(std::string_view name, View values);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Throws InternalError when there is no such array.
  View at(std::string_view name) const;

 private:
  struct Named {
    std::string name;
    View values;
  };
  const Named* find(std::string_view name) const;

  std::int64_t rows_;
  std::vector<Named> arrays_;
};

// A batch over ids that lie somewhere already, (rows, T) each: kTokens, and kTargets where there are
// any. A model only reads.
Batch token_batch(std::int64_t rows, std::span<const std::int32_t> tokens,
                  std::span<const std::int32_t> targets = {});

// Memory for the batches of one layout.
class BatchStorage {
 public:
  BatchStorage() = default;
  BatchStorage(const BatchLayout& layout, std::int64_t rows, const Memory& memory = host_memory());

  Batch rows(std::int64_t begin, std::int64_t count);

 private:
  struct Named {
    std::string name;
    Tensor values;
  };
  std::vector<Named> arrays_;
};

}  // namespace twill
