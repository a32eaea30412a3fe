// SPDX-License-Identifier: Apache-2.0
// Short C-like functions with an explanation. The examples are computed here, so they are true.
// Code is full of braces and brackets, so it does not go through the grammar; $name marks a value.
#include <map>
#include <string>
#include <vector>

#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

using Values = std::map<std::string, std::string>;

std::string fill(const std::string& pattern, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      out += pattern[i];
      continue;
    }
    std::string name;
    while (i + 1 < pattern.size() && pattern[i + 1] >= 'a' && pattern[i + 1] <= 'z')
      name += pattern[++i];
    out += values.at(name);
  }
  return out;
}

std::string pick(Rng& rng, const std::vector<std::string>& options) {
  return options[rng.below(options.size())];
}

// Names that make the snippets differ and belong to the valley.
std::string item(Rng& rng) {
  return pick(rng, {"thread", "sheep", "loaf", "coin", "sack", "candle", "bead", "plank", "egg",
                    "knot", "skein", "jar", "fish", "brick", "button", "row"});
}
std::string letter(Rng& rng) { return pick(rng, {"n", "x", "k", "m", "t", "limit"}); }
std::string total(Rng& rng) { return pick(rng, {"total", "sum", "count", "result", "answer"}); }

std::string number(int n) { return std::to_string(n); }

std::string arithmetic(Rng& rng) {
  const int n = rng.between(2, 20);
  const int x = rng.between(1, 30);
  const bool times = rng.below(2) == 0;
  const Values v = {{"v", letter(rng)},        {"n", number(n)},
                    {"w", number_word(n)},     {"i", item(rng)},
                    {"x", number(x)},          {"r", number(times ? n * x : n + x)},
                    {"op", times ? "*" : "+"}, {"f", times ? "times" : "add"}};
  return fill(times ? "$f_$w\nint $f_$w(int $v) {\n  return $v $op $n;\n}\nThe function takes a "
                      "number and multiplies it by $w. For example, $f_$w($x) is $r."
                    : "$f_$w\nint $f_$w(int $v) {\n  return $v $op $n;\n}\nThe function takes a "
                      "number and gives it back with $w added. For example, $f_$w($x) is $r.",
              v);
}

std::string cost(Rng& rng) {
  const int price = rng.between(2, 15);
  const int x = rng.between(2, 12);
  const Values v = {{"i", item(rng)},          {"p", number(price)},
                    {"w", number_word(price)}, {"x", number(x)},
                    {"r", number(price * x)},  {"c", pick(rng, {"cost", "price", "bill"})}};
  return fill(
      "$i_$c\nint $i_$c(int count) {\n  int price = $p;\n  return count * price;\n}\nEach $i costs "
      "$w pence, so the function multiplies the count by $p. The call $i_$c($x) returns $r.",
      v);
}

std::string sum_up(Rng& rng) {
  const int x = rng.between(3, 20);
  const Values v = {{"t", total(rng)},
                    {"v", letter(rng)},
                    {"x", number(x)},
                    {"r", number(x * (x + 1) / 2)},
                    {"w", number_word(x)}};
  return fill(
      "sum_to\nint sum_to(int $v) {\n  int $t = 0;\n  for (int i = 1; i <= $v; i++) {\n    $t = $t "
      "+ i;\n  }\n  return $t;\n}\n"
      "The loop visits every number from one to $v and adds it to $t. For $w, that is sum_to($x), "
      "the result is $r.",
      v);
}

std::string factorial(Rng& rng) {
  const int x = rng.between(3, 8);
  int r = 1;
  for (int i = 2; i <= x; ++i) r *= i;
  const Values v = {{"v", letter(rng)},
                    {"x", number(x)},
                    {"r", number(r)},
                    {"f", pick(rng, {"factorial", "ways", "orders"})}};
  return fill(
      "$f\nint $f(int $v) {\n  if ($v <= 1) return 1;\n  return $v * $f($v - 1);\n}\n"
      "The function calls itself with a smaller number until it reaches one. There are $f($x) = $r "
      "ways to put $x different things in a row.",
      v);
}

std::string larger(Rng& rng) {
  const int a = rng.between(1, 50);
  const int b = a + rng.between(1, 40);
  const bool big = rng.below(2) == 0;
  const Values v = {{"f", big ? "larger" : "smaller"},
                    {"op", big ? ">" : "<"},
                    {"a", number(a)},
                    {"b", number(b)},
                    {"r", number(big ? b : a)}};
  return fill(
      "$f\nint $f(int a, int b) {\n  if (a $op b) {\n    return a;\n  }\n  return b;\n}\nIt "
      "compares two numbers and returns the $f one. So $f($a, $b) gives $r.",
      v);
}

std::string array_loop(Rng& rng) {
  std::vector<int> xs;
  int sum = 0;
  std::string list;
  for (int i = 0; i < rng.between(3, 6) || i < 3; ++i) {
    xs.push_back(rng.between(1, 20));
    sum += xs.back();
    list += (i == 0 ? "" : ", ") + number(xs.back());
  }
  const Values v = {{"i", item(rng)},
                    {"t", total(rng)},
                    {"l", list},
                    {"r", number(sum)},
                    {"n", number(static_cast<int>(xs.size()))}};
  return fill(
      "all_weights\nint all_weights(int weight[], int n) {\n  int $t = 0;\n  for (int i = 0; i < "
      "n; i++) {\n    $t += weight[i];\n  }\n  return $t;\n}\n"
      "The array holds the weight of every $i. The loop adds them up. If the weights are $l, then "
      "n is $n and the function returns $r.",
      v);
}

std::string largest_of(Rng& rng) {
  const int n = rng.between(3, 6);
  int best = 0;
  std::string list;
  for (int i = 0; i < n; ++i) {
    const int x = rng.between(1, 60);
    best = x > best ? x : best;
    list += (i == 0 ? "" : ", ") + number(x);
  }
  const Values v = {{"i", item(rng)},
                    {"b", pick(rng, {"best", "top", "largest", "record"})},
                    {"l", list},
                    {"r", number(best)}};
  return fill(
      "longest_$i\nint longest_$i(int length[], int n) {\n  int $b = 0;\n  for (int i = 0; i < n; "
      "i++) {\n    if (length[i] > $b) $b = length[i];\n  }\n  return $b;\n}\n"
      "We look at every length and remember the largest one so far. For the lengths $l the answer "
      "is $r.",
      v);
}

std::string count_if(Rng& rng) {
  const int limit = rng.between(5, 30);
  int hits = 0;
  std::string list;
  const int n = rng.between(4, 7);
  for (int i = 0; i < n; ++i) {
    const int x = rng.between(1, 40);
    hits += x > limit ? 1 : 0;
    list += (i == 0 ? "" : ", ") + number(x);
  }
  const Values v = {{"t", pick(rng, {"found", "count", "many"})},
                    {"m", number(limit)},
                    {"w", number_word(limit)},
                    {"l", list},
                    {"r", number(hits)},
                    {"f", pick(rng, {"heavy", "tall", "late", "ripe", "long"})}};
  return fill(
      "count_$f\nint count_$f(int value[], int n) {\n  int $t = 0;\n  for (int i = 0; i < n; i++) "
      "{\n    if (value[i] > $m) {\n      $t++;\n    }\n  }\n  return $t;\n}\n"
      "A value above $w counts as $f. Among $l the function finds $r.",
      v);
}

std::string divides(Rng& rng) {
  const int d = rng.between(2, 9);
  const int x = rng.between(10, 60);
  const Values v = {{"v", letter(rng)},
                    {"d", number(d)},
                    {"w", number_word(d)},
                    {"x", number(x)},
                    {"r", x % d == 0 ? "true" : "false"},
                    {"m", number(x % d)}};
  return fill(
      "divides_by_$w\nbool divides_by_$w(int $v) {\n  return $v % $d == 0;\n}\nThe percent sign "
      "gives the remainder of a division. Since $x % $d is $m, the call divides_by_$w($x) is $r.",
      v);
}

std::string share(Rng& rng) {
  const int people = rng.between(2, 9);
  const int x = rng.between(10, 80);
  const Values v = {{"i", item(rng)},
                    {"n", number(people)},
                    {"x", number(x)},
                    {"q", number(x / people)},
                    {"m", number(x % people)}};
  return fill(
      "share\nvoid share(int count, int people) {\n  int each = count / people;\n  int left = "
      "count % people;\n  print(each);\n  print(left);\n}\n"
      "With a count of $x and $n people, everyone gets $q, and the number left over is $m.",
      v);
}

std::string countdown(Rng& rng) {
  const int x = rng.between(3, 9);
  std::string list;
  for (int i = x; i > 0; --i) list += (i == x ? "" : ", ") + number(i);
  const Values v = {{"v", letter(rng)},
                    {"x", number(x)},
                    {"l", list},
                    {"word", pick(rng, {"go", "done", "home", "hello", "supper", "ready"})}};
  return fill(
      "countdown\nvoid countdown(int $v) {\n  while ($v > 0) {\n    print($v);\n    $v--;\n  }\n  "
      "print(\"$word\");\n}\nThe call countdown($x) prints $l and then the word $word.",
      v);
}

std::string pattern(Rng& rng) {
  const int width = rng.between(4, 10);
  const int step = rng.between(2, 4);
  std::string row;
  for (int i = 0; i < width; ++i) row += i % step == 0 ? '#' : '.';
  const Values v = {
      {"n", number(width)}, {"s", number(step)}, {"w", number_word(step)}, {"row", row}};
  return fill(
      "draw_row\nvoid draw_row(int width) {\n  for (int i = 0; i < width; i++) {\n    if (i % $s "
      "== 0) {\n      put('#');\n    } else {\n      put('.');\n    }\n  }\n}\n"
      "One thread in every $w is raised. A row of width $n looks like this: $row",
      v);
}

std::string twill(Rng& rng) {
  const int size = rng.between(3, 6);
  const int over = rng.between(1, 2);
  const int rows = rng.between(3, 5);
  std::string cloth;
  for (int r = 0; r < rows; ++r) {
    cloth += '\n';
    for (int c = 0; c < size * 3; ++c) cloth += (c + r) % size < over ? '/' : '.';
  }
  const Values v = {{"s", number(size)},
                    {"o", number(over)},
                    {"rows", number(rows)},
                    {"width", number(size * 3)},
                    {"cloth", cloth}};
  return fill(
      "is_raised\nbool is_raised(int row, int column) {\n  return (row + column) % $s < "
      "$o;\n}\nEach row begins one step further on, and that makes a twill. Here are $rows rows of "
      "$width threads:$cloth",
      v);
}

std::string convert(Rng& rng) {
  struct Unit {
    const char* from;
    const char* to;
    int factor;
  };
  const Unit units[] = {{"feet", "inches", 12},     {"yards", "feet", 3},  {"fathoms", "feet", 6},
                        {"hours", "minutes", 60},   {"days", "hours", 24}, {"weeks", "days", 7},
                        {"shillings", "pence", 12}, {"dozens", "eggs", 12}};
  const Unit& u = units[rng.below(sizeof(units) / sizeof(units[0]))];
  const int x = rng.between(2, 15);
  const Values v = {{"a", u.from},
                    {"b", u.to},
                    {"n", number(u.factor)},
                    {"x", number(x)},
                    {"r", number(x * u.factor)}};
  return fill(
      "$a_to_$b\nint $a_to_$b(int $a) {\n  return $a * $n;\n}\nThis turns $a into $b. There are $r "
      "$b in $x $a.",
      v);
}

std::string fibonacci(Rng& rng) {
  const int steps = rng.between(4, 12);
  int a = 0;
  int b = 1;
  for (int i = 0; i < steps; ++i) {
    const int next = a + b;
    a = b;
    b = next;
  }
  const Values v = {{"v", letter(rng)},
                    {"x", number(steps)},
                    {"r", number(a)},
                    {"f", pick(rng, {"rabbits", "petals", "spiral"})}};
  return fill(
      "$f\nint $f(int $v) {\n  int a = 0;\n  int b = 1;\n  for (int i = 0; i < $v; i++) {\n    int "
      "next = a + b;\n    a = b;\n    b = next;\n  }\n  return a;\n}\n"
      "Every number is the sum of the two before it. After $x steps the function returns $r.",
      v);
}

}  // namespace

std::string make_code(Grammar& g) {
  using Maker = std::string (*)(Rng&);
  static constexpr Maker kMakers[] = {arithmetic, cost,       sum_up,   factorial, larger,
                                      array_loop, largest_of, count_if, divides,   share,
                                      countdown,  pattern,    twill,    convert,   fibonacci};
  return kMakers[g.rng().below(sizeof(kMakers) / sizeof(kMakers[0]))](g.rng());
}

}  // namespace twill_corpus
