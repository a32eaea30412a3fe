// SPDX-License-Identifier: Apache-2.0
// Enumerations that files and people write as words. An enumeration has one table of them, beside
// its definition and in the order in which help lists the words:
//
//   enum class Anneal : std::uint8_t { kRun, kPhase };
//   template <>
//   inline constexpr auto kWords<Anneal> =
//       std::to_array<Word<Anneal>>({{"run", Anneal::kRun}, {"phase", Anneal::kPhase}});
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace twill {

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
};

template <class Enum>
inline constexpr std::array<Word<Enum>, 0> kWords{};

template <class Enum>
concept HasWords = kWords<Enum>
.size() > 0;

template <HasWords Enum>
constexpr std::string_view word_of(Enum value) {
  for (const Word<Enum>& word : kWords<Enum>)
    if (word.value == value) return word.text;
  return {};
}

template <HasWords Enum>
constexpr std::optional<Enum> find_word(std::string_view text) {
  for (const Word<Enum>& word : kWords<Enum>)
    if (word.text == text) return word.value;
  return std::nullopt;
}

// All words of an enumeration.
template <HasWords Enum>
std::span<const std::string_view> words_of() {
  static constexpr auto kTexts = [] {
    std::array<std::string_view, kWords<Enum>.size()> texts{};
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = kWords<Enum>[i].text;
    return texts;
  }();
  return kTexts;
}

}  // namespace twill
