// SPDX-License-Identifier: Apache-2.0
#include "grammar.h"

#include <stdexcept>

#include "text.h"

namespace twill_corpus {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The position of the bracket that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open, char left, char right) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == left) ++depth;
    if (text[i] == right && --depth == 0) return i;
  }
  throw std::runtime_error("unclosed bracket in template: " + std::string(text));
}

// The printed part of an alternative, without its attributes. A semicolon inside prose is followed
// by a space; one that starts an attribute is not.
std::size_t value_end(std::string_view alternative) {
  for (std::size_t i = 0; i + 1 < alternative.size(); ++i) {
    if (alternative[i] == ';' && alternative[i + 1] != ' ') return i;
  }
  return alternative.size();
}

// Makes a letter small and says whether it was a capital.
bool make_lower(char& c) {
  const bool capital = c >= 'A' && c <= 'Z';
  if (capital) c = static_cast<char>(c - 'A' + 'a');
  return capital;
}

}  // namespace

void Grammar::add(const std::string& rule, const std::vector<std::string>& alternatives) {
  auto& all = rules_[rule].alternatives;
  all.insert(all.end(), alternatives.begin(), alternatives.end());
}

void Grammar::begin_piece() {
  bindings_.clear();
  for (auto& [name, rule] : rules_) rule.used.clear();
}

void Grammar::bind(const std::string& variable, const std::string& value) {
  bindings_[variable] = value;
}

std::string Grammar::expand(std::string_view text) { return polish(expand_raw(text)); }

std::string Grammar::expand_raw(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') {
      const std::size_t end = closing(text, i, '[', ']');
      out += expand_choice(text.substr(i + 1, end - i - 1));
      i = end;
    } else if (text[i] == '{') {
      const std::size_t end = closing(text, i, '{', '}');
      out += expand_slot(text.substr(i + 1, end - i - 1));
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string Grammar::expand_choice(std::string_view inside) {
  const std::vector<std::string> parts = split(inside, '|');
  return expand_raw(parts[rng_.below(parts.size())]);
}

std::string Grammar::expand_slot(std::string_view inside) {
  const bool silent = inside.starts_with('$');
  std::string name(silent ? inside.substr(1) : inside);
  bool capital = make_lower(name[0]);
  if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
    capital = make_lower(name.at(dot + 1)) || capital;
  }

  const std::size_t colon = name.find(':');
  const std::string value = colon == std::string::npos
                                ? lookup(name)
                                : bind_from_rule(name.substr(0, colon), name.substr(colon + 1));
  if (silent) return "";
  return capital ? capitalize(value) : value;
}

std::string Grammar::lookup(const std::string& name) {
  if (const auto bound = bindings_.find(name); bound != bindings_.end()) {
    return expand_raw(bound->second);
  }
  if (name.ends_with(".s")) return plural(lookup(name.substr(0, name.size() - 2)));
  const std::string alternative = draw(name);
  return expand_raw(std::string_view(alternative).substr(0, value_end(alternative)));
}

std::string Grammar::bind_from_rule(const std::string& variable, const std::string& rule) {
  const std::string alternative = draw(rule);
  const std::size_t end = value_end(alternative);
  const std::string value = expand_raw(std::string_view(alternative).substr(0, end));
  bindings_[variable] = value;
  if (end == alternative.size()) return value;
  for (const std::string& field : split(std::string_view(alternative).substr(end + 1), ';')) {
    const std::size_t equals = field.find('=');
    if (equals == std::string::npos) throw std::runtime_error("bad attribute: " + field);
    bindings_[variable + "." + field.substr(0, equals)] = field.substr(equals + 1);
  }
  return value;
}

// Deals from a shuffled deck instead of drawing freely, so that every alternative gets its turn,
// and does not deal the same one twice in a piece while another is left.
const std::string& Grammar::draw(const std::string& rule_name) {
  const auto found = rules_.find(rule_name);
  if (found == rules_.end()) throw std::runtime_error("no rule or variable called " + rule_name);
  Rule& rule = found->second;
  std::size_t index = deal(rule);
  // Two decks are enough to meet every alternative once; after that, any will do.
  std::size_t tries = 2 * rule.alternatives.size();
  while (tries-- > 0 && (rule.used.contains(index) || is_bound(rule.alternatives[index]))) {
    index = deal(rule);
  }
  rule.used.insert(index);
  return rule.alternatives[index];
}

// Two rules may know the same person; nobody in a tale should meet himself.
bool Grammar::is_bound(std::string_view alternative) const {
  const std::string_view value = alternative.substr(0, value_end(alternative));
  for (const auto& [variable, bound] : bindings_) {
    if (bound == value) return true;
  }
  return false;
}

std::size_t Grammar::deal(Rule& rule) {
  if (rule.deck.empty()) {
    for (std::size_t i = 0; i < rule.alternatives.size(); ++i) {
      rule.deck.insert(rule.deck.begin() + static_cast<std::ptrdiff_t>(rng_.below(i + 1)), i);
    }
  }
  const std::size_t index = rule.deck.back();
  rule.deck.pop_back();
  return index;
}

}  // namespace twill_corpus
