// SPDX-License-Identifier: Apache-2.0
// The file has a header that names the machine, then one line per product: the numbers of its key
// and the algorithm as 128 hexadecimal digits. It is read once, and rewritten after each search: a
// model has some dozens of products, so some kilobytes.
#include "backends/cuda/product_plan.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twill::cuda {
namespace {

namespace fs = std::filesystem;

// Counts changes of the key, of its numbers' meaning and of the rules for candidates.
constexpr int kFormat = 4;

constexpr double kHopeless = 1.5;        // times the best so far: not worth further launches
constexpr double kClearlyBetter = 0.99;  // times the first: beyond the noise of the best of five

constexpr std::size_t kDigits = 16;  // of a 64-bit word
constexpr std::size_t kHexSize = std::tuple_size_v<Algorithm> * kDigits;

// The only list of a key's numbers, in the order of the file.
template <class Key>
auto numbers_of(Key& key) {
  return std::tie(key.m, key.n, key.k, key.trans_a, key.trans_b, key.accumulate, key.type,
                  key.result_type, key.epilogue, key.align_a, key.align_b, key.align_c,
                  key.align_bias, key.align_addend, key.align_before);
}

static_assert(std::tuple_size_v<decltype(numbers_of(std::declval<ProductKey&>()))> *
                      sizeof(std::int64_t) ==
                  sizeof(ProductKey),
              "a number of the key is missing in the file");

std::string to_line(const ProductKey& key, const Algorithm& algorithm) {
  std::string line;
  const auto append = [&](const auto&... number) { ((line += fmt::format("{} ", number)), ...); };
  std::apply(append, numbers_of(key));
  for (const std::uint64_t word : algorithm) line += fmt::format("{:016x}", word);
  return line;
}

std::optional<Algorithm> algorithm_from(std::string_view hex) {
  if (hex.size() != kHexSize) return std::nullopt;
  Algorithm algorithm{};
  for (std::uint64_t& word : algorithm) {
    const char* end = hex.data() + kDigits;
    const auto [stop, error] = std::from_chars(hex.data(), end, word, 16);
    if (error != std::errc() || stop != end) return std::nullopt;
    hex.remove_prefix(kDigits);
  }
  return algorithm;
}

// A line that is not whole is as good as none.
void read_line(const std::string& line, std::map<ProductKey, Algorithm>& into) {
  std::istringstream words(line);
  ProductKey key;
  std::apply([&](auto&... number) { (words >> ... >> number); }, numbers_of(key));
  std::string hex;
  if (!(words >> hex)) return;
  if (const std::optional<Algorithm> algorithm = algorithm_from(hex)) into[key] = *algorithm;
}

fs::path set_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

fs::path cache_folder() {
  if (fs::path own = set_variable("TWILL_CACHE"); !own.empty()) return own;
  if (fs::path cache = set_variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "twill";
  if (fs::path home = set_variable("HOME"); !home.empty()) return home / ".cache" / "twill";
  return {};
}

}  // namespace

fs::path default_products_file(std::string_view gpu, std::int64_t version) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string name(gpu);
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(c); }, '-');
  return folder / fmt::format("products-{}-{}.txt", name, version);
}

ProductPlan::ProductPlan(std::string machine, fs::path file)
    : header_(fmt::format("twill products {}: {}", kFormat, machine)),
      file_(std::move(file)),
      searched_(read_file()) {}

const std::optional<Algorithm>* ProductPlan::chosen(const ProductKey& key) const {
  const auto found = chosen_.find(key);
  return found == chosen_.end() ? nullptr : &found->second;
}

void ProductPlan::choose(const ProductKey& key, std::optional<Algorithm> algorithm) {
  chosen_[key] = algorithm;
}

const Algorithm* ProductPlan::searched(const ProductKey& key) const {
  const auto found = searched_.find(key);
  return found == searched_.end() ? nullptr : &found->second;
}

void ProductPlan::keep_searched(const ProductKey& key, const Algorithm& algorithm) {
  searched_[key] = algorithm;
  if (file_.empty()) return;
  searched_.merge(read_file());  // what others have found since; our own entries stay
  write_file();
}

std::map<ProductKey, Algorithm> ProductPlan::read_file() const {
  std::map<ProductKey, Algorithm> products;
  if (file_.empty()) return products;
  std::ifstream in(file_);
  std::string line;
  if (!std::getline(in, line) || line != header_) return products;
  while (std::getline(in, line)) read_line(line, products);
  return products;
}

// Beside the old file and then in its place: a reader sees one of them, never a half. The name of
// the new one is nobody else's, in this process or another.
void ProductPlan::write_file() const {
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  fs::path fresh = file_;
  fresh += fmt::format(".{}-{}", getpid(), static_cast<const void*>(this));
  std::ofstream out(fresh, std::ios::trunc);
  out << header_ << '\n';
  for (const auto& [key, algorithm] : searched_) out << to_line(key, algorithm) << '\n';
  out.close();
  std::error_code failed;
  if (out) fs::rename(fresh, file_, failed);
  if (!out || failed) fs::remove(fresh, ignored);
}

std::size_t choose_fastest(std::size_t count, const TimeCandidate& time) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double first = time(0, kNever), best = first;
  std::size_t fastest = 0;
  for (std::size_t candidate = 1; candidate < count; ++candidate) {
    const double seconds = time(candidate, kHopeless * best);
    if (seconds < best) best = seconds, fastest = candidate;
  }
  if (fastest == 0) return 0;
  // The first ran while the clocks were still rising: it gets a second chance.
  first = std::min(first, time(0, kNever));
  return best < kClearlyBetter * first ? fastest : 0;
}

}  // namespace twill::cuda
