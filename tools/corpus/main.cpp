// SPDX-License-Identifier: Apache-2.0
// Writes the corpus that Twill trains on when nobody gives it a text: assets/corpus.txt. Every word
// comes from the grammar in this folder, so the corpus has one author and one licence.
//   build:  g++ -std=c++20 -O2 tools/corpus/*.cpp -o make_corpus
//   write:  ./make_corpus assets/corpus.txt
//   check:  ./make_corpus --check assets/corpus.txt
// The same program writes the same bytes on every machine; a change here means a new corpus and new
// reference losses, so change it rarely.
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grammar.h"
#include "pieces.h"
#include "text.h"

namespace twill_corpus {
namespace {

constexpr std::uint64_t kSeed = 2024;
constexpr std::size_t kTargetBytes = 566000;

struct Kind {
  const char* label;
  int weight;  // its share of the pieces; long pieces get a small one
  std::string (*make)(Grammar&);
};

template <int kNamesRule>
std::string from_rule(Grammar& g) {
  static constexpr const char* kRules[] = {"{tale}",   "{dialogue}", "{letter}", "{diary}",
                                           "{notice}", "{recipe}",   "{howto}"};
  return g.expand(kRules[kNamesRule]);
}

constexpr Kind kKinds[] = {
    {"Tale", 19, from_rule<0>},   {"Scene", 10, from_rule<1>},  {"Letter", 11, from_rule<2>},
    {"Diary", 6, from_rule<3>},   {"Notice", 6, from_rule<4>},  {"Recipe", 7, from_rule<5>},
    {"Steps", 5, from_rule<6>},   {"Weather", 7, make_weather}, {"Market", 5, make_market},
    {"Log", 5, make_log},         {"Riddle", 8, make_riddle},   {"Proverbs", 4, make_proverbs},
    {"Rhyme", 3, make_rhyme},     {"Song", 3, make_song},       {"Sum", 10, make_sum},
    {"Word", 6, make_definition}, {"Code", 9, make_code},
};

void teach(Grammar& g) {
  add_lexicon(g);
  add_tales(g);
  add_village_tales(g);
  add_errand_tales(g);
  add_dialogues(g);
  add_letters(g);
  add_household(g);
  add_reports(g);
  add_riddles(g);
  add_verses(g);
  add_sums(g);
  add_glossary(g);
}

const Kind& pick_kind(Rng& rng) {
  int sum = 0;
  for (const Kind& kind : kKinds) sum += kind.weight;
  int left = rng.between(0, sum - 1);
  for (const Kind& kind : kKinds) {
    left -= kind.weight;
    if (left < 0) return kind;
  }
  return kKinds[0];
}

// "Tale: The Lost Key", then the body without trailing spaces or newlines.
std::string format_piece(const Kind& kind, const std::string& text) {
  const std::size_t end = text.find('\n');
  std::string title = text.substr(0, end);
  if (std::string_view(kind.label) == "Tale") title = title_case(title);
  std::string body;
  for (const char c : text.substr(end + 1)) {
    while (c == '\n' && body.ends_with(' ')) body.pop_back();
    // An empty alternative leaves two spaces behind; the indents of code are left alone.
    if (c == ' ' && body.ends_with(' ') && !body.ends_with("\n ") && !body.ends_with("  "))
      continue;
    body += c;
  }
  while (body.ends_with('\n') || body.ends_with(' ')) body.pop_back();
  return std::string(kind.label) + ": " + title + "\n" + body + "\n";
}

std::string make_corpus() {
  Grammar g(kSeed);
  teach(g);
  std::string corpus;
  std::set<std::string> seen;
  while (corpus.size() < kTargetBytes) {
    const Kind& kind = pick_kind(g.rng());
    g.begin_piece();
    const std::string piece = format_piece(kind, kind.make(g));
    // Two pieces with the same body under two titles would still be one piece told twice.
    if (!seen.insert(piece.substr(piece.find('\n'))).second) continue;
    if (!corpus.empty()) corpus += '\n';
    corpus += piece;
  }
  return corpus;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

int write_corpus(const std::string& path) {
  const std::string corpus = make_corpus();
  std::ofstream out(path, std::ios::binary);
  out << corpus << std::flush;
  if (!out) throw std::runtime_error("cannot write " + path);
  std::cout << path << ": " << corpus.size() << " bytes\n";
  return 0;
}

int check_corpus(const std::string& path) {
  const std::string want = make_corpus();
  const std::string got = read_file(path);
  if (got == want) return 0;
  std::size_t at = 0;
  while (at < got.size() && at < want.size() && got[at] == want[at]) ++at;
  std::cerr << path << " differs from what make_corpus writes, first at byte " << at << " ("
            << got.size() << " bytes, expected " << want.size() << ")\n";
  return 1;
}

int run(const std::vector<std::string>& args) {
  if (args.size() == 2 && args[0] == "--check") return check_corpus(args[1]);
  if (args.size() == 1 && !args[0].starts_with("-")) return write_corpus(args[0]);
  std::cerr << "usage: make_corpus OUT.txt | make_corpus --check FILE\n";
  return 2;
}

}  // namespace
}  // namespace twill_corpus

int main(int argc, char** argv) {
  try {
    return twill_corpus::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::cerr << "make_corpus: " << error.what() << "\n";
    return 1;
  }
}
