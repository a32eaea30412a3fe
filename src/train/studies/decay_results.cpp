// SPDX-License-Identifier: Apache-2.0
#include "train/studies/decay_results.h"

#include <algorithm>
#include <string_view>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/paths.h"

namespace twill {
namespace {

double number_at(const JsonValue& line, const char* key) {
  const JsonValue* value = line.find(key);
  const auto number = value != nullptr ? value->number() : std::nullopt;
  require(number.has_value(), "no number under \"{}\"", key);
  return *number;
}

std::string to_line(const DecayTrial& trial) {
  JsonObject line;
  line.emplace_back("lambda", trial.lambda ? JsonValue(*trial.lambda) : JsonValue("dense"));
  line.emplace_back("flip_rate", trial.flip_rate);
  line.emplace_back("loss", trial.loss);
  line.emplace_back("diverged", trial.diverged);
  return to_json_line(line) + "\n";
}

DecayTrial from_line(std::string_view text) {
  const JsonValue line = parse_json_value(text);
  const JsonValue* lambda = line.find("lambda");
  const JsonValue* diverged = line.find("diverged");
  return {.lambda = lambda != nullptr ? lambda->number() : std::nullopt,
          .flip_rate = number_at(line, "flip_rate"),
          .loss = number_at(line, "loss"),
          .diverged = diverged != nullptr && *diverged == JsonValue(true),
          .kept = true};
}

}  // namespace

DecayResults::DecayResults(const std::string& folder, const std::string& settings,
                           const DecayTuning& tuning)
    : path_(folder + "/tune.jsonl") {
  const std::string header = to_json_line(JsonObject{{"tune", "decay"},
                                                     {"settings", settings},
                                                     {"recipe", tuning.recipe},
                                                     {"steps", tuning.steps},
                                                     {"every", tuning.every}}) +
                             "\n";
  create_directories(folder);
  if (path_exists(path_)) {
    load(header);
  } else {
    text_ = header;
    write_file(path_, text_);
  }
}

void DecayResults::load(const std::string& header) {
  text_ = read_file(path_);
  require(text_.starts_with(header),
          "{} holds results of other settings: it begins with {}, this call with {}; give "
          "another --out, or remove the file",
          path_, text_.substr(0, text_.find('\n')), header.substr(0, header.size() - 1));
  for (std::size_t at = header.size(); at < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    try {
      trials_.push_back(from_line(std::string_view(text_).substr(at, end - at)));
    } catch (const Error& error) {
      fail("{}: line {}: {}; remove the file to begin anew", path_, trials_.size() + 2,
           error.what());
    }
    at = end + 1;
  }
}

const DecayTrial* DecayResults::find(std::optional<double> lambda) const {
  const auto found = std::ranges::find(trials_, lambda, &DecayTrial::lambda);
  return found == trials_.end() ? nullptr : &*found;
}

void DecayResults::add(const DecayTrial& trial) {
  text_ += to_line(trial);
  write_file(path_, text_);
}

}  // namespace twill
