// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/words/word_counts.h"

namespace twill {

struct TrainBpeOptions {
  std::int64_t vocab = 8192;   // with the 256 bytes and <|endoftext|>, which is the last id
  std::int64_t min_count = 2;  // a rarer pair is not joined
};

// Learns a byte-level BPE with GPT-2's pattern: again and again, the pair that comes most often
// becomes a token. Of pairs that come equally often the one with the lower left id is taken, then
// the one with the lower right id. Ends early when no pair comes often enough.
std::unique_ptr<Tokenizer> train_bpe(const std::vector<WordCount>& words,
                                     const TrainBpeOptions& options);

}  // namespace twill
