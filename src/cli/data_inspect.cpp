// SPDX-License-Identifier: Apache-2.0
// twill data inspect: what a shard, a prepared folder or a text holds.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/screen/text_format.h"
#include "data/document_encoder.h"
#include "data/shards/document_stream.h"
#include "data/shards/prepare.h"
#include "data/shards/token_shard.h"
#include "data/text_source.h"
#include "io/json/json_value.h"

namespace twill::cli {
namespace {

void line(std::string_view name, const std::string& value) {
  fmt::print("{:<16}{}\n", name, value);
}

std::vector<std::int32_t> first_tokens(const TokenSequence& tokens, std::int64_t count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(count, tokens.size())));
  tokens.copy(0, std::ssize(ids), ids.data());
  return ids;
}

// Ids that the tokenizer does not have cannot be shown as text.
std::string text_of(const Tokenizer& tokenizer, std::vector<std::int32_t> ids) {
  std::erase_if(ids, [&](std::int32_t id) { return id < 0 || id >= tokenizer.vocab_size(); });
  return to_json_line(JsonValue(tokenizer.decode(ids)));
}

void show_first(const TokenSequence& tokens, const Tokenizer* tokenizer, std::int64_t count) {
  const std::vector<std::int32_t> ids = first_tokens(tokens, count);
  if (ids.empty()) return;
  line("first tokens", fmt::format("{}", fmt::join(ids, " ")));
  if (tokenizer != nullptr) line("as text", text_of(*tokenizer, ids));
}

void show_document_token(const TokenSequence& tokens, const Tokenizer& tokenizer) {
  const auto token = document_token(tokenizer);
  if (!token || tokens.empty()) return;
  std::vector<std::int32_t> piece(std::size_t{1} << 16);
  std::int64_t found = 0;
  for (std::int64_t at = 0; at < tokens.size(); at += std::ssize(piece)) {
    const std::int64_t count = std::min(std::ssize(piece), tokens.size() - at);
    tokens.copy(at, count, piece.data());
    found += std::count(piece.begin(), piece.begin() + count, *token);
  }
  line("document token",
       fmt::format("{}: {} times, {:.4f}% of the tokens", *token, found,
                   100.0 * static_cast<double>(found) / static_cast<double>(tokens.size())));
}

void warn_if_foreign(std::int64_t largest, const Tokenizer& tokenizer) {
  if (largest < tokenizer.vocab_size()) return;
  log_warning(
      fmt::format("the largest id {} is beyond the tokenizer's {} tokens: it is not the one "
                  "these tokens were made with",
                  largest, tokenizer.vocab_size()));
}

void inspect_shard(const std::string& path, const Tokenizer* tokenizer, std::int64_t count) {
  const std::shared_ptr<const TokenShard> shard = TokenShard::open(path);
  const ShardScan scan = scan_shard(*shard);
  const ShardLayout& layout = shard->layout();
  line("file", path);
  line("format", layout.version > 0
                     ? fmt::format("{}, version {}", name_of(shard->format()), layout.version)
                     : std::string(name_of(shard->format())));
  line("tokens", fmt::format("{} of {} bytes", layout.count, layout.width));
  if (layout.vocab_size) line("vocabulary", fmt::format("{}", *layout.vocab_size));
  if (scan.largest >= 0) line("ids", fmt::format("{} to {}", scan.smallest, scan.largest));
  if (shard->document_starts())
    line("documents", fmt::format("{}", shard->document_starts()->size()));
  line("hash", hash_text(scan.hash));
  const TokenSequence tokens = TokenShard::tokens(shard);
  if (tokenizer != nullptr) {
    warn_if_foreign(scan.largest, *tokenizer);
    show_document_token(tokens, *tokenizer);
  }
  show_first(tokens, tokenizer, count);
}

// Every shard is read: a hash that is not the manifest's is damage.
void inspect_part(const std::string& folder, const char* name,
                  const std::vector<ManifestShard>& shards) {
  line(name, fmt::format("{} tokens, {} documents, {} shards", total_tokens(shards),
                         total_documents(shards), shards.size()));
  for (const ManifestShard& entry : shards) {
    const auto shard = TokenShard::open(folder + "/" + entry.file);
    const bool same = hash_text(scan_shard(*shard).hash) == entry.hash;
    line("", fmt::format("{}  {} tokens  {}{}", entry.file, entry.tokens, entry.hash,
                         same ? "" : "  DAMAGED"));
    if (!same) log_warning(shard->path() + " is not the file that the manifest describes");
  }
}

void inspect_folder(const std::string& folder, std::string tokenizer_path, std::int64_t count) {
  const Manifest manifest = read_manifest(folder);
  if (tokenizer_path.empty()) tokenizer_path = prepared_tokenizer(folder);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(tokenizer_path);
  line("folder", folder);
  line("tokenizer", fmt::format("{}, {} tokens, {}", manifest.arguments.tokenizer,
                                manifest.arguments.vocab_size, manifest.arguments.tokenizer_hash));
  line("seed", fmt::format("{}{}", manifest.arguments.seed,
                           manifest.arguments.keep_order ? ", documents in their order" : ""));
  for (const ManifestSource& source : manifest.sources)
    line("source", fmt::format("{}  {}  {} documents  {}", source.path, format_bytes(source.bytes),
                               source.documents, source.hash));
  inspect_part(folder, "train", manifest.train);
  inspect_part(folder, "validation", manifest.validation);
  if (manifest.train.empty()) return;
  const auto first = TokenShard::open(folder + "/" + manifest.train.front().file);
  show_first(TokenShard::tokens(first), tokenizer.get(), count);
}

// A text that nothing divides is one document, which is rarely what was meant.
std::string one_document_text(const DocumentStream& stream, const ManifestSource& facts) {
  if (stream.json_lines() || facts.documents != 1) return {};
  return fmt::format(": no line {} divides it", kDocumentSeparator);
}

// Opens the file once: a pipe gives its bytes only once.
void inspect_text(const std::string& path, const std::string& text_key) {
  DocumentStream stream({path}, {.text_key = text_key}, "FILE");
  while (!stream.next_batch(std::int64_t{1} << 24).documents.empty()) continue;
  const ManifestSource& facts = stream.sources().front();
  line("file", path);
  line("format", stream.json_lines() ? "JSON Lines" : "text");
  line("compression", std::string(stream.compression()));
  line("bytes", fmt::format("{} ({})", facts.bytes, format_bytes(facts.bytes)));
  if (stream.compression() != "none" && stream.total_bytes() > 0)
    line("packed bytes", fmt::format("{}", stream.total_bytes()));
  line("documents", fmt::format("{}{}", facts.documents, one_document_text(stream, facts)));
  line("hash", facts.hash);
}

}  // namespace

int run_data_inspect(const DataInspectCommand& command) {
  require_finished(command.file, "FILE");
  if (is_prepared(command.file)) {
    inspect_folder(command.file, command.tokenizer, command.tokens);
    return kDone;
  }
  const std::vector<std::string> files = text_files(command.file, "FILE");
  std::unique_ptr<Tokenizer> tokenizer;
  if (!command.tokenizer.empty()) tokenizer = open_tokenizer(command.tokenizer);
  for (const std::string& file : files) {
    if (file.ends_with(".idx") && file != command.file) continue;
    if (&file != &files.front()) fmt::print("\n");
    if (file.ends_with(".idx") || recognise_shard(file))
      inspect_shard(file, tokenizer.get(), command.tokens);
    else
      inspect_text(file, command.text_key);
  }
  return kDone;
}

}  // namespace twill::cli
