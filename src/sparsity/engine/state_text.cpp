// SPDX-License-Identifier: Apache-2.0
#include "sparsity/engine/state_text.h"

#include <cstdlib>

#include "base/require.h"

namespace twill {

std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:a}", text.empty() ? "" : " ", value);
  return text;
}

const std::string& text_at(const StateTexts& texts, const std::string& key) {
  const auto found = texts.find(key);
  require(found != texts.end(), "the saved state of sparsity has no {}", key);
  return found->second;
}

std::vector<double> numbers_at(const StateTexts& texts, const std::string& key) {
  const std::string& text = text_at(texts, key);
  std::vector<double> values;
  const char* next = text.c_str();
  while (*next != '\0') {
    char* end = nullptr;
    values.push_back(std::strtod(next, &end));
    require(end != next, "the saved state of sparsity is damaged: {} = '{}'", key, text);
    next = end;
  }
  return values;
}

std::vector<double> numbers_at(const StateTexts& texts, const std::string& key, std::size_t count) {
  std::vector<double> values = numbers_at(texts, key);
  require(values.size() == count, "the saved state of sparsity is damaged: {} has {} numbers of {}",
          key, values.size(), count);
  return values;
}

}  // namespace twill
