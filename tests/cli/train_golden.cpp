// SPDX-License-Identifier: Apache-2.0
#include "cli/train_golden.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kRecord = "TWILL_RECORD_GOLDENS";
constexpr const char* kNone = "-";
const std::string kGoldens = TWILL_SOURCE_DIR "/tests/golden/";
constexpr std::array kParts{"weights", "moments", "masks", "notes", "norms", "health"};

// FNV-1a, written out: the program's own hash may change, this one may not.
class Fnv {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ ^= static_cast<unsigned char>(byte);
      value_ *= 0x100000001b3u;
    }
  }
  void add(double number) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    add(std::string_view(bytes.data(), bytes.size()));
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

struct Safetensors {
  json header;
  std::string data;

  explicit Safetensors(const std::string& path) {
    const std::string file = content_of(path);
    std::uint64_t length = 0;
    if (file.size() < sizeof length) {
      ADD_FAILURE() << "no tensors in " << path;
      return;
    }
    std::memcpy(&length, file.data(), sizeof length);
    header = json::parse(file.substr(sizeof length, length));
    data = file.substr(sizeof length + length);
  }

  // By name, so that the order in the file says nothing.
  std::string hash_of_tensors() const {
    Fnv hash;
    add_tensors(hash);
    return hash.text();
  }
  std::string hash_of_texts() const {
    Fnv hash;
    add_texts(hash);
    return hash.text();
  }
  std::string hash_of_all() const {
    Fnv hash;
    add_tensors(hash);
    add_texts(hash);
    return hash.text();
  }

 private:
  void add_tensors(Fnv& hash) const {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
      hash.add(name + entry["dtype"].dump() + entry["shape"].dump());
      hash.add(std::string_view(data).substr(begin, end - begin));
    }
  }
  void add_texts(Fnv& hash) const {
    if (!header.contains("__metadata__")) return;
    for (const auto& [name, text] : header["__metadata__"].items())
      // Checksums follow from the rest.
      if (name != "twill.checksum" && name != "twill.weights") hash.add(name + text.dump());
  }
};

std::string newest_checkpoint(const std::string& run_folder) {
  std::string newest;
  for (const auto& entry : fs::directory_iterator(run_folder + "/checkpoints"))
    newest = std::max(newest, entry.path().native());
  return newest;
}

std::string list_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers)
    text += (text.empty() ? "" : ",") + fmt::format("{:.17g}", number);
  return text;
}

std::vector<double> parsed_list(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) numbers.push_back(std::stod(word));
  return numbers;
}

// Of the functions that both backends take from the C library, float and double.
std::string libm_hash() {
  Fnv hash;
  for (int i = 1; i <= 500; ++i) {
    const double x = 0.0137 * i;
    const auto y = static_cast<float>(x);
    for (const double value : {std::exp(-x), std::exp(x), std::log(x), std::erfc(x), std::sin(x),
                               std::cos(x), std::pow(x, 1.37)})
      hash.add(value);
    for (const float value : {std::exp(-y), std::exp(y), std::log(y), std::erfc(y), std::sin(y),
                              std::cos(y), std::pow(y, 1.37f)})
      hash.add(double{value});
  }
  return hash.text();
}

// What the cpu backend says of itself: "AVX-512 by Highway 1.0.3, oneDNN 2.6.3".
const std::string& cpu_description() {
  static const std::string description = [] {
    const TempDir dir;
    std::istringstream lines(run_twill({"info"}, {.folder = dir.path()}).out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word, name, rest;
      words >> word >> name >> std::ws;
      if (word == "backend" && name == "cpu" && std::getline(words, rest)) return rest;
    }
    ADD_FAILURE() << "`twill info` does not say what the cpu backend is";
    return std::string();
  }();
  return description;
}

std::string needs_of(const std::string& device) {
  const std::string libm = "libm " + libm_hash();
  return device == "reference" ? libm : cpu_description() + ", " + libm;
}

// "AVX-512 by Highway 1.0.3, …": avx-512
std::string file_name(const std::string& device) {
  std::string name =
      device == "reference" ? device : cpu_description().substr(0, cpu_description().find(' '));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name + ".txt";
}

struct Lines {
  std::string needs;
  std::map<std::string, std::string> records;

  explicit Lines(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const std::size_t middle = line.find(" = ");
      if (line.starts_with("#") || middle == std::string::npos) continue;
      const std::string key = line.substr(0, middle);
      (key == "needs" ? needs : records[key]) = line.substr(middle + 3);
    }
  }

  void write(const std::string& path) const {
    std::ofstream file(path + ".new");
    file << "# Losses of each step, validation losses and hashes of what tiny runs leave behind; "
            "see\n# tests/cli/train_golden.h. Made with:\n#   "
         << kRecord << "=1 ./twill test Golden\nneeds = " << needs << "\n";
    for (const auto& [key, record] : records) file << key << " = " << record << "\n";
    file.close();
    fs::rename(path + ".new", path);
  }
};

// ctest runs cases at the same time: they write one after another.
void record_line(const std::string& path, const std::string& needs, const std::string& key,
                 const std::string& record) {
  fs::create_directories(fs::path(path).parent_path());
  const int lock = ::open(fs::path(path).parent_path().c_str(), O_RDONLY | O_CLOEXEC);
  ::flock(lock, LOCK_EX);
  Lines lines(path);
  // Of another C library: not to be mixed with lines of this one.
  if (lines.needs != needs) lines.records.clear();
  lines.needs = needs;
  lines.records[key] = record;
  lines.write(path);
  ::close(lock);
}

std::string number_difference(const std::string& what, double got, double want) {
  return fmt::format("{} is {:.17g}, recorded {:.17g} (difference {:.2g})", what, got, want,
                     got - want);
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

bool recording() { return std::getenv(kRecord) != nullptr; }

std::string RunRecord::text() const {
  std::string text;
  for (const char* part : kParts) text += fmt::format("{}={} ", part, hashes.at(part));
  return text + "val=" + list_text(val) + " loss=" + list_text(losses);
}

RunRecord RunRecord::parse(const std::string& text) {
  RunRecord record;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(std::min(word.size(), name.size() + 1));
    if (name == "val") {
      record.val = parsed_list(value);
    } else if (name == "loss") {
      record.losses = parsed_list(value);
    } else {
      record.hashes[name] = value;
    }
  }
  return record;
}

RunRecord record_of(const std::string& run_folder, std::int64_t after) {
  RunRecord record;
  Fnv norms, health;
  std::ifstream metrics(run_folder + "/metrics.jsonl");
  for (std::string text; std::getline(metrics, text);) {
    const json line = json::parse(text);
    if (line.at("step").get<std::int64_t>() <= after && after > 0) continue;
    if (line.contains("loss")) record.losses.push_back(line["loss"]);
    if (line.contains("grad_norm")) norms.add(line["grad_norm"].get<double>());
    if (line.contains("health")) health.add(line.dump());
    for (const char* key : {"val_loss", "val_loss_master", "val_loss_as_trained"})
      if (line.contains(key)) record.val.push_back(line[key]);
  }
  const std::string checkpoint = newest_checkpoint(run_folder);
  const std::string sparsity = checkpoint + "/sparsity.safetensors";
  const bool has_sparsity = fs::exists(sparsity);
  record.hashes = {
      {"weights", Safetensors(checkpoint + "/model.safetensors").hash_of_tensors()},
      {"moments", Safetensors(checkpoint + "/state.safetensors").hash_of_all()},
      {"masks", has_sparsity ? Safetensors(sparsity).hash_of_tensors() : kNone},
      {"notes", has_sparsity ? Safetensors(sparsity).hash_of_texts() : kNone},
      {"norms", norms.text()},
      {"health", health.text()},
  };
  return record;
}

std::string difference(const RunRecord& got, const RunRecord& want, std::int64_t first_step) {
  const std::size_t steps = std::min(got.losses.size(), want.losses.size());
  for (std::size_t i = 0; i < steps; ++i)
    if (!same_bits(got.losses[i], want.losses[i]))
      return number_difference(
          fmt::format("the loss of step {}", static_cast<std::int64_t>(i) + first_step),
          got.losses[i], want.losses[i]);
  if (got.losses.size() != want.losses.size())
    return fmt::format("{} steps, recorded {}", got.losses.size(), want.losses.size());
  std::string parts;
  for (const char* part : kParts)
    if (got.hashes.at(part) != (want.hashes.contains(part) ? want.hashes.at(part) : ""))
      parts += fmt::format("{}{}", parts.empty() ? "" : ", ", part);
  if (!parts.empty()) parts = "; other bits in: " + parts;
  const std::string same = "every loss is as recorded, but ";
  if (got.val.size() != want.val.size())
    return same +
           fmt::format("there are {} validation losses, recorded {}", got.val.size(),
                       want.val.size()) +
           parts;
  for (std::size_t i = 0; i < got.val.size(); ++i)
    if (!same_bits(got.val[i], want.val[i])) {
      const std::string what = fmt::format("validation loss {} of {}", i + 1, got.val.size());
      return fmt::format("{}{}{}", same, number_difference(what, got.val[i], want.val[i]), parts);
    }
  return parts.empty() ? "" : same + "not what is left behind" + parts;
}

GoldenFile::GoldenFile(const std::string& folder, const std::string& device)
    : device_(device), path_(kGoldens + folder + "/" + file_name(device)) {}

std::string GoldenFile::why_not() const {
  if (recording()) return "";
  if (!fs::exists(path_)) return "no goldens of this CPU";
  return needs_of(device_) == Lines(path_).needs ? "" : "goldens of other libraries";
}

void GoldenFile::check(const std::string& key, const RunRecord& got, const std::string& command,
                       std::int64_t first_step) const {
  if (recording()) return record_line(path_, needs_of(device_), key, got.text());
  const Lines lines(path_);
  const auto line = lines.records.find(key);
  const std::string note =
      fmt::format("\n  made by  {}\n  if that is meant, record anew:  {}=1 ./twill test Golden",
                  command, kRecord);
  if (line == lines.records.end()) {
    ADD_FAILURE() << key << " has no line in " << path_ << note;
    return;
  }
  const std::string differs = difference(got, RunRecord::parse(line->second), first_step);
  if (!differs.empty()) ADD_FAILURE() << key << ": " << differs << note;
}

std::map<std::string, std::vector<std::string>> golden_keys(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& entry : fs::directory_iterator(kGoldens + folder))
    for (const auto& [key, record] : Lines(entry.path()).records)
      keys[entry.path().filename()].push_back(key);
  return keys;
}

}  // namespace twill
