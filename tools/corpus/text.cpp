// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <array>
#include <cctype>
#include <set>
#include <stdexcept>
#include <utility>

namespace twill_corpus {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_vowel(char c) { return std::string_view("aeiouAEIOU").find(c) != std::string_view::npos; }

bool starts_with_any(std::string_view word, std::initializer_list<const char*> heads) {
  for (const char* head : heads) {
    if (word.starts_with(head)) return true;
  }
  return false;
}

// The article follows the sound, not the letter: "an hour", "a useful tool".
bool takes_an(std::string_view word) {
  if (starts_with_any(word, {"hour", "honest", "heir", "honour"})) return true;
  if (starts_with_any(word, {"use", "uni", "one", "once", "eu"})) return false;
  return !word.empty() && is_vowel(word.front());
}

std::string resolve_articles(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || text[i + 1] != ' ')
      throw std::runtime_error("stray @ in a template");
    out += takes_an(text.substr(i + 2)) ? "an" : "a";
  }
  return out;
}

// Whether the text so far ends a sentence, so that the next letter must be a capital.
bool ends_sentence(std::string_view before) {
  if (before.empty() || before.back() == '\n') return true;
  if (before.back() == '"') return ends_sentence(before.substr(0, before.size() - 1));
  if (before.size() < 2 || before.back() != ' ') return false;
  before.remove_suffix(1);
  // After ." a new sentence begins; after ?" and !" the speaker's name may follow.
  if (before.ends_with(".\"")) return true;
  return std::string_view(".?!").find(before.back()) != std::string_view::npos;
}

std::string plural_word(std::string_view noun) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kIrregular = {{
      {"sheep", "sheep"},
      {"fish", "fish"},
      {"goose", "geese"},
      {"mouse", "mice"},
      {"child", "children"},
      {"loaf", "loaves"},
      {"knife", "knives"},
      {"leaf", "leaves"},
      {"shelf", "shelves"},
      {"scarf", "scarves"},
  }};
  for (const auto& [one, many] : kIrregular) {
    if (noun.ends_with(one)) {
      return std::string(noun.substr(0, noun.size() - one.size())) + std::string(many);
    }
  }
  std::string out(noun);
  const char last = noun.back();
  if (last == 'y' && noun.size() > 1 && !is_vowel(noun[noun.size() - 2])) {
    out.back() = 'i';
    return out + "es";
  }
  const bool hissing = last == 's' || last == 'x' || noun.ends_with("ch") || noun.ends_with("sh");
  return out + (hissing ? "es" : "s");
}

}  // namespace

std::string capitalize(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = to_upper(out[0]);
  return out;
}

std::string plural(std::string_view noun) {
  // The head carries the ending: "loaf of bread" becomes "loaves of bread".
  const std::size_t of = noun.find(" of ");
  if (of == std::string_view::npos) return plural_word(noun);
  return plural_word(noun.substr(0, of)) + std::string(noun.substr(of));
}

std::string number_word(int n) {
  static constexpr std::array<const char*, 20> kSmall = {
      "zero",     "one",     "two",     "three",     "four",     "five",    "six",
      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static constexpr std::array<const char*, 10> kTens = {
      "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (n < 0 || n > 999) throw std::runtime_error("number_word: out of range");
  if (n < 20) return kSmall[static_cast<std::size_t>(n)];
  if (n < 100) {
    const std::string tens = kTens[static_cast<std::size_t>(n / 10)];
    return n % 10 == 0 ? tens : tens + "-" + number_word(n % 10);
  }
  const std::string hundreds = number_word(n / 100) + " hundred";
  return n % 100 == 0 ? hundreds : hundreds + " and " + number_word(n % 100);
}

std::string title_case(std::string_view text) {
  static const std::set<std::string, std::less<>> kSmallWords = {
      "a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find(' ', i);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(i, end - i);
    if (!out.empty()) out += ' ';
    out += !out.empty() && kSmallWords.contains(word) ? std::string(word) : capitalize(word);
    i = end + 1;
  }
  return out;
}

std::string polish(std::string_view text) {
  std::string out;
  for (const char c : resolve_articles(text)) {
    out += is_letter(c) && ends_sentence(out) ? to_upper(c) : c;
  }
  return out;
}

}  // namespace twill_corpus
