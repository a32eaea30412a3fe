// SPDX-License-Identifier: Apache-2.0
// Any bytes as text, with a small byte-level BPE: the ids give the bytes back, and a cut that the
// tokenizer names changes nothing.
#include <memory>
#include <vector>

#include "data/tokenizers/bpe/train_bpe.h"
#include "target.h"

namespace {

std::unique_ptr<twill::Tokenizer> small_tokenizer() {
  const std::vector<twill::WordCount> words = {{" the", 9},    {" there", 5}, {"then", 4},
                                               {"\n\n", 3},    {" 1999", 3},  {"'s", 3},
                                               {"\xc3\xa9", 3}};
  return twill::train_bpe(words, {.vocab = 280, .min_count = 2});
}

}  // namespace

TWILL_FUZZ(bytes) {
  // One encoder for all inputs: its cache takes 4 MiB, and must never change an id.
  static const std::unique_ptr<twill::Tokenizer> tokenizer = small_tokenizer();
  static const std::unique_ptr<twill::TokenEncoder> encoder = tokenizer->make_encoder();
  std::vector<std::int32_t> ids, parts;
  encoder->encode(bytes, ids);
  if (tokenizer->decode(ids) != bytes) __builtin_trap();
  const std::size_t cut = tokenizer->find_cut(bytes, bytes.size() / 2);
  encoder->encode(bytes.substr(0, cut), parts);
  encoder->encode_rest(bytes.substr(cut), parts);
  if (parts != ids) __builtin_trap();
}
