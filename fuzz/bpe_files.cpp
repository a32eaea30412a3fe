// SPDX-License-Identifier: Apache-2.0
// The small files of BPE tokenizers. The first byte chooses: vocab.json with merges.txt behind a
// zero byte, or tiktoken's ranks.
#include "data/tokenizers/files/bpe_files.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  if (bytes.empty()) return;
  const std::string_view rest = bytes.substr(1);
  if ((bytes[0] & 1) != 0) {
    twill::parse_tiktoken(rest);
    return;
  }
  const std::size_t zero = rest.find('\0');
  const std::string_view merges = zero == rest.npos ? "" : rest.substr(zero + 1);
  const auto vocabulary = twill::parse_vocab_json(rest.substr(0, zero));
  twill::resolve_merges(twill::parse_merges(merges), vocabulary);
}
