// SPDX-License-Identifier: Apache-2.0
// A tiny template grammar. A template is plain text with two kinds of marks:
//   [red|blue|]      one of the alternatives, chosen evenly; they may nest and may be empty
//   {rule}           an expansion of a rule, or the value of a variable bound earlier
//   {x:rule}         the same, and remembers the result as x for the rest of the piece
//   {$x:rule}        binds x without printing it
//   {x.s}            the plural of x, unless x has an attribute called s
//   {X}, {x.He}      a capital first letter asks for a capital first letter
//   @ noun           "a" or "an", decided after everything else is expanded
// An alternative may carry attributes, "Mara;he=she;his=her"; once bound as x they are {x.he} and
// {x.his}. This is what keeps a person's pronouns, trade and tools right through a whole tale.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rng.h"

namespace twill_corpus {

class Grammar {
 public:
  explicit Grammar(std::uint64_t seed) : rng_(seed) {}

  // Appends alternatives to a rule.
  void add(const std::string& rule, const std::vector<std::string>& alternatives);

  // Forgets every variable: the next piece is about other people.
  void begin_piece();

  void bind(const std::string& variable, const std::string& value);

  // Expands a template and polishes the result into proper sentences.
  std::string expand(std::string_view text);

  Rng& rng() { return rng_; }

 private:
  struct Rule {
    std::vector<std::string> alternatives;
    std::vector<std::size_t> deck;  // what is left to deal before the next shuffle
    std::set<std::size_t> used;     // dealt in this piece
  };

  std::string expand_raw(std::string_view text);
  std::string expand_choice(std::string_view inside);
  std::string expand_slot(std::string_view inside);
  std::string lookup(const std::string& name);
  std::string bind_from_rule(const std::string& variable, const std::string& rule);
  const std::string& draw(const std::string& rule_name);
  bool is_bound(std::string_view alternative) const;
  std::size_t deal(Rule& rule);

  Rng rng_;
  std::map<std::string, Rule> rules_;
  std::map<std::string, std::string> bindings_;
};

}  // namespace twill_corpus
