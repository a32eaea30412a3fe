// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer.h"

#include "base/require.h"
#include "data/byte_tokenizer.h"

namespace twill {
namespace {
constexpr std::string_view kNames[] = {"byte"};
}

Choices tokenizer_names() { return kNames; }

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  if (name == "byte") return std::make_unique<ByteTokenizer>();
  fail("unknown tokenizer '{}', expected {}", name, join_choices(tokenizer_names()));
}

}  // namespace twill
