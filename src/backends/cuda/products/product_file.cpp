// SPDX-License-Identifier: Apache-2.0
// A line is the numbers of a key and the algorithm as 128 hexadecimal digits; a model has some
// dozens of products, so some kilobytes. Readers take no lock: the file is replaced whole. Writers
// hold one on a file beside it, from reading to renaming, so that none loses another's entries.
#include "backends/cuda/products/product_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/hash.h"
#include "base/log.h"

namespace twill::cuda {
namespace {

namespace fs = std::filesystem;

// Counts changes of the key, of its numbers' meaning and of the rules for candidates.
constexpr int kFormat = 6;
constexpr std::string_view kTitle = "twill products";
constexpr std::string_view kChecksum = "checksum ";

// A writer holds the lock for a millisecond. Beyond this it hangs, and nobody must wait for it.
constexpr int kLockTries = 200;
constexpr std::chrono::milliseconds kLockPause{10};

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

std::string header_of(std::string_view owner) {
  return fmt::format("{} {}: {}\n", kTitle, kFormat, owner);
}

std::string to_line(const ProductKey& key, const Algorithm& algorithm) {
  std::string line;
  const auto append = [&](const auto&... number) { ((line += fmt::format("{} ", number)), ...); };
  std::apply(append, numbers_of(key));
  for (const std::uint64_t word : algorithm) line += fmt::format("{:016x}", word);
  return line + '\n';
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

bool read_line(const std::string& line, ProductMap& into) {
  std::istringstream words(line);
  ProductKey key;
  std::apply([&](auto&... number) { (words >> ... >> number); }, numbers_of(key));
  std::string hex, more;
  if (!(words >> hex) || words >> more) return false;
  const std::optional<Algorithm> algorithm = algorithm_from(hex);
  return algorithm && into.emplace(key, *algorithm).second;
}

std::string checksum_line(std::string_view body) {
  return fmt::format("{}{}\n", kChecksum, hash_text(hash_bytes(body.data(), body.size())));
}

// `text` without its last line, when that is the right checksum.
std::optional<std::string_view> checked_body(std::string_view text) {
  const std::size_t last = text.rfind(kChecksum);
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view body = text.substr(0, last);
  if (text.substr(last) != checksum_line(body)) return std::nullopt;
  return body;
}

// Exclusive among threads and processes; released when the descriptor closes.
class Lock {
 public:
  explicit Lock(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) return;
    for (int i = 0; i < kLockTries && !is_held_; ++i) {
      if (i > 0) std::this_thread::sleep_for(kLockPause);
      is_held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    }
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool is_held() const { return is_held_; }

 private:
  int descriptor_;
  bool is_held_ = false;
};

fs::path beside(const fs::path& path, std::string_view suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

}  // namespace

std::string Machine::text_without_driver() const {
  return fmt::format("{}, {} SMs, cuBLASLt {}", gpu, num_sms, cublaslt_version);
}

std::string Machine::text() const {
  return fmt::format("{}, driver {}", text_without_driver(), driver);
}

std::string to_text(const ProductMap& products, std::string_view owner) {
  std::string text = header_of(owner);
  for (const auto& [key, algorithm] : products) text += to_line(key, algorithm);
  return text + checksum_line(text);
}

std::optional<ProductMap> from_text(std::string_view text, std::string_view owner) {
  const std::optional<std::string_view> body = checked_body(text);
  if (!body || owner_of(text) != owner) return std::nullopt;
  std::istringstream lines{std::string(*body)};
  std::string line;
  std::getline(lines, line);  // the header
  ProductMap products;
  while (std::getline(lines, line))
    if (!read_line(line, products)) return std::nullopt;
  return products;
}

std::string owner_of(std::string_view text) {
  const std::string before = fmt::format("{} {}: ", kTitle, kFormat);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(before)) return {};
  return std::string(text.substr(before.size(), end - before.size()));
}

ProductFile::ProductFile(const Machine& machine, fs::path path)
    : owner_(machine.text()), path_(std::move(path)) {}

void ProductFile::warn_once(std::string_view what) {
  if (!std::exchange(has_warned_, true)) log_warning(fmt::format("{} {}", path_.native(), what));
}

ProductMap ProductFile::read() {
  std::ifstream in(path_, std::ios::binary);
  if (path_.empty() || !in) return {};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (std::optional<ProductMap> products = from_text(text, owner_)) return *std::move(products);
  warn_once("is damaged and is ignored: matrix products are timed anew");
  return {};
}

// The name of the fresh file is its writer's alone: he has the lock. What a killed one left behind
// is overwritten. A loss of power may leave an empty file: its checksum is missing.
bool ProductFile::replace(const ProductMap& products) const {
  const fs::path fresh = beside(path_, ".tmp");
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << to_text(products, owner_);
  out.close();
  std::error_code failed, ignored;
  if (out) fs::rename(fresh, path_, failed);
  if (out && !failed) return true;
  fs::remove(fresh, ignored);
  return false;
}

ProductMap ProductFile::add(const ProductKey& key, const Algorithm& algorithm,
                            const Algorithm* refused) {
  if (path_.empty()) return {{key, algorithm}};
  std::error_code ignored;
  fs::create_directories(path_.parent_path(), ignored);
  const Lock lock(beside(path_, ".lock"));
  ProductMap products = read();
  const auto [entry, is_new] = products.try_emplace(key, algorithm);
  if (!is_new && (refused == nullptr || entry->second != *refused)) return products;
  entry->second = algorithm;
  if (!lock.is_held() || !replace(products))
    warn_once(
        "cannot be written: later runs time matrix products again; set TWILL_CACHE to a "
        "folder that can");
  return products;
}

fs::path default_products_path(const Machine& machine) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string gpu = machine.gpu;
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::ranges::replace_if(
      gpu, [&](char c) { return !is_plain(c); }, '-');
  return folder / fmt::format("products-{}-{}-{}-{}-{}.txt", kFormat, gpu, machine.num_sms,
                              machine.cublaslt_version, machine.driver);
}

}  // namespace twill::cuda
