// SPDX-License-Identifier: Apache-2.0
#include "data/shards/prepare.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "base/require.h"
#include "base/rng.h"
#include "data/document_encoder.h"
#include "data/shards/document_stream.h"
#include "data/shards/shard_writer.h"
#include "data/shards/spool.h"
#include "data/token_windows.h"
#include "io/atomic_file.h"
#include "io/descriptor.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

PrepareArguments arguments_of(const PrepareOptions& options, const Tokenizer& tokenizer) {
  return {.texts = options.texts,
          .tokenizer = std::string(tokenizer.name()),
          .tokenizer_hash = tokenizer.hash(),
          .vocab_size = tokenizer.vocab_size(),
          .validation = options.validation,
          .seed = options.seed,
          .keep_order = options.keep_order,
          .text_key = options.text_key,
          .shard_tokens = options.shard_tokens};
}

class Preparation {
 public:
  Preparation(const PrepareOptions& options, const Tokenizer& tokenizer,
              const std::function<void(const PrepareProgress&)>& progress)
      : options_(options),
        tokenizer_(tokenizer),
        report_(progress),
        spool_(fmt::format("{}/{}", options.out, kSpoolFolder)),
        width_(token_width(tokenizer.vocab_size())) {
    manifest_.arguments = arguments_of(options, tokenizer);
    manifest_.document_token = document_token(tokenizer).value_or(-1);
  }

  PrepareResult run() {
    create_directories(options_.out);
    lock();
    if (is_prepared(options_.out)) return already_prepared();
    begin_spool();
    encode();
    require(!pieces_.empty(), "{}: no document in it", fmt::join(options_.texts, " "));
    list_documents();
    write_shards();
    write_tokenizer();
    write_file(manifest_file(options_.out), write_manifest(manifest_));
    remove_spool();
    return {.manifest = std::move(manifest_), .was_prepared = false};
  }

 private:
  void lock() {
    lock_ = Descriptor(::open(options_.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_.valid()) fail_to_write("open", options_.out, errno);
    require(::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
            "{} is being prepared by another process; wait for it or stop it first", options_.out);
  }

  void require_same(const PrepareArguments& saved, std::string_view state) const {
    const std::string change = difference(saved, manifest_.arguments);
    require(change.empty(), "{} was {} with other arguments: {}; choose another --out",
            options_.out, state, change);
  }

  PrepareResult already_prepared() {
    Manifest found = read_manifest(options_.out);
    require_same(found.arguments, "prepared");
    remove_spool();  // what a process killed in its last moment leaves behind
    return {.manifest = std::move(found), .was_prepared = true};
  }

  void begin_spool() {
    const std::string path = spool_ + "/arguments.json";
    std::error_code error;
    // Without a finished piece nothing binds the folder: a mistyped text is corrected in place.
    if (fs::exists(spool_ + "/piece_000000", error) && fs::exists(path, error))
      return require_same(parse_arguments(read_file(path), path), "begun");
    require(fs::is_empty(options_.out, error) || fs::exists(spool_, error),
            "{} is not empty and was not made by `data prepare`; choose another --out",
            options_.out);
    create_directories(spool_);
    write_file(path, write_arguments(manifest_.arguments));
  }

  void remove_spool() const {
    std::error_code ignored;
    fs::remove_all(spool_, ignored);
  }

  // One thread reads and unpacks the next batch while the others encode this one.
  void encode() {
    DocumentStream stream(options_.texts, {.text_key = options_.text_key});
    progress_.total_bytes = stream.total_bytes();
    DocumentEncoder encoder(tokenizer_, options_.threads);
    DocumentBatch batch = stream.next_batch(options_.batch_bytes);
    while (!batch.documents.empty()) {
      auto next =
          std::async(std::launch::async, [&] { return stream.next_batch(options_.batch_bytes); });
      add_piece(encoder, batch);
      batch = next.get();
      progress_.done_bytes = batch.documents.empty() ? stream.total_bytes() : batch.file_position;
      report_(progress_);
    }
    manifest_.sources = stream.sources();
  }

  void add_piece(DocumentEncoder& encoder, const DocumentBatch& batch) {
    const std::vector<std::string_view> documents(batch.documents.begin(), batch.documents.end());
    const std::string path = fmt::format("{}/piece_{:06}", spool_, pieces_.size());
    const std::uint64_t hash = hash_documents(documents);
    std::unique_ptr<SpoolPiece> piece = SpoolPiece::find(path, hash, width_);
    if (piece) {
      progress_.reused_tokens += piece->num_tokens();
    } else {
      SpoolPiece::write(path, hash, encoder.encode(documents), width_);
      piece = SpoolPiece::find(path, hash, width_);
      require(piece != nullptr, "cannot read back {}: what was written there is damaged", path);
    }
    progress_.documents += std::ssize(documents);
    progress_.tokens += piece->num_tokens();
    pieces_.push_back(std::move(piece));
  }

  struct Document {
    std::uint32_t piece;
    std::uint32_t length;  // a document of 1 GiB has fewer tokens than 2^32
    std::int64_t begin;
  };

  void list_documents() {
    train_.reserve(static_cast<std::size_t>(progress_.documents));
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
      std::int64_t begin = 0;
      for (const std::int64_t length : pieces_[piece]->lengths()) {
        train_.push_back({piece, static_cast<std::uint32_t>(length), begin});
        begin += length;
      }
    }
    split(std::exchange(train_, {}));
  }

  // Few documents and a small share may draw none, or a large one all: then the document with the
  // smallest draw validates, and one document always trains.
  void split(const std::vector<Document>& documents) {
    const auto draw = [&](std::size_t i) {
      return split_draw(options_.seed, static_cast<std::int64_t>(i));
    };
    train_.reserve(documents.size());
    std::size_t first = 0, last = 0;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (draw(i) < draw(first)) first = i;
      if (draw(i) > draw(last)) last = i;
    }
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const bool wanted =
          draw(i) < options_.validation || (options_.validation > 0.0 && i == first);
      (wanted && i != last ? validation_ : train_).push_back(documents[i]);
    }
  }

  std::vector<ManifestShard> write_part(const std::vector<Document>& documents, const char* stem,
                                        int first, std::uint32_t permutation) {
    ShardWriter writer(options_.out, stem, first, width_, options_.shard_tokens);
    const auto count = std::ssize(documents);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index =
          options_.keep_order
              ? i
              : permuted_index(static_cast<std::uint64_t>(options_.seed), permutation, count, i);
      const Document& document = documents[static_cast<std::size_t>(index)];
      writer.add_document(pieces_[document.piece]->tokens(document.begin, document.length));
      progress_.tokens += document.length;
      progress_.done_bytes += document.length * static_cast<std::int64_t>(width_);
      ++progress_.documents;
      if (progress_.documents % 1024 == 0) report_(progress_);
    }
    report_(progress_);
    return writer.finish();
  }

  void write_shards() {
    progress_ = {.writing = true, .total_bytes = progress_.tokens * width_};
    // llm.c gives shard 0 to validation and counts the others from 1.
    manifest_.train = write_part(train_, "train", 1, 0);
    manifest_.validation = write_part(validation_, "val", 0, 1);
  }

  void write_tokenizer() const {
    const std::vector<TokenizerFile> files = tokenizer_.files();
    if (files.empty()) return;
    const std::string folder = options_.out + "/tokenizer";
    create_directories(folder);
    for (const TokenizerFile& file : files) write_file(folder + "/" + file.name, file.content);
  }

  const PrepareOptions& options_;
  const Tokenizer& tokenizer_;
  const std::function<void(const PrepareProgress&)>& report_;
  std::string spool_;
  int width_;
  Descriptor lock_;
  Manifest manifest_;
  PrepareProgress progress_;
  std::vector<std::unique_ptr<SpoolPiece>> pieces_;
  std::vector<Document> train_;
  std::vector<Document> validation_;
};

}  // namespace

PrepareResult prepare_shards(const PrepareOptions& options, const Tokenizer& tokenizer,
                             const std::function<void(const PrepareProgress&)>& progress) {
  return Preparation(options, tokenizer, progress).run();
}

std::string prepared_tokenizer(const std::string& folder) {
  std::error_code ignored;
  std::string own = folder + "/tokenizer";
  if (fs::is_directory(own, ignored)) return own;
  const std::string made_with = read_manifest(folder).arguments.tokenizer;
  require(made_with == "byte",
          "{}: not found; name the tokenizer ({}) the folder was made with (data.tokenizer or "
          "--tokenizer)",
          own, made_with);
  return "byte";
}

double split_draw(std::int64_t seed, std::int64_t index) {
  const Philox4 bits = random_bits(static_cast<std::uint64_t>(seed), Purpose::kSplit, 0,
                                   static_cast<std::uint64_t>(index));
  return static_cast<double>(bits[0]) * 0x1p-32;
}

}  // namespace twill
