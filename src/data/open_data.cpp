// SPDX-License-Identifier: Apache-2.0
#include "data/open_data.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/window_data.h"

namespace twill {
namespace {

TrainingData open_windows(const DataConfig& config, const Tokenizer* tokenizer,
                          const DataRequest& request) {
  const Corpus corpus =
      load_corpus(config, {tokenizer, request.model_vocab}, request.batch, request.threads);
  const std::int64_t sequence = request.batch.sequence;
  auto train = std::make_shared<TrainingWindows>(corpus.sources, sequence, request.seed);
  const MixedWindows& stream = train->stream();
  std::vector<DataSourceFacts> sources;
  for (std::size_t s = 0; s < corpus.sources.size(); ++s)
    sources.push_back({.name = corpus.sources[s].name,
                       .tokens = corpus.sources[s].tokens.size(),
                       .share = stream.share(s),
                       .examples = stream.windows_per_epoch(s)});
  return {.train = std::move(train),
          .validation = std::make_shared<EvaluationWindows>(corpus.validation, sequence,
                                                            request.validation_windows),
          .hash = corpus.hash,
          .train_tokens = corpus.train_tokens(),
          .validation_tokens = corpus.validation.size(),
          .sources = std::move(sources),
          .validated_by = corpus.validated_by,
          .notes = corpus.notes};
}

ValidationData open_validation_windows(const DataConfig& config, const Tokenizer* tokenizer,
                                       const DataRequest& request) {
  const std::int64_t sequence = request.batch.sequence;
  auto windows = std::make_shared<EvaluationWindows>(
      load_validation(config, {tokenizer, request.model_vocab}, sequence), sequence,
      request.validation_windows);
  std::optional<std::int64_t> bytes;
  if (tokenizer != nullptr)
    bytes = static_cast<std::int64_t>(tokenizer->decode(windows->targets()).size());
  const std::int64_t tokens = windows->num_tokens();
  return {.examples = std::move(windows), .tokens = tokens, .bytes = bytes};
}

std::vector<DataKind>& data_kinds() {
  static std::vector<DataKind> kinds{
      {"windows", open_windows, open_validation_windows},
  };
  return kinds;
}

const DataKind& find_kind(std::string_view name) {
  const auto found = std::ranges::find(data_kinds(), name, &DataKind::name);
  TWILL_CHECK(found != data_kinds().end(), "a family reads a kind of data that exists");
  return *found;
}

}  // namespace

void add_data_kind(const DataKind& kind) {
  const auto found = std::ranges::find(data_kinds(), kind.name, &DataKind::name);
  if (found != data_kinds().end()) {
    *found = kind;
  } else {
    data_kinds().push_back(kind);
  }
}

TrainingData open_data(const DataConfig& config, const Tokenizer* tokenizer,
                       const DataRequest& request) {
  return find_kind(request.kind).open(config, tokenizer, request);
}

ValidationData open_validation(const DataConfig& config, const Tokenizer* tokenizer,
                               const DataRequest& request) {
  return find_kind(request.kind).open_validation(config, tokenizer, request);
}

}  // namespace twill
