// SPDX-License-Identifier: Apache-2.0
// What a run has measured at one step: names and values, in the order added. The first is "step".
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

#include "io/json/json_value.h"

namespace twill {

class MetricRecord {
 public:
  MetricRecord& add(std::string_view name, JsonValue value);
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) MetricRecord& add(std::string_view name, Integer value) {
    return add(name, JsonValue(static_cast<std::int64_t>(value)));
  }
  // A record inside this one.
  MetricRecord& add(std::string_view name, MetricRecord record) {
    return add(name, JsonValue(std::move(record.members_)));
  }

  const JsonObject& members() const { return members_; }

 private:
  JsonObject members_;
};

}  // namespace twill
