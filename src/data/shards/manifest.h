// SPDX-License-Identifier: Apache-2.0
// manifest.json of a folder made by `twill data prepare`: what it was made from, with which
// tokenizer, and what each shard holds. Written last, so a folder with a manifest is whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

// What decides the tokens, besides the texts themselves.
struct PrepareArguments {
  std::vector<std::string> texts;  // as given
  std::string tokenizer;           // its name, for people
  std::string tokenizer_hash;
  std::int64_t vocab_size = 0;
  double validation = 0.0;
  std::int64_t seed = 0;
  bool keep_order = false;
  std::string text_key;
  std::int64_t shard_tokens = 0;
};

struct ManifestSource {
  std::string path;
  std::int64_t bytes = 0;  // unpacked
  std::string hash;        // of the unpacked bytes
  std::int64_t documents = 0;
};

struct ManifestShard {
  std::string file;  // in the folder
  std::int64_t tokens = 0;
  std::int64_t documents = 0;  // that begin in it
  std::int64_t largest_id = -1;
  std::string hash;  // XXH3 of the file
};

struct Manifest {
  PrepareArguments arguments;
  std::int64_t document_token = -1;  // in front of every document; -1: none
  std::vector<ManifestSource> sources;
  std::vector<ManifestShard> train;
  std::vector<ManifestShard> validation;
};

std::string manifest_file(const std::string& folder);
// Whether the folder was made by `data prepare` and is finished.
bool is_prepared(const std::string& folder);
// Throws when the folder is one that `data prepare` has begun and not finished.
void require_finished(const std::string& folder, std::string_view key);

inline constexpr std::string_view kSpoolFolder = ".spool";

std::string write_manifest(const Manifest& manifest);
// Throws twill::Error: `dir/manifest.json: "train" is missing`.
Manifest parse_manifest(std::string_view text, const std::string& path);
Manifest read_manifest(const std::string& folder);

// The arguments alone, for a folder that is not finished.
std::string write_arguments(const PrepareArguments& arguments);
PrepareArguments parse_arguments(std::string_view text, const std::string& path);

// The first argument that differs: "--seed is 2, expected 1"; empty when all agree.
std::string difference(const PrepareArguments& saved, const PrepareArguments& wanted);

std::int64_t total_tokens(const std::vector<ManifestShard>& shards);
std::int64_t total_documents(const std::vector<ManifestShard>& shards);

}  // namespace twill
