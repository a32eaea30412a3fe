// SPDX-License-Identifier: Apache-2.0
// A small model in memory, for tests that write and read models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/model_source.h"
#include "models/decoder.h"
#include "models/initialise.h"

namespace twill {

struct MemoryModel {
  explicit MemoryModel(const ModelConfig& config, std::int64_t max_time = 1)
      : context(cpu_table(), 1),
        builder(context, {.training = false, .max_batch = 1, .max_time = max_time}),
        model(builder, config) {
    builder.commit();
  }
  explicit MemoryModel(const ModelSource& source, std::int64_t max_time = 1)
      : MemoryModel(source.config(), max_time) {
    source.load(builder);
  }
  explicit MemoryModel(const std::string& path) : MemoryModel(*open_model_source(path)) {}

  // All weights, one behind the other.
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Parameter& parameter : builder.parameters())
      all.insert(all.end(), parameter.value.as<float>(),
                 parameter.value.as<float>() + parameter.value.num_elements());
    return all;
  }
  std::vector<float> logits(std::span<const std::int32_t> ids) {
    const ConstView view = model.next_token_logits(
        {.context = context, .time = static_cast<std::int64_t>(ids.size())}, ids);
    return {view.as<float>(), view.as<float>() + view.num_elements()};
  }

  Context context;
  Builder builder;
  Decoder model;
};

// Every weight a different number, norms and biases too.
inline void fill_with_numbers(MemoryModel& model, std::uint64_t seed) {
  for (Parameter& parameter : model.builder.parameters()) {
    parameter.init = Init::kNormal;
    parameter.init_std = 0.5;
  }
  initialise(model.builder.parameters(), seed);
}

}  // namespace twill
