// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/vocabulary.h"

#include <utility>

#include "base/require.h"

namespace twill {

void Vocabulary::add(std::string token, std::int64_t id) {
  require(id >= 0 && id < kMaxTokenIds, "token '{}' has the id {}, expected 0 to {}", token, id,
          kMaxTokenIds - 1);
  const auto place = static_cast<std::size_t>(id);
  if (place >= tokens_.size()) tokens_.resize(place + 1, nullptr);
  require(tokens_[place] == nullptr, "tokens '{}' and '{}' have the same id {}",
          tokens_[place] ? *tokens_[place] : "", token, id);
  const auto [entry, is_new] = ids_.emplace(std::move(token), static_cast<std::int32_t>(id));
  require(is_new, "token '{}' has two ids, {} and {}", entry->first, entry->second, id);
  tokens_[place] = &entry->first;
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* Vocabulary::token(std::int64_t id) const {
  return id < 0 || id >= size() ? nullptr : tokens_[static_cast<std::size_t>(id)];
}

}  // namespace twill
