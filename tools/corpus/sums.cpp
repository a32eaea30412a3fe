// SPDX-License-Identifier: Apache-2.0
// Sums in words. Every result is computed, so the arithmetic is always right.
#include <string>
#include <vector>

#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

void bind_number(Grammar& g, const std::string& name, int value) {
  g.bind(name, number_word(value));
}

std::string add_story(Grammar& g) {
  const int a = g.rng().between(2, 19);
  const int b = g.rng().between(2, 19);
  bind_number(g, "a", a);
  bind_number(g, "b", b);
  bind_number(g, "r", a + b);
  return "{sum_add}";
}

std::string subtract_story(Grammar& g) {
  const int a = g.rng().between(8, 30);
  const int b = g.rng().between(2, a - 3);
  bind_number(g, "a", a);
  bind_number(g, "b", b);
  bind_number(g, "r", a - b);
  return "{sum_sub}";
}

std::string multiply_story(Grammar& g) {
  const int a = g.rng().between(2, 9);
  const int b = g.rng().between(2, 12);
  bind_number(g, "a", a);
  bind_number(g, "b", b);
  bind_number(g, "r", a * b);
  return "{sum_mul}";
}

std::string divide_story(Grammar& g) {
  const int b = g.rng().between(2, 9);
  const int r = g.rng().between(2, 9);
  bind_number(g, "a", b * r);
  bind_number(g, "b", b);
  bind_number(g, "r", r);
  return "{sum_div}";
}

std::string two_step_story(Grammar& g) {
  const int a = g.rng().between(6, 20);
  const int b = g.rng().between(2, 9);
  const int c = g.rng().between(2, a - 3);
  bind_number(g, "a", a);
  bind_number(g, "b", b);
  bind_number(g, "less", c);
  bind_number(g, "m", a + b);
  bind_number(g, "r", a + b - c);
  return "{sum_two}";
}

// A row of one multiplication table, or of additions of the same number.
std::string table(Grammar& g) {
  const int n = g.rng().between(2, 12);
  const bool times = g.rng().below(2) == 0;
  const int first = g.rng().between(1, 8);
  const std::string word = number_word(n);
  std::string text = times ? "The table of " + word + "\n" : "Adding " + word + "\n";
  for (int i = first; i < first + 5; ++i) {
    text += capitalize(number_word(i)) + (times ? " times " : " and ") + word;
    text += (times ? " is " : " make ") + number_word(times ? i * n : i + n) + ".\n";
  }
  return text;
}

std::string sequence(Grammar& g) {
  const int step = g.rng().between(2, 9);
  int value = g.rng().between(1, 20);
  std::string text = "Counting by " + number_word(step) + "s\n" + capitalize(number_word(value));
  if (step == 6) text.replace(text.find("sixs"), 4, "sixes");
  const int count = g.rng().between(5, 9);
  for (int i = 0; i < count; ++i) {
    value += step;
    text += ", " + number_word(value);
  }
  return text + ". [The next number is " + number_word(value + step) +
         ".|\"And then?\" asked {child}. \"" + capitalize(number_word(value + step)) +
         ",\" said {person}.]";
}

void add_easy_stories(Grammar& g) {
  g.add("sum_add",
        {"{$h:person}{$o:countable}{h} counts the {o.s}\n{h} has {a} {o.s}. On {day} {h.he} "
         "[buys|finds|is given] {b} more. How many {o.s} does {h} have now?\n{A} and {b} make {r}. "
         "{h} has {r} {o.s}.",
         "{$x:person}{$y:person}{$o:countable}{x} and {y} together\n{x} carries {a} {o.s}, and {y} "
         "carries {b}. They put them all into one [basket|cart|box|boat]. How many {o.s} are "
         "there?\n{A} plus {b} is {r}, so there are {r} {o.s}.",
         "{$l:landmark}{$p:animals}The {p} at {l}\nThere are {a} {p} at {l}. Then {b} more {p} "
         "come [along|down the lane|over the hill]. How many {p} are there in all?\nThere are {r} "
         "{p}, because {a} and {b} make {r}.",
         "{$h:person}The steps to {h.place}\n{h} climbs {a} steps, rests, and climbs {b} more. How "
         "many steps are there?\n{A} and {b} are {r}. There are {r} steps."});
  g.add("sum_sub",
        {"{$h:person}{$f:person}{$o:countable}{h} gives away {o.s}\n{h} has {a} {o.s} and gives "
         "{b} of them to {f}. How many are left?\n{A} less {b} is {r}. {h} keeps {r} {o.s}.",
         "{$l:landmark}{$p:animals}{p} at {l}\n{A} {p} sit by {l}. A door slams, and {b} of them "
         "run away. How many stay?\n{A} minus {b} is {r}, so {r} {p} stay.",
         "{$h:person}{$o:countable}A hole in the bag\n{h} set out with {a} {o.s} in a bag. There "
         "was a hole in the bag, and {b} fell out near {landmark}. How many did {h} bring "
         "home?\nIf you take {b} from {a}, {r} are left. {h} brought home {r} {o.s}.",
         "{$x:child}{$y:child}{$o:countable}{x} has more than {y}\n{x} has {a} {o.s}. {y} has {b} "
         "fewer. How many does {y} have?\n{A} take away {b} leaves {r}. {y} has {r} {o.s}."});
}

void add_hard_stories(Grammar& g) {
  g.add(
      "sum_mul",
      {"{$h:person}{$o:countable}{h} fills the baskets\n{h} has {a} baskets. In each basket there "
       "are {b} {o.s}. How many {o.s} are there?\n{A} times {b} is {r}. There are {r} {o.s}.",
       "{$h:person}{h} works for {a} days\nEvery day {h} earns {b} pence by {h.working}. How much "
       "does {h.he} earn in {a} days?\n{B} pence a day for {a} days is {r} pence, because {a} "
       "times {b} is {r}.",
       "{$c:child}{c} plants in rows\n{c} plants {a} rows of [beans|cabbages|leeks|tulips], with "
       "{b} plants in each row. How many plants are there?\nThere are {r} plants, for {a} times "
       "{b} makes {r}."});
  g.add(
      "sum_div",
      {"{$h:person}{$o:countable}{h} shares the {o.s}\n{h} has {a} {o.s} for {b} children, and "
       "each child must get the same. How many {o.s} does each child get?\n{A} divided by {b} is "
       "{r}. Each child gets {r} {o.s}.",
       "{$h:person}{h} cuts the rope\nA rope is {a} feet long. {h} cuts it into {b} equal pieces. "
       "How long is each piece?\nEach piece is {r} feet long, because {b} times {r} is {a}.",
       "{$o:countable}Packing {o.s}\n{A} {o.s} are packed into {b} boxes, the same number in every "
       "box. How many are in one box?\nThere are {r} in each box. We can check it: {b} times {r} "
       "is {a}."});
  g.add("sum_two",
        {"{$h:person}{$f:person}{$o:countable}{h} at the market\n{h} has {a} {o.s} in the morning. "
         "{h.He} buys {b} more and then sells {less} to {f}. How many are left?\nFirst, {a} and "
         "{b} make {m}. Then, {m} less {less} is {r}. {h} has {r} {o.s} left.",
         "{$v:village}On the ferry to {v}\nThere are {a} people on the ferry. At the first landing "
         "{b} people get on. At the second landing {less} people get off. How many people arrive "
         "in {v}?\n{A} plus {b} is {m}, and {m} minus {less} is {r}. So {r} people arrive.",
         "{$c:child}{$o:countable}{c} and the {animal}\n{c} collects {a} {o.s} before lunch and "
         "{b} after lunch. In the evening @ {animal} eats {less}. How many does {c} have "
         "then?\n{A} and {b} are {m}. {M} take away {less} is {r}. {c} has {r} {o.s}."});
  g.add("countable",
        {"apple",   "button", "candle", "spool", "shell",  "egg",    "walnut", "plum",
         "bobbin",  "pebble", "ribbon", "penny", "needle", "turnip", "bead",   "loaf",
         "feather", "cup",    "nail",   "onion", "fish",   "bun",    "cherry", "box of matches"});
}

}  // namespace

void add_sums(Grammar& g) {
  add_easy_stories(g);
  add_hard_stories(g);
}

std::string make_sum(Grammar& g) {
  switch (g.rng().below(8)) {
    case 0:
    case 1:
      return g.expand(add_story(g));
    case 2:
      return g.expand(subtract_story(g));
    case 3:
      return g.expand(multiply_story(g));
    case 4:
      return g.expand(divide_story(g));
    case 5:
      return g.expand(two_step_story(g));
    case 6:
      return g.expand(table(g));
    default:
      return g.expand(sequence(g));
  }
}

}  // namespace twill_corpus
