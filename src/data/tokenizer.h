// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace twill {

// Text to ids and back. Ids are below vocab_size().
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string_view name() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
};

// The names that make_tokenizer() knows.
Choices tokenizer_names();

// Throws twill::Error when the name is not known.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace twill
