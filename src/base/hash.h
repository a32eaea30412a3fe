// SPDX-License-Identifier: Apache-2.0
// Checksums of files and corpora: XXH3, 64 bits. They find damage; they do not resist forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace twill {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void add(const void* data, std::size_t bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t hash_bytes(const void* data, std::size_t bytes);

// Sixteen lower-case hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace twill
