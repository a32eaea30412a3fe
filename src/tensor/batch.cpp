// SPDX-License-Identifier: Apache-2.0
#include "tensor/batch.h"

#include <algorithm>

#include "base/check.h"

namespace twill {
namespace {

Shape with_rows(std::int64_t rows, const Shape& row) {
  Shape shape{rows};
  for (int axis = 0; axis < row.rank(); ++axis) shape.push_back(row[axis]);
  return shape;
}

Shape row_of(const Shape& shape) {
  Shape row;
  for (int axis = 1; axis < shape.rank(); ++axis) row.push_back(shape[axis]);
  return row;
}

}  // namespace

void Batch::add(std::string_view name, View values) {
  TWILL_CHECK(!has(name), "an array of a batch has a name of its own");
  TWILL_CHECK(values.shape().rank() > 0 && values.shape()[0] == rows_,
              "an array of a batch has a row for each example");
  arrays_.push_back({std::string(name), values});
}

const Batch::Named* Batch::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays_, name, &Named::name);
  return found == arrays_.end() ? nullptr : &*found;
}

View Batch::at(std::string_view name) const {
  const Named* found = find(name);
  TWILL_CHECK(found != nullptr, "the batch has every array that the model reads");
  return found->values;
}

Batch token_batch(std::int64_t rows, std::span<const std::int32_t> tokens,
                  std::span<const std::int32_t> targets) {
  TWILL_CHECK(rows > 0 && static_cast<std::int64_t>(tokens.size()) % rows == 0,
              "the rows of a batch are equally long");
  const Shape shape{rows, static_cast<std::int64_t>(tokens.size()) / rows};
  const auto view = [&](std::span<const std::int32_t> ids) {
    return view_of(const_cast<std::int32_t*>(ids.data()), shape);
  };
  Batch batch(rows);
  batch.add(kTokens, view(tokens));
  if (!targets.empty()) batch.add(kTargets, view(targets));
  return batch;
}

BatchStorage::BatchStorage(const BatchLayout& layout, std::int64_t rows, const Memory& memory) {
  for (const BatchArray& array : layout)
    arrays_.push_back({array.name, Tensor(array.dtype, with_rows(rows, array.row), memory)});
}

Batch BatchStorage::rows(std::int64_t begin, std::int64_t count) {
  Batch batch(count);
  for (Named& array : arrays_) {
    const View all = array.values.view();
    const Shape row = row_of(all.shape());
    const std::int64_t size = row.num_elements();
    batch.add(array.name, all.slice(begin * size, count * size).reshaped(with_rows(count, row)));
  }
  return batch;
}

}  // namespace twill
