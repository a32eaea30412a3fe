// SPDX-License-Identifier: Apache-2.0
#include "train/library/own_examples.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/require.h"
#include "data/window_data.h"

namespace twill {
namespace {

class OwnExamples final : public Data {
 public:
  // Every example stands for `stride` of the program's.
  OwnExamples(OwnData::Fill fill, std::int64_t size, std::int64_t T, double stride = 1.0)
      : fill_(std::move(fill)), size_(size), T_(T), stride_(stride), layout_(window_layout(T)) {}

  const BatchLayout& layout() const override { return layout_; }
  std::int64_t size() const override { return size_; }
  void fill(std::int64_t position, const Batch& batch) const override {
    auto* tokens = batch.at(kTokens).as<std::int32_t>();
    auto* targets = batch.at(kTargets).as<std::int32_t>();
    const auto count = static_cast<std::size_t>(T_);
    // What the function leaves out is token 0 without a target, not an example of before.
    std::fill_n(tokens, batch.rows() * T_, 0);
    std::fill_n(targets, batch.rows() * T_, -1);
    for (std::int64_t row = 0; row < batch.rows(); ++row)
      fill_(number_at(position + row), {tokens + row * T_, count}, {targets + row * T_, count});
  }

 private:
  std::int64_t number_at(std::int64_t position) const {
    if (stride_ == 1.0) return position;
    return static_cast<std::int64_t>(static_cast<double>(position) * stride_);
  }

  OwnData::Fill fill_;
  std::int64_t size_;
  std::int64_t T_;
  double stride_;
  BatchLayout layout_;
};

}  // namespace

bool has_own_examples(const RunConfig& config) {
  return config.data.train == std::vector<std::string>{kExamplesOfAProgram};
}

TrainingData own_examples(const OwnData& data, const RunConfig& config) {
  require(static_cast<bool>(data.train), "own data need a function `train` that fills examples");
  require(!data.validation == (data.validation_examples == 0) && data.validation_examples >= 0,
          "own data: `validation` and validation_examples = {} belong together: give both or "
          "neither",
          data.validation_examples);
  const std::int64_t T = config.sequence();
  TrainingData examples{.train = std::make_shared<OwnExamples>(
                            data.train, std::numeric_limits<std::int64_t>::max(), T),
                        .validation = nullptr};
  if (!data.validation) return examples;
  const std::int64_t all = data.validation_examples, most = config.eval.windows;
  const std::int64_t count = most > 0 ? std::min(most, all) : all;
  examples.validation = std::make_shared<OwnExamples>(
      data.validation, count, T, static_cast<double>(all) / static_cast<double>(count));
  return examples;
}

}  // namespace twill
