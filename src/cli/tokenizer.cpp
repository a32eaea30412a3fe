// SPDX-License-Identifier: Apache-2.0
// twill tokenizer train | encode | decode.
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "data/parallel_encode.h"
#include "data/text_source.h"
#include "data/tokenizer.h"
#include "data/tokenizers/bpe/train_bpe.h"
#include "io/atomic_file.h"
#include "io/packed/byte_source.h"

namespace twill::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

int threads_of(std::int64_t wanted) {
  return wanted > 0 ? static_cast<int>(wanted) : default_num_threads();
}

// Calls take(bytes) for each piece of a file, unpacked; "-" is standard input.
template <class Take>
void read_pieces(const std::string& path, const Take& take) {
  const std::unique_ptr<ByteSource> source = open_byte_source(path);
  std::vector<char> piece(kReadBytes);
  while (const std::size_t bytes = source->read(piece)) take(std::string_view(piece.data(), bytes));
}

void write_out(std::string_view text) {
  require(std::fwrite(text.data(), 1, text.size(), stdout) == text.size(),
          "cannot write the output: {}", std::strerror(errno));
}

class IdPrinter {
 public:
  void print(std::vector<std::int32_t>& ids) {
    text_.clear();
    for (const std::int32_t id : ids) {
      if (!first_) text_ += ' ';
      first_ = false;
      const fmt::format_int number(id);
      text_.append(number.data(), number.size());
    }
    ids.clear();
    write_out(text_);
  }

 private:
  std::string text_;
  bool first_ = true;
};

std::int32_t id_of(std::string_view word, std::int64_t number) {
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  require(error == std::errc{} && end == word.data() + word.size(),
          "word {} of the ids is no id: '{}'; expected numbers divided by spaces", number,
          word.substr(0, 40));  // a file that is no list of ids may be one word
  return id;
}

std::vector<std::int32_t> ids_of(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::int32_t> ids;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSpaces);
    if (begin == text.npos) return ids;
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(kSpaces), text.size());
    ids.push_back(id_of(text.substr(0, length), std::ssize(ids) + 1));
    text.remove_prefix(length);
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int run_tokenizer_train(const TokenizerTrainCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(threads_of(command.threads));
  std::vector<WordCount> words;
  {
    const std::string text =
        read_texts(command.texts, {.key = "TEXT", .documents = {.text_key = command.text_key}})
            .text;
    create_directories(command.out);  // before the work: it may be impossible
    words = count_words(text, pool);
    fmt::print("{} different words in {} bytes, counted in {:.1f} s\n", words.size(), text.size(),
               seconds_since(start));
  }
  const auto joining = std::chrono::steady_clock::now();
  const auto tokenizer = train_bpe(words, {command.vocab, command.min_count});
  fmt::print("{} tokens, learned in {:.1f} s\n", tokenizer->vocab_size(), seconds_since(joining));
  if (tokenizer->vocab_size() < command.vocab)
    fmt::print("fewer than the {} asked for: no other pair comes {} times\n", command.vocab,
               command.min_count);
  for (const TokenizerFile& file : tokenizer->files())
    write_file(command.out + "/" + file.name, file.content);
  fmt::print("written to {}\n", command.out);
  return kDone;
}

int run_tokenizer_encode(const TokenizerCodeCommand& command) {
  const auto tokenizer = open_tokenizer(command.tokenizer);
  ThreadPool pool(threads_of(command.threads));
  StreamEncoder encoder(*tokenizer, pool);
  std::vector<std::int32_t> ids;
  IdPrinter printer;
  read_pieces(command.file, [&](std::string_view piece) {
    encoder.feed(piece, ids);
    printer.print(ids);
  });
  encoder.finish(ids);
  printer.print(ids);
  write_out("\n");
  return kDone;
}

int run_tokenizer_decode(const TokenizerCodeCommand& command) {
  const auto tokenizer = open_tokenizer(command.tokenizer);
  std::string text;
  read_pieces(command.file, [&](std::string_view piece) { text += piece; });
  write_out(tokenizer->decode(ids_of(text)));
  return kDone;
}

}  // namespace twill::cli
