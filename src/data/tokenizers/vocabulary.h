// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace twill {

// Ids are below this, four times the largest vocabulary in use: what a file can make us allocate.
inline constexpr std::int64_t kMaxTokenIds = std::int64_t{1} << 20;

// What GPT-2 and its kin put between documents.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

// Lets a map of strings be asked with a view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using TokenMap = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

// Tokens as a file spells them. Ids may have holes, as Hugging Face allows.
class Vocabulary {
 public:
  // Throws twill::Error for an id out of range, or one that another token has.
  void add(std::string token, std::int64_t id);
  std::optional<std::int32_t> find(std::string_view token) const;
  // nullptr: no token has this id.
  const std::string* token(std::int64_t id) const;
  // One more than the largest id.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  bool empty() const { return ids_.empty(); }

 private:
  TokenMap ids_;
  std::vector<const std::string*> tokens_;  // into ids_, whose keys stay where they are
};

// A token that is looked for in the text itself, before all else.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = true;
  bool normalized = false;  // looked for after the normalizer has run
  bool lstrip = false;      // takes the white space before it with it
  bool rstrip = false;
  bool single_word = false;  // only where no letter or digit touches it
};

}  // namespace twill
