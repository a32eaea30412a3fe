// SPDX-License-Identifier: Apache-2.0
// twill data prepare: texts to shards, with a bar.
#include <chrono>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/screen/terminal.h"
#include "cli/screen/text_format.h"
#include "data/document_reader.h"
#include "data/shards/prepare.h"

namespace twill::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A moving line on a terminal; elsewhere a line every ten seconds.
class PrepareView {
 public:
  explicit PrepareView(bool terminal) : terminal_(terminal) {}
  ~PrepareView() {
    if (moving_) print("\n");
  }
  PrepareView(const PrepareView&) = delete;
  PrepareView& operator=(const PrepareView&) = delete;

  void show(const PrepareProgress& progress) {
    const double now = seconds();
    if (now - shown_ < (terminal_ ? 0.1 : 10.0)) return;
    shown_ = now;
    const std::vector<std::string> all = fields(progress, now);
    if (!terminal_) return print(fitting(all, std::string::npos) + "\n");
    const std::size_t width = terminal_width();
    const int cells = width >= 110 ? 24 : 10;
    const auto used = static_cast<std::size_t>(cells) + 1;
    print(fmt::format("\r\033[K{} {}", bar(share(progress), cells),
                      fitting(all, width > used ? width - used : 0)));
    moving_ = true;
  }

  void end() {
    if (moving_) print("\r\033[K");
    moving_ = false;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  static double share(const PrepareProgress& progress) {
    if (progress.total_bytes == 0) return 0.0;
    return static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes);
  }

  static std::vector<std::string> fields(const PrepareProgress& progress, double now) {
    const double done = static_cast<double>(progress.done_bytes) / 1e6;
    const double total = static_cast<double>(progress.total_bytes) / 1e6;
    const std::string tokens = format_count(static_cast<double>(progress.tokens)) + " tokens";
    if (progress.writing) return {"writing shards", tokens};
    const std::string of = total > 0.0 ? fmt::format("{:.1f} of {:.1f} MB", done, total)
                                       : fmt::format("{:.1f} MB", done);
    std::vector<std::string> fields{of, fmt::format("{:.1f} MB/s", done / now), tokens};
    if (total > 0.0 && done > 0.0)
      fields.insert(fields.begin() + 1, "ETA " + format_duration((total - done) * now / done));
    return fields;
  }

  bool terminal_;
  bool moving_ = false;
  double shown_ = 0.0;
  Clock::time_point start_ = Clock::now();
};

void print_summary(const std::string& folder, const PrepareResult& result, double seconds) {
  const Manifest& manifest = result.manifest;
  const auto line = [](const char* name, const std::vector<ManifestShard>& shards) {
    fmt::print("{:<12}{} tokens, {} documents, {} shards\n", name, total_tokens(shards),
               total_documents(shards), shards.size());
  };
  std::int64_t bytes = 0;
  for (const ManifestSource& source : manifest.sources) bytes += source.bytes;
  if (result.was_prepared)
    fmt::print("{} is already prepared\n", folder);
  else
    fmt::print("prepared    {} of text in {}\n", format_bytes(bytes), format_duration(seconds));
  line("train", manifest.train);
  line("validation", manifest.validation);
  if (total_documents(manifest.train) == 1 && manifest.validation.empty())
    fmt::print(
        "note        the text is one document: no line {} divides it; training will validate on "
        "its last part\n",
        kDocumentSeparator);
  fmt::print("train on it {} train data.train={}\n", command_name(), folder);
}

}  // namespace

int run_data_prepare(const DataPrepareCommand& command) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(command.tokenizer);
  PrepareView view(on_moving_terminal());
  const PrepareResult result =
      prepare_shards({.texts = command.texts,
                      .out = command.out,
                      .validation = command.validation,
                      .seed = command.seed,
                      .keep_order = command.keep_order,
                      .text_key = command.text_key,
                      .shard_tokens = command.shard_tokens,
                      .threads = static_cast<int>(command.threads)},
                     *tokenizer, [&](const PrepareProgress& progress) { view.show(progress); });
  view.end();
  print_summary(command.out, result, view.seconds());
  return kDone;
}

}  // namespace twill::cli
