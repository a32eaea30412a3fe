// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <algorithm>
#include <numeric>

namespace twill {
namespace {

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  const auto closer = [&](const std::string& a, const std::string& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  };
  const auto best = std::min_element(known.begin(), known.end(), closer);
  return best == known.end() ? std::string() : *best;
}

std::string near(std::string_view word, std::span<const std::string> known) {
  const std::string best = nearest(word, known);
  const std::size_t allowed = std::max<std::size_t>(2, word.size() / 3);
  const bool is_near = edit_distance(word, best) <= std::min(allowed, word.size() - 1);
  return !word.empty() && is_near ? best : std::string();
}

std::string join_choices(Choices choices) {
  std::string joined;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) joined += i + 1 == choices.size() ? " or " : ", ";
    joined += choices[i];
  }
  return joined;
}

}  // namespace twill
