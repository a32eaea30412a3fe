// SPDX-License-Identifier: Apache-2.0
// twill bench tokenizer TEXT --tokenizer T: how fast a text becomes ids, on one thread and on all.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "data/parallel_encode.h"
#include "data/text_source.h"
#include "data/tokenizer.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "measure/calls.h"
#include "measure/ratio.h"

namespace twill::cli {
namespace {

// Ids of so much text are kept at a time: fresh memory for those of a whole file would cost more
// than making them.
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;

struct Speed {
  double median;  // MB/s
  double best;
  std::int64_t num_ids = 0;
};

// Its number of ids.
std::int64_t encode(ParallelEncoder& encoder, const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  std::int64_t num_ids = 0;
  for (bool is_first = true; !text.empty(); is_first = false) {
    std::size_t length = text.size();
    if (length > kBlockBytes) length = tokenizer.find_cut(text, kBlockBytes);
    if (length == 0) length = text.size();
    ids.clear();
    if (is_first)
      encoder.encode(text.substr(0, length), ids);
    else
      encoder.encode_rest(text.substr(0, length), ids);
    num_ids += std::ssize(ids);
    text.remove_prefix(length);
  }
  return num_ids;
}

Speed measure(const Tokenizer& tokenizer, int threads, std::string_view text,
              std::int64_t repeats) {
  ThreadPool pool(threads);
  Speed speed{};
  std::vector<double> rates;
  for (std::int64_t i = 0; i < repeats; ++i) {
    // A new one each time: it does not know the words of the one before it.
    ParallelEncoder encoder(tokenizer, pool);
    const double seconds = wall_seconds([&] { speed.num_ids = encode(encoder, tokenizer, text); });
    rates.push_back(static_cast<double>(text.size()) / 1e6 / seconds);
  }
  speed.median = median_of(rates);
  speed.best = std::ranges::max(rates);
  return speed;
}

}  // namespace

int bench_tokenizer(const BenchCommand& command) {
  require(!command.tokenizer.empty() && !command.words.empty(),
          "bench tokenizer needs a text and --tokenizer");
  const auto tokenizer = open_tokenizer(command.tokenizer);
  const std::string text = load_text(command.words, "TEXT");
  const int all = command.threads > 0 ? static_cast<int>(command.threads) : default_num_threads();
  const Speed one = measure(*tokenizer, 1, text, command.steps);
  const Speed many = measure(*tokenizer, all, text, command.steps);
  fmt::print("{} bytes, {} ids, {:.2f} bytes per id\n", text.size(), one.num_ids,
             static_cast<double>(text.size()) / static_cast<double>(one.num_ids));
  fmt::print("1 thread   {:>8.1f} MB/s  median of {} (best {:.1f})\n", one.median, command.steps,
             one.best);
  fmt::print("{} threads  {:>8.1f} MB/s  {:.2f} times\n", all, many.median,
             many.median / one.median);
  if (!command.json.empty())
    write_file(command.json, to_compact_json(JsonObject{{"bytes", std::int64_t{std::ssize(text)}},
                                                        {"ids", std::int64_t{one.num_ids}},
                                                        {"one_thread_mb_s", one.median},
                                                        {"threads", all},
                                                        {"all_threads_mb_s", many.median}}) +
                                 "\n");
  return kDone;
}

}  // namespace twill::cli
