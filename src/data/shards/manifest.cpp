// SPDX-License-Identifier: Apache-2.0
#include "data/shards/manifest.h"

#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"

namespace twill {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kFormat = "twill-shards";

// Reads members and says which one is wrong.
class Members {
 public:
  Members(const JsonValue& value, std::string where) : value_(value), where_(std::move(where)) {
    require(value.object() != nullptr, "{}: expected an object, got {}", where_, value.kind());
  }

  const JsonValue& at(std::string_view key) const {
    const JsonValue* member = value_.find(key);
    require(member != nullptr, "{}: \"{}\" is missing", where_, key);
    return *member;
  }
  std::string text(std::string_view key) const {
    const std::string* text = at(key).text();
    require(text != nullptr, "{}: \"{}\" is {}, expected text", where_, key, at(key).kind());
    return *text;
  }
  std::int64_t integer(std::string_view key, std::int64_t low = 0) const {
    const std::int64_t* number = at(key).integer();
    require(number != nullptr && *number >= low && *number < std::int64_t{1} << 62,
            "{}: \"{}\" is not an integer of at least {}", where_, key, low);
    return *number;
  }
  double number(std::string_view key) const {
    const auto number = at(key).number();
    require(number.has_value(), "{}: \"{}\" is not a number", where_, key);
    return *number;
  }
  bool boolean(std::string_view key) const {
    require(at(key).boolean() != nullptr, "{}: \"{}\" is not true or false", where_, key);
    return *at(key).boolean();
  }
  const JsonArray& list(std::string_view key) const {
    require(at(key).array() != nullptr, "{}: \"{}\" is not a list", where_, key);
    return *at(key).array();
  }
  const std::string& where() const { return where_; }

 private:
  const JsonValue& value_;
  std::string where_;
};

JsonValue json_of(const PrepareArguments& arguments) {
  JsonArray texts(arguments.texts.begin(), arguments.texts.end());
  return JsonObject{{"texts", std::move(texts)},
                    {"tokenizer", arguments.tokenizer},
                    {"tokenizer_hash", arguments.tokenizer_hash},
                    {"vocab_size", arguments.vocab_size},
                    {"validation", arguments.validation},
                    {"seed", arguments.seed},
                    {"keep_order", arguments.keep_order},
                    {"text_key", arguments.text_key},
                    {"shard_tokens", arguments.shard_tokens}};
}

PrepareArguments arguments_of(const Members& members) {
  PrepareArguments arguments;
  for (const JsonValue& text : members.list("texts")) {
    require(text.text() != nullptr, "{}: \"texts\" is not a list of texts", members.where());
    arguments.texts.push_back(*text.text());
  }
  arguments.tokenizer = members.text("tokenizer");
  arguments.tokenizer_hash = members.text("tokenizer_hash");
  arguments.vocab_size = members.integer("vocab_size");
  arguments.validation = members.number("validation");
  arguments.seed = members.integer("seed");
  arguments.keep_order = members.boolean("keep_order");
  arguments.text_key = members.text("text_key");
  arguments.shard_tokens = members.integer("shard_tokens");
  return arguments;
}

JsonValue json_of(const std::vector<ManifestShard>& shards) {
  JsonArray list;
  for (const ManifestShard& shard : shards)
    list.push_back(JsonObject{{"file", shard.file},
                              {"tokens", shard.tokens},
                              {"documents", shard.documents},
                              {"largest_id", shard.largest_id},
                              {"hash", shard.hash}});
  return list;
}

std::vector<ManifestShard> shards_of(const Members& members, std::string_view key) {
  std::vector<ManifestShard> shards;
  for (const JsonValue& value : members.list(key)) {
    const Members shard(value, fmt::format("{}: {} {}", members.where(), key, shards.size()));
    shards.push_back({.file = shard.text("file"),
                      .tokens = shard.integer("tokens"),
                      .documents = shard.integer("documents"),
                      .largest_id = shard.integer("largest_id", -1),
                      .hash = shard.text("hash")});
    const std::string& file = shards.back().file;
    // The counts of an llm.c header are 31 bits; with that, sums cannot overflow.
    require(std::max(shards.back().tokens, shards.back().documents) < std::int64_t{1} << 31,
            "{}: more tokens or documents than a shard can hold", shard.where());
    require(!file.empty() && file.find('/') == file.npos && file != "..",
            "{}: \"{}\" is not the name of a file in the folder", shard.where(), file);
  }
  return shards;
}

JsonValue json_of(const std::vector<ManifestSource>& sources) {
  JsonArray list;
  for (const ManifestSource& source : sources)
    list.push_back(JsonObject{{"path", source.path},
                              {"bytes", source.bytes},
                              {"hash", source.hash},
                              {"documents", source.documents}});
  return list;
}

JsonValue totals_of(const std::vector<ManifestShard>& shards) {
  return JsonObject{{"tokens", total_tokens(shards)}, {"documents", total_documents(shards)}};
}

}  // namespace

std::string manifest_file(const std::string& folder) { return folder + "/manifest.json"; }

bool is_prepared(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(manifest_file(folder), ignored);
}

void require_finished(const std::string& folder, std::string_view key) {
  std::error_code ignored;
  const bool begun =
      std::filesystem::is_directory(fmt::format("{}/{}", folder, kSpoolFolder), ignored);
  require(!begun || is_prepared(folder),
          "{}: {} is not finished; start `data prepare` again with the same arguments", key,
          folder);
}

std::string write_manifest(const Manifest& manifest) {
  return to_json(JsonObject{{"format", std::string(kFormat)},
                            {"version", kVersion},
                            {"arguments", json_of(manifest.arguments)},
                            {"document_token", manifest.document_token},
                            {"sources", json_of(manifest.sources)},
                            {"train", json_of(manifest.train)},
                            {"validation", json_of(manifest.validation)},
                            {"train_total", totals_of(manifest.train)},
                            {"validation_total", totals_of(manifest.validation)}});
}

namespace {

JsonValue parse_file(std::string_view text, const std::string& path) {
  try {
    return parse_json_value(text);
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const JsonValue value = parse_file(text, path);
  const Members members(value, path);
  require(members.text("format") == kFormat, "{}: not the manifest of a folder of shards", path);
  const std::int64_t version = members.integer("version");
  require(version == kVersion, "{}: manifest of version {}, expected {}", path, version, kVersion);
  Manifest manifest;
  manifest.arguments = arguments_of(Members(members.at("arguments"), path + ": arguments"));
  manifest.document_token = members.integer("document_token", -1);
  for (const JsonValue& source : members.list("sources")) {
    const Members from(source, path + ": sources");
    manifest.sources.push_back({.path = from.text("path"),
                                .bytes = from.integer("bytes"),
                                .hash = from.text("hash"),
                                .documents = from.integer("documents")});
  }
  manifest.train = shards_of(members, "train");
  manifest.validation = shards_of(members, "validation");
  return manifest;
}

Manifest read_manifest(const std::string& folder) {
  const std::string path = manifest_file(folder);
  return parse_manifest(read_file(path), path);
}

std::string write_arguments(const PrepareArguments& arguments) {
  return to_json(json_of(arguments));
}

PrepareArguments parse_arguments(std::string_view text, const std::string& path) {
  const JsonValue value = parse_file(text, path);
  return arguments_of(Members(value, path));
}

std::string difference(const PrepareArguments& saved, const PrepareArguments& wanted) {
  const auto differs = [](std::string_view what, const auto& was, const auto& is) {
    return was == is ? std::string() : fmt::format("{} was {}, now {}", what, was, is);
  };
  for (const std::string& text :
       {differs("TEXT", fmt::format("{}", fmt::join(saved.texts, " ")),
                fmt::format("{}", fmt::join(wanted.texts, " "))),
        differs("the tokenizer's hash", saved.tokenizer_hash, wanted.tokenizer_hash),
        differs("--validation", saved.validation, wanted.validation),
        differs("--seed", saved.seed, wanted.seed),
        differs("--keep-order", saved.keep_order, wanted.keep_order),
        differs("--text-key", saved.text_key, wanted.text_key),
        differs("--shard-tokens", saved.shard_tokens, wanted.shard_tokens)})
    if (!text.empty()) return text;
  return {};
}

std::int64_t total_tokens(const std::vector<ManifestShard>& shards) {
  std::int64_t sum = 0;
  for (const ManifestShard& shard : shards) sum += shard.tokens;
  return sum;
}

std::int64_t total_documents(const std::vector<ManifestShard>& shards) {
  std::int64_t sum = 0;
  for (const ManifestShard& shard : shards) sum += shard.documents;
  return sum;
}

}  // namespace twill
