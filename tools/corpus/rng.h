// SPDX-License-Identifier: Apache-2.0
// A splitmix64 generator. The standard distributions are avoided on purpose: their results differ
// between standard libraries, and the corpus must come out byte for byte the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace twill_corpus {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // A number in [0, n). The modulo bias is far too small to matter for word choice.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

  // A number in [low, high], both ends included.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::size_t>(high - low + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace twill_corpus
